"""`ToolHygiene`: what is done in front of a tool and behind it, in every framework.

Source: agent specification, sections 7, 11, 14 and 23.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from loopguard_core.tokens import written

from .arguments import gate_arguments
from .tight import encode_tight_c
from .validation import SchemaValidator, StrictSchemaValidator, Validator, invalid_arguments

if TYPE_CHECKING:
    from .chat import ToolDefinition

__all__ = ["ArgumentCheck", "CheckedArguments", "ToolHygiene"]


@dataclass(frozen=True, slots=True)
class CheckedArguments:
    """The arguments of one call, and whether its tool may run.

    Args:
        text: What to run it with: JSON, mended where that is safe.
        refusal: What the model reads as the call's result; empty if it may run.
    """

    text: str
    refusal: str = ""


class ArgumentCheck:
    """Checks calls of the tools it was made for.

    Args:
        validator: Checks fit arguments against a schema; None checks that they are an object.
    """

    def __init__(self, validator: Validator | None) -> None:
        self._validator = validator

    def __call__(self, tool: str, arguments: str | Mapping[str, object]) -> CheckedArguments:
        """Check one call.

        Args:
            tool: Its name; of one that is unknown only the form of the arguments is checked.
            arguments: The text that the model wrote, or what a framework made of it.
        """
        gated = gate_arguments(written(arguments))
        if gated.refusal or self._validator is None:
            return CheckedArguments(gated.text, gated.refusal)
        reason = self._validator.validate_args(tool, gated.text)
        return CheckedArguments(gated.text, invalid_arguments(tool, reason) if reason else "")


class ToolHygiene(BaseModel):
    """How calls and results of tools are treated; frozen, so that any number of runs share it.

    Args:
        validate_schema: `light` checks required names and the kinds of values, `strict` the whole
            JSON schema (extra `agent`), `off` only that arguments are one JSON object.
        encode: Rewrites a result before the model reads it; by default JSON becomes
            `encode_tight_c`'s tables, and all else stays. None keeps results as they are.

    Raises:
        pydantic.ValidationError: An argument cannot be used; the error names it and its value.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", strict=True)

    validate_schema: Literal["off", "light", "strict"] = "light"
    encode: Callable[[str], str] | None = encode_tight_c

    def checks(self, tools: Iterable[ToolDefinition]) -> ArgumentCheck:
        """Make the check for some tools.

        Raises:
            ImportError: `strict` without the extra `agent`.
            InvalidInputError: `strict`, and the schema of a tool is none.
        """
        tools = [_as_run(tool) for tool in tools]
        match self.validate_schema:
            case "strict":
                return ArgumentCheck(StrictSchemaValidator(tools))
            case "light":
                return ArgumentCheck(SchemaValidator(tools))
            case _:
                return ArgumentCheck(None)

    def encoded(self, result: str) -> str:
        """Return what the model reads of a result."""
        return result if self.encode is None else self.encode(result)


def _as_run(tool: ToolDefinition) -> ToolDefinition:
    """Return a tool whose schema requires what the tool itself does.

    The strict schemas that frameworks make for OpenAI require every property, also those with a
    default and those that may be null. The tools run without them, and models leave them out.
    """
    schema = tool.parameters or {}
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, Mapping) or not isinstance(required, list):
        return tool
    needed = [name for name in required if not _has_default(properties.get(name))]
    return replace(tool, parameters={**schema, "required": needed})


def _has_default(schema: object) -> bool:
    if not isinstance(schema, Mapping):
        return False
    options = schema.get("anyOf")
    alternatives = [schema, *options] if isinstance(options, list) else [schema]
    return "default" in schema or any(
        isinstance(one, Mapping) and _names_null(one.get("type")) for one in alternatives
    )


def _names_null(declared: object) -> bool:
    return declared == "null" or (isinstance(declared, list) and "null" in declared)

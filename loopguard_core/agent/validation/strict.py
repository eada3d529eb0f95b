"""The strict validator: all that JSON Schema can say, by the package `jsonschema`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_core.agent.chat import ToolDefinition
from loopguard_core.agent.json_text import read_json
from loopguard_core.errors import InvalidInputError, missing_extra

from .read import NotAnObjectError, read_object

if TYPE_CHECKING:
    from collections.abc import Iterable


__all__ = ["StrictSchemaValidator"]


class StrictSchemaValidator:
    """Checks arguments at every depth: enums, bounds, patterns, additional properties.

    A schema names its draft with `$schema`, and is of draft 2020-12 otherwise. Nothing is fetched:
    a reference has to lead to a place in the same schema. Where a schema asks for what cannot be
    evaluated (such a reference, or a pattern that Python's expressions do not know), the rest of
    that value passes. The keyword `format` is no constraint, as the standard has it.

    Args:
        tools: What the model may call; of equal names the last one counts.

    Raises:
        ImportError: `jsonschema` is missing; the text names the extra.
        InvalidInputError: The parameters of a tool are no valid schema, or it is no tool.
    """

    def __init__(self, tools: Iterable[ToolDefinition]) -> None:
        try:  # here and not above, so that the package can be imported without the extra
            from .compiled import CompiledSchema  # noqa: PLC0415
        except ImportError as error:
            raise missing_extra(error, package="jsonschema", extra="agent") from error
        tools = list(tools)
        for at, tool in enumerate(tools):
            if not isinstance(tool, ToolDefinition):
                raise InvalidInputError(f"tools[{at}]", tool, "a ToolDefinition")
        self._schemas = {
            tool.name: CompiledSchema(tool.parameters, field=f"tools[{at}].parameters")
            for at, tool in enumerate(tools)
        }

    def validate_args(self, tool: str, arguments: str) -> str | None:
        """Return why the arguments cannot be used; None if they can, or the tool is unknown.

        At most five reasons, each bounded, with the place that it is about.
        """
        schema = self._schemas.get(tool)
        if schema is None:
            return None
        try:
            members = read_object(arguments, read_json)
        except NotAnObjectError as error:
            return str(error)
        return "; ".join(schema.reasons(members)) or None

"""The light validator: what is required is there, and values are of their kinds.

Source: agent specification, section 14. Types in a list are alternatives, and what cannot be read
in a schema constrains nothing while the rest still does (quirk Q10).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from loopguard_core.agent.json_text import Json, read_as_written

from .read import NotAnObjectError, json_kind, read_object

if TYPE_CHECKING:
    from loopguard_core.agent.chat import ToolDefinition

__all__ = ["SchemaValidator"]

_NUMBER_TYPES: Final = frozenset({"number", "integer"})


class SchemaValidator:
    """Checks the top level of arguments: required names and the kinds of values.

    An optional value that is null passes, and `integer` takes any number. Nested values, enums
    and additional properties are not looked at; `StrictSchemaValidator` does that.

    Args:
        tools: What the model may call; of equal names the last one counts.
    """

    def __init__(self, tools: Iterable[ToolDefinition]) -> None:
        self._rules = {tool.name: _rules_of(tool.parameters) for tool in tools}

    def validate_args(self, tool: str, arguments: str) -> str | None:
        """Return why the arguments cannot be used; None if they can, or the tool is unknown.

        Missing names are reported alone, then wrong kinds, each sorted.
        """
        rules = self._rules.get(tool)
        if rules is None:
            return None
        try:
            members = read_object(arguments, read_as_written)
        except NotAnObjectError as error:
            return str(error)
        if missing := [name for name in rules.required if members.get(name) is None]:
            return f"missing required field(s): {', '.join(missing)}"
        return "; ".join(rules.wrong_kinds(members)) or None


@dataclass(frozen=True, slots=True)
class _Rules:
    """What a schema asks for.

    Args:
        required: Names that must be there and not null, sorted.
        types: The types that each property may have.
    """

    required: tuple[str, ...]
    types: Mapping[str, tuple[str, ...]]

    def wrong_kinds(self, members: Mapping[str, Json]) -> list[str]:
        """Return a reason for each value of another kind, sorted."""
        return sorted(
            f"{name} should be {' or '.join(types)}, got {json_kind(members[name])}"
            for name, types in self.types.items()
            if members.get(name) is not None and not _fits(json_kind(members[name]), types)
        )


def _rules_of(schema: object) -> _Rules:
    """Read a schema, which may come from anywhere."""
    if not isinstance(schema, Mapping):
        return _Rules((), {})
    properties = schema.get("properties")
    types = (
        {name: _types(schema) for name, schema in properties.items()}
        if isinstance(properties, Mapping)
        else {}
    )
    required = sorted(set(_strings(schema.get("required"))))
    return _Rules(tuple(required), {name: some for name, some in types.items() if some})


def _types(schema: object) -> tuple[str, ...]:
    """Return the alternatives of a property; empty if it is not constrained in a way we read."""
    declared = schema.get("type") if isinstance(schema, Mapping) else None
    if isinstance(declared, str):
        return (declared,)
    types = _strings(declared)
    return types if isinstance(declared, list) and len(types) == len(declared) else ()


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        return ()
    return tuple(item for item in value if isinstance(item, str))


def _fits(kind: str, types: tuple[str, ...]) -> bool:
    return kind in types or (kind == "number" and not _NUMBER_TYPES.isdisjoint(types))

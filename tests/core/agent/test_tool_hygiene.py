"""What every framework does in front of a tool and behind it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from loopguard_core.agent import ToolDefinition, ToolHygiene

TOOL = ToolDefinition(
    name="rows",
    parameters={
        "type": "object",
        "properties": {
            "table": {"type": "string"},
            "limit": {"type": "integer", "default": 10},
            "order": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "deep": {"type": ["array", "null"], "items": {"type": "integer"}},
        },
        "required": ["table", "limit", "order", "deep"],
    },
)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"table": "t", "limit": 1, "order": "id", "deep": []}, ""),
        ({"table": "t"}, ""),
        ("{'table': 't'}", ""),
        ({}, "missing required field(s): table"),
        ({"table": 1}, "table should be string"),
        ('{"table": "t"', "truncation detected"),
        ([1], "must be a JSON object"),
    ],
)
def test_arguments_are_checked(arguments: Any, says: str) -> None:
    """What a tool can do without, such as a property with a default, may be missing."""
    refusal = ToolHygiene().checks([TOOL])("rows", arguments).refusal
    assert says in refusal
    assert bool(refusal) is bool(says)


@pytest.mark.parametrize(
    ("validate_schema", "refused"), [("off", False), ("light", False), ("strict", True)]
)
def test_how_much_of_a_schema_is_looked_at(validate_schema: Any, *, refused: bool) -> None:
    """Only `strict` looks into values."""
    pytest.importorskip("jsonschema")
    checks = ToolHygiene(validate_schema=validate_schema).checks([TOOL])
    assert bool(checks("rows", {"table": "t", "deep": ["x"]}).refusal) is refused


def test_an_unknown_tool_is_checked_for_form_alone() -> None:
    """Its schema is not known."""
    checks = ToolHygiene().checks([TOOL])
    assert not checks("other", {"any": 1}).refusal
    assert checks("other", "[").refusal


@pytest.mark.parametrize(
    ("encode", "result"), [("default", "[2]a\n1\n2"), (None, '[{"a":1},{"a":2}]')]
)
def test_results_are_encoded(encode: Any, result: str) -> None:
    """By default JSON becomes a table; None leaves it."""
    hygiene = ToolHygiene() if encode == "default" else ToolHygiene(encode=encode)
    assert hygiene.encoded('[{"a":1},{"a":2}]') == result
    assert hygiene.encoded("plain text") == "plain text"


@pytest.mark.parametrize("options", [{"validate_schema": "hard"}, {"encode": 3}, {"other": 1}])
def test_bad_options_are_named(options: dict[str, Any]) -> None:
    """The error names the option."""
    with pytest.raises(ValidationError, match=next(iter(options))):
        ToolHygiene(**options)

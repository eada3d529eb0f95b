"""The strict validator."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from loopguard_core.agent.chat import ToolDefinition
from loopguard_core.agent.validation import StrictSchemaValidator
from loopguard_core.errors import InvalidInputError

pytest.importorskip("jsonschema")


def reason(parameters: Any, arguments: str) -> str | None:
    """Return what the validator says of arguments for a tool with this schema."""
    tool = ToolDefinition(name="t", parameters=parameters)
    return StrictSchemaValidator([tool]).validate_args("t", arguments)


def for_a(schema: Any) -> dict[str, Any]:
    """Return the schema of arguments whose member `a` is as *schema* says."""
    return {"type": "object", "properties": {"a": schema}}


@pytest.mark.parametrize(
    ("parameters", "arguments"),
    [
        (None, "{}"),
        ({}, '{"a":1}'),
        (for_a({"type": "integer"}), '{"a":5.0}'),
        (for_a({"enum": ["x", "y"]}), '{"a":"y"}'),
        (for_a({"anyOf": [{"type": "string"}, {"type": "null"}]}), '{"a":null}'),
        (for_a({"format": "date"}), '{"a":"no date"}'),
        ({"type": "object", "required": []}, "  "),
    ],
)
def test_valid_arguments_pass(parameters: Any, arguments: str) -> None:
    """What a schema allows has no reason against it."""
    assert reason(parameters, arguments) is None


@pytest.mark.parametrize(
    ("parameters", "arguments", "expected"),
    [
        (for_a({"type": "integer"}), '{"a":5.5}', "a: 5.5 is not of type 'integer'"),
        (for_a({"type": "string"}), '{"a":null}', "a: None is not of type 'string'"),
        (for_a({"items": {"minimum": 3}}), '{"a":[4,1]}', "a[1]: 1 is less than the minimum of 3"),
        ({"required": ["b"]}, "", "'b' is a required property"),
        (
            for_a({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            '{"a":5}',
            'a: does not satisfy anyOf: [{"type": "string"}, {"type": "null"}]',
        ),
        (
            {**for_a({"type": "string"}), "additionalProperties": False},
            '{"a":1,"c":2}',
            "Additional properties are not allowed ('c' was unexpected); a: 1 is not of type",
        ),
        ({}, "[]", "arguments are not a JSON object: got array"),
        ({}, "{", "arguments are not a JSON object: "),
    ],
)
def test_invalid_arguments_have_reasons_with_their_places(
    parameters: Any, arguments: str, expected: str
) -> None:
    """The model is told what is wrong, and where."""
    said = reason(parameters, arguments)
    assert said is not None
    assert said.startswith(expected)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, '"' + "x" * 100_000 + '"'),
        ({"items": {"type": "string"}}, f"[{','.join('1' * 10_000)}]"),
        ({"additionalProperties": {"type": "string"}}, '{"' + "k" * 100_000 + '":1}'),
        ({"maxItems": 1}, f"[{','.join('1' * 10_000)}]"),
        ({"enum": [f"choice {n}" for n in range(1_000)]}, "1"),
    ],
)
def test_reasons_are_bounded(schema: Any, value: str) -> None:
    """A huge value or schema gives a few short reasons."""
    said = reason(for_a(schema), f'{{"a":{value}}}')
    assert said is not None
    assert len(said) < 1_500
    assert said.count("; ") < 5


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://example.com/none.json"},
        {"$ref": "#/$defs/none"},
        {"pattern": r"\p{L}+"},
        {"multipleOf": 0.1},
    ],
)
def test_what_cannot_be_evaluated_passes(schema: Any) -> None:
    """Nothing is fetched, and a foreign pattern is no fault of the arguments."""
    value = '"x"' if "pattern" in schema else "1e999"
    assert reason(for_a(schema), f'{{"a":{value}}}') is None


def test_what_was_found_before_is_said() -> None:
    """A rule that cannot be evaluated does not void the reasons found before it."""
    parameters = {"required": ["b"], **for_a({"pattern": r"\p{L}"})}
    assert reason(parameters, '{"a":"x"}') == "'b' is a required property"


def test_depth_is_data() -> None:
    """A schema that refers to itself does not overflow the stack on a deep value."""
    parameters = {"additionalProperties": {"$ref": "#"}}
    deep = '{"a":' * 400 + "{}" + "}" * 400
    assert reason(parameters, deep) == "the arguments are nested too deeply to be checked"
    deeper = '{"a":' * 100_000 + "{}" + "}" * 100_000
    assert reason(parameters, deeper) == "arguments are not a JSON object: nested too deeply"


def test_a_schema_may_name_its_draft() -> None:
    """In draft 4 an exclusive maximum is a Boolean."""
    draft_4 = "http://json-schema.org/draft-04/schema#"
    bounds = {"maximum": 3, "exclusiveMaximum": True}
    assert reason({"$schema": draft_4, **for_a(bounds)}, '{"a":3}') is not None


def test_unknown_tools_pass() -> None:
    """A name that no definition has is none of the validator's business."""
    assert StrictSchemaValidator([]).validate_args("t", "junk") is None


@pytest.mark.parametrize("parameters", [{"type": "str"}, [1], "x", {"required": "a"}])
def test_an_invalid_schema_is_the_programmers_fault(parameters: Any) -> None:
    """The error names the tool by its place."""
    tools = [ToolDefinition(name="s"), ToolDefinition(name="t", parameters=parameters)]
    with pytest.raises(InvalidInputError, match=r"tools\[1\]\.parameters"):
        StrictSchemaValidator(tools)


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package imports without `jsonschema`; making a strict validator says what is missing."""
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    monkeypatch.delitem(sys.modules, "loopguard_core.agent.validation.compiled", raising=False)
    with pytest.raises(ImportError, match=r"loopguard-core\[agent\]"):
        StrictSchemaValidator([])

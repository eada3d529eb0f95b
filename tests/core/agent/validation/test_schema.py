"""The light validator, beyond the reference's cases."""

from __future__ import annotations

from typing import Any

import pytest

from loopguard_core.agent.chat import ToolDefinition
from loopguard_core.agent.validation import SchemaValidator


def reason(parameters: Any, arguments: str) -> str | None:
    """Return what the validator says of arguments for a tool with this schema."""
    tool = ToolDefinition(name="t", parameters=parameters)
    return SchemaValidator([tool]).validate_args("t", arguments)


@pytest.mark.parametrize(
    ("schema", "arguments", "expected"),
    [
        ({"type": ["string", "null"]}, '{"a":1}', "a should be string or null, got number"),
        ({"type": ["string", "integer"]}, '{"a":1.5}', None),
        ({"type": "string"}, '{"a":{}}', "a should be string, got object"),
        ({"type": ["string", 5]}, '{"a":1}', None),
        ({"type": []}, '{"a":1}', None),
        ({"type": 5}, '{"a":1}', None),
        (True, '{"a":1}', None),
        (False, '{"a":1}', None),
        (["string"], '{"a":1}', None),
    ],
)
def test_an_unusual_property_constrains_itself_alone(
    schema: Any, arguments: str, expected: str | None
) -> None:
    """Types in a list are alternatives, what cannot be read passes, and the rest still counts."""
    parameters = {"properties": {"a": schema, "b": {"type": "string"}}, "required": ["b"]}
    assert reason(parameters, arguments) == "missing required field(s): b"
    with_b = f'{arguments[:-1]},"b":"x"}}'
    assert reason(parameters, with_b) == expected
    wrong_b = reason(parameters, f'{arguments[:-1]},"b":[]}}')
    assert wrong_b == "; ".join(filter(None, [expected, "b should be string, got array"]))


@pytest.mark.parametrize("required", ["a", {"a": True}, 5, None])
def test_required_names_come_in_a_list(required: Any) -> None:
    """Anything else requires nothing, and the types are still checked."""
    parameters = {"required": required, "properties": {"b": {"type": "string"}}}
    assert reason(parameters, "{}") is None
    assert reason(parameters, '{"b":1}') == "b should be string, got number"


def test_required_names_that_are_no_strings_are_passed_over() -> None:
    """The other names of the list are required, each named once."""
    assert reason({"required": ["b", 5, "a", "a"]}, "{}") == "missing required field(s): a, b"


@pytest.mark.parametrize("properties", [[1], "x", None, {5: {"type": "string"}}])
def test_properties_that_are_no_mapping_of_names_constrain_nothing(properties: Any) -> None:
    """A schema from anywhere does not raise."""
    assert reason({"properties": properties}, '{"a":1}') is None


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [("[]", "array"), ("1", "number"), ('"x"', "string"), ("true", "boolean"), ("1.5", "number")],
)
def test_other_values_are_named(arguments: str, kind: str) -> None:
    """The model is told what it sent in the place of an object."""
    assert reason(None, arguments) == f"arguments are not a JSON object: got {kind}"


@pytest.mark.parametrize("arguments", ["", "\n", "null", "{}"])
def test_blank_and_null_are_no_arguments(arguments: str) -> None:
    """They pass where nothing is required, and lack what is."""
    assert reason({}, arguments) is None
    assert reason({"required": ["a"]}, arguments) == "missing required field(s): a"


@pytest.mark.parametrize(
    "arguments", ["[" * 100_000, '{"a":' * 100_000, "{" + "x" * 10_000, '{"a":NaN}']
)
def test_a_text_that_is_no_json_is_data(arguments: str) -> None:
    """It gets a short reason, however deep or long it is."""
    said = reason({}, arguments)
    assert said is not None
    assert said.startswith("arguments are not a JSON object: ")
    assert len(said) < 200


def test_a_number_of_any_size_is_a_number() -> None:
    """Python's limit on digits is none of JSON's."""
    schema = {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}
    assert reason(schema, '{"a":' + "9" * 10_000 + "}") is None
    assert reason(schema, '{"b":' + "9" * 10_000 + "}") == "b should be string, got number"


def test_of_equal_tool_names_the_last_one_counts() -> None:
    """A tool that is defined anew replaces the old definition."""
    tools = [
        ToolDefinition(name="t", parameters={"required": ["a"]}),
        ToolDefinition(name="t", parameters={"required": ["b"]}),
    ]
    assert SchemaValidator(tools).validate_args("t", '{"b":1}') is None


def test_wrong_kinds_are_sorted() -> None:
    """The order of reasons does not depend on how a schema was written."""
    text = {"type": "string"}
    said = reason({"properties": {"b": text, "a": text}}, '{"b":1,"a":1}')
    assert said == "a should be string, got number; b should be string, got number"

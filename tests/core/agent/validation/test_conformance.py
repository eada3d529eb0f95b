"""The light validator and the validating dispatcher against the reference's cases."""

from __future__ import annotations

from typing import Any

import pytest

from loopguard_core.agent.chat import ToolCall, ToolDefinition
from loopguard_core.agent.dispatch import run_tool
from loopguard_core.agent.validation import (
    SchemaValidator,
    invalid_arguments,
    validating_dispatcher,
)
from tests.core.agent.cases import cases, ids
from tests.core.agent.quirks import FIXED

VALIDATE = cases("validator", "validate")
DISPATCH = cases("validator", "vdispatch")
DETAIL = "⟦detail⟧"


def validator_of(given: dict[str, Any]) -> SchemaValidator:
    """Build the validator of a case."""
    return SchemaValidator(
        ToolDefinition(name=tool["name"], parameters=tool["parameters"]) for tool in given["tools"]
    )


def test_no_case_is_missing() -> None:
    """Every case of the file is run by one of the tests here."""
    assert len(cases("validator")) == len(VALIDATE + DISPATCH) == 29


@pytest.mark.parametrize("case", VALIDATE, ids=ids(VALIDATE))
def test_validate(case: dict[str, Any]) -> None:
    """Arguments pass, or fail for the reference's reason."""
    given = case["in"]
    reason = validator_of(given).validate_args(given["tool"], given["args"])
    if case["id"] in FIXED:
        assert reason == "missing required field(s): a"
    elif case["out"] is not None and case["out"].endswith(DETAIL):
        assert reason is not None
        assert reason.startswith(case["out"].removesuffix(DETAIL))
    else:
        assert reason == case["out"]


@pytest.mark.parametrize("case", DISPATCH, ids=ids(DISPATCH))
async def test_dispatch(case: dict[str, Any]) -> None:
    """A call with invalid arguments is answered, and its tool does not run."""
    given, ran = case["in"], []

    def inner(call: ToolCall) -> str:
        ran.append(call)
        return "inner-ran"

    validator = None if given.get("nil") else validator_of(given)
    dispatch = validating_dispatcher(inner, validator)
    result = await run_tool(dispatch, ToolCall("c1", given["tool"], given["args"]))
    assert len(ran) == case["out"]["inner_calls"]
    assert result == (
        "inner-ran" if ran else invalid_arguments("submit", "missing required field(s): reply")
    )

"""The validating dispatcher, around plain and coroutine functions."""

from __future__ import annotations

import pytest

from loopguard_core.agent.chat import ToolCall, ToolDefinition
from loopguard_core.agent.dispatch import ToolDispatcher, run_tool
from loopguard_core.agent.validation import SchemaValidator, validating_dispatcher

VALIDATOR = SchemaValidator([ToolDefinition(name="put", parameters={"required": ["path"]})])


def plain(call: ToolCall) -> str:
    """Answer at once."""
    return f"ran {call.name}"


async def waiting(call: ToolCall) -> str:
    """Answer when awaited."""
    return f"ran {call.name}"


@pytest.mark.parametrize("inner", [plain, waiting])
@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (ToolCall("1", "put", '{"path":"a"}'), "ran put"),
        (ToolCall("1", "other", "{}"), "ran other"),
    ],
)
async def test_a_valid_call_runs(inner: ToolDispatcher, call: ToolCall, expected: str) -> None:
    """What the validator has nothing against is handed on as it is."""
    assert await run_tool(validating_dispatcher(inner, VALIDATOR), call) == expected


@pytest.mark.parametrize("inner", [plain, waiting])
async def test_an_invalid_call_is_answered(inner: ToolDispatcher) -> None:
    """The model reads which tool, what is wrong, and what to do."""
    dispatch = validating_dispatcher(inner, VALIDATOR)
    result = await run_tool(dispatch, ToolCall("1", "put", "{}"))
    assert result.startswith("INVALID arguments for put: missing required field(s): path.")
    assert "call put again" in result


def test_without_a_validator_it_is_the_inner_one() -> None:
    """Nothing is wrapped where nothing is checked."""
    assert validating_dispatcher(plain, None) is plain

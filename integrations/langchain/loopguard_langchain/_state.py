"""Where a run's state lives: a private key of the graph's state, as JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NotRequired, cast

from langchain.agents.middleware import AgentState
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from typing_extensions import TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loopguard_core import GuardedRun

__all__ = [
    "GuardRecord",
    "GuardedState",
    "newest_batch",
    "newest_person",
    "record_in",
    "record_of",
]


class GuardRecord(TypedDict):
    """What one checkpoint keeps of a guarded run."""

    run: dict[str, object]
    """The snapshot of the run."""
    turn: str | None
    """The id of the person's message that began the turn."""


class GuardedState(AgentState[Any]):
    """An agent's state with a guarded run in it; users neither pass nor get the key."""

    loopguard: NotRequired[Annotated[GuardRecord, PrivateStateAttr]]


def record_in(state: Mapping[str, object]) -> GuardRecord | None:
    """Return what a state keeps of a guarded run, None before the first."""
    return cast("GuardRecord | None", state.get("loopguard"))


def record_of(run: GuardedRun, turn: str | None) -> GuardRecord:
    """Return what to keep of *run*."""
    return {"run": run.snapshot(), "turn": turn}


def newest_person(messages: Sequence[BaseMessage]) -> int | None:
    """Return the index of the newest message of a person, None without one."""
    for index in range(len(messages) - 1, -1, -1):
        if isinstance(messages[index], HumanMessage):
            return index
    return None


def newest_batch(
    messages: Sequence[BaseMessage],
) -> tuple[list[ToolCall], dict[str, ToolMessage]]:
    """Return the calls of the newest assistant message, and the answers they got, by call id."""
    answers: dict[str, ToolMessage] = {}
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return message.tool_calls, answers
        if isinstance(message, ToolMessage):
            answers.setdefault(message.tool_call_id, message)
    return [], answers

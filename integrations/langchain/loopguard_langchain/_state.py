"""Where a run's state lives: a private key of the graph's state, as JSON values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, NotRequired, cast

from langchain.agents.middleware import AgentState
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    ToolCall,
    ToolMessage,
)
from pydantic import TypeAdapter
from typing_extensions import TypedDict

from loopguard_core import Verdict

__all__ = [
    "Batch",
    "BlockedCall",
    "GuardRecord",
    "GuardedState",
    "going_on",
    "newest_batch",
    "newest_person",
    "record_in",
    "saved_verdict",
    "verdict_in",
]

_VERDICT: Final = TypeAdapter(Verdict)

# On what LangChain's own middleware writes in a person's place, as a summary.
_MADE_BY: Final = "lc_source"


class BlockedCall(TypedDict):
    """A call that a person is asked about."""

    call_id: str
    reason: str
    """What the person reads."""
    guidance: str
    """What the model reads if the person says no without a word."""


class GuardRecord(TypedDict):
    """What one checkpoint keeps of a guarded run."""

    run: dict[str, object]
    """The snapshot of the run."""
    turn: str | None
    """The id of the person's message that began the turn."""
    head: str | None
    """The id of the first message; it is another one once the history was rewritten."""
    blocked: NotRequired[list[BlockedCall]]
    """The calls of the newest message that a person is to be asked about."""
    halted: NotRequired[dict[str, object]]
    """The verdict that ended the run."""


class GuardedState(AgentState[Any]):
    """An agent's state with a guarded run in it; users neither pass nor get the key."""

    loopguard: NotRequired[Annotated[GuardRecord, PrivateStateAttr]]


def record_in(state: Mapping[str, object]) -> GuardRecord | None:
    """Return what a state keeps of a guarded run, None before the first."""
    return cast("GuardRecord | None", state.get("loopguard"))


def going_on(record: GuardRecord) -> GuardRecord:
    """Return *record* as of a run that nothing ended."""
    kept = record.copy()
    kept.pop("halted", None)
    return kept


def saved_verdict(verdict: Verdict) -> dict[str, object]:
    """Return *verdict* as JSON values."""
    saved: dict[str, object] = _VERDICT.dump_python(verdict, mode="json")
    return saved


def verdict_in(record: GuardRecord) -> Verdict | None:
    """Return the verdict that ended the run; None if none did."""
    saved = record.get("halted")
    return None if saved is None else _VERDICT.validate_python(saved)


@dataclass(frozen=True, slots=True)
class Batch:
    """The calls of one assistant message and their answers.

    Args:
        calls: The calls, in their order.
        broken: Those whose arguments could not be parsed.
        answers: What answered them, by call id; the newest where there are two.
        superseded: Answers to calls that got another one later.
    """

    calls: Sequence[ToolCall]
    broken: Sequence[InvalidToolCall]
    answers: Mapping[str, ToolMessage]
    superseded: Sequence[ToolMessage]

    @property
    def open_calls(self) -> list[ToolCall]:
        """The calls that can run and have no answer."""
        return [call for call in self.calls if call["id"] not in self.answers]

    @property
    def dangling_calls(self) -> list[ToolCall | InvalidToolCall]:
        """Everything that a provider wants an answer to: the open calls, then the broken ones."""
        broken = [call for call in self.broken if call["id"] and call["id"] not in self.answers]
        return [*self.open_calls, *broken]


def newest_person(messages: Sequence[BaseMessage]) -> int | None:
    """Return the index of the newest message of a person, None without one."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, HumanMessage) and _MADE_BY not in message.additional_kwargs:
            return index
    return None


def newest_batch(messages: Sequence[BaseMessage], since: str | None = None) -> Batch:
    """Return the calls of the newest assistant message and their answers.

    Args:
        messages: The thread, oldest first.
        since: The id of a message; what is before it is not looked at.
    """
    answers: dict[str, ToolMessage] = {}
    superseded: list[ToolMessage] = []
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return Batch(message.tool_calls, message.invalid_tool_calls, answers, superseded)
        if since is not None and message.id == since:
            break
        if isinstance(message, ToolMessage):
            if message.tool_call_id in answers:
                superseded.append(message)
            else:
                answers[message.tool_call_id] = message
    return Batch((), (), {}, ())

"""Where in a thread a step stands: the newest person's message, the newest calls, their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    ToolCall,
    ToolMessage,
)

from ._convert import COMPACTED
from ._folds import fold_count

__all__ = ["Batch", "head_of", "newest_batch", "newest_person"]

# On what is written in a person's place, as a summary: by LangChain's own middleware, and by ours.
_MADE_BY: Final = frozenset({"lc_source", COMPACTED})


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


def head_of(state: Mapping[str, Any]) -> str | None:
    """Return what a state's thread begins with, None without one: another one once it was rewritten.

    A fold leaves the task and what is pinned in front of its summary, so the first message can
    outlive it; the folds are counted too.
    """
    messages: Sequence[BaseMessage] = state["messages"]
    if not messages:
        return None
    folds = fold_count(state)
    return f"{messages[0].id} {folds}" if folds else messages[0].id


def newest_person(messages: Sequence[BaseMessage]) -> int | None:
    """Return the index of the newest message of a person, None without one."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, HumanMessage) and _MADE_BY.isdisjoint(message.additional_kwargs):
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

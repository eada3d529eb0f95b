"""A fold: a model is asked for a summary, and the state for what earlier folds came to."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, NotRequired, TypeAlias, cast

from langchain.agents.middleware import AgentState
from langchain.agents.middleware.types import OmitFromInput, PrivateStateAttr
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import Runnable
from langgraph.constants import TAG_NOSTREAM
from typing_extensions import TypedDict

from loopguard_core import InvalidInputError
from loopguard_core.agent.shaping import SUMMARY_SYSTEM, summary_in
from loopguard_core.agent.thread_shaping import FoldRecord

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from langchain_core.runnables import RunnableConfig

__all__ = [
    "ContextRecord",
    "ShapedState",
    "Summarizer",
    "TurnSlots",
    "asummary",
    "context_in",
    "fold_count",
    "folds_in",
    "summary_of",
]

Summarizer: TypeAlias = Runnable[Any, Any] | Callable[[str], Any]
"""A model or a chain of one, or what answers a summary prompt with a text or a message.

Under `invoke` a callable must not need to be awaited.
"""

# LangGraph streams every model call of a node; a summary is nobody's answer.
_UNSEEN: Final[RunnableConfig] = {"tags": [TAG_NOSTREAM]}


class TurnSlots(TypedDict):
    """The slots of results that one turn has no more."""

    turn: str | None
    """The id of the person's message that began the turn."""
    slots: dict[str, str]


class ContextRecord(TypedDict):
    """What one checkpoint keeps of a shaped thread."""

    folds: list[dict[str, Any]]
    """The folds, oldest first, as `FoldRecord`s."""
    told: bool
    """True once it was said that the thread cannot be brought into its budget."""
    slots: NotRequired[TurnSlots]
    """What placeholders stand for in results that were folded."""


class ShapedState(AgentState[Any]):
    """An agent's state with what was folded in it, and the reply as a person reads it."""

    loopguard_context: NotRequired[Annotated[ContextRecord, PrivateStateAttr]]
    expanded_reply: NotRequired[Annotated[str, OmitFromInput]]


def folds_in(state: Mapping[str, object]) -> list[FoldRecord]:
    """Return the folds that a state tells of."""
    record = context_in(state)
    return [FoldRecord.model_validate(fold) for fold in record["folds"]] if record else []


def fold_count(state: Mapping[str, object]) -> int:
    """Return how often the thread of a state was folded."""
    record = context_in(state)
    return len(record["folds"]) if record else 0


def context_in(state: Mapping[str, object]) -> ContextRecord | None:
    """Return what a state keeps of a shaped thread, None before the first fold."""
    return cast("ContextRecord | None", state.get("loopguard_context"))


def summary_of(summarizer: Summarizer, prompt: str) -> str:
    """Ask for a summary.

    Raises:
        InvalidInputError: *summarizer* has to be awaited.
        Exception: Whatever it raises, or TypeError for an answer that is no text.
    """
    if isinstance(summarizer, Runnable):
        return summary_in(summarizer.invoke(_asked(prompt), config=_UNSEEN))
    answer = summarizer(prompt)
    if not inspect.isawaitable(answer):
        return summary_in(answer)
    if inspect.iscoroutine(answer):
        answer.close()
    raise InvalidInputError("summarizer", summarizer, "one that answers at once, under `invoke`")


async def asummary(summarizer: Summarizer, prompt: str) -> str:
    """Ask for a summary, and wait for it; raises what *summarizer* raises."""
    if isinstance(summarizer, Runnable):
        return summary_in(await summarizer.ainvoke(_asked(prompt), config=_UNSEEN))
    answer = summarizer(prompt)
    return summary_in(await answer if inspect.isawaitable(answer) else answer)


def _asked(prompt: str) -> list[BaseMessage]:
    return [SystemMessage(SUMMARY_SYSTEM), HumanMessage(prompt)]

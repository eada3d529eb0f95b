"""A fold: a model is asked for a summary, and the state for what earlier folds came to."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, NotRequired, TypeAlias, cast

from langchain.agents.middleware import AgentState
from langchain.agents.middleware.types import OmitFromInput, PrivateStateAttr
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.constants import TAG_NOSTREAM
from typing_extensions import TypedDict

from loopguard_core import InvalidInputError
from loopguard_core.agent.shaping import SUMMARY_SYSTEM
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

Summarizer: TypeAlias = BaseChatModel | Callable[[str], str | Awaitable[str]]
"""A model, or what answers a summary prompt; under `invoke` it must not need to be awaited."""

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
        Exception: Whatever it raises.
    """
    if isinstance(summarizer, BaseChatModel):
        return summarizer.invoke(_asked(prompt), config=_UNSEEN).text
    answer = summarizer(prompt)
    if isinstance(answer, str):
        return answer
    if inspect.iscoroutine(answer):
        answer.close()
    raise InvalidInputError("summarizer", summarizer, "one that answers at once, under `invoke`")


async def asummary(summarizer: Summarizer, prompt: str) -> str:
    """Ask for a summary, and wait for it; raises what *summarizer* raises."""
    if isinstance(summarizer, BaseChatModel):
        return (await summarizer.ainvoke(_asked(prompt), config=_UNSEEN)).text
    answer = summarizer(prompt)
    return answer if isinstance(answer, str) else await answer


def _asked(prompt: str) -> list[BaseMessage]:
    return [SystemMessage(SUMMARY_SYSTEM), HumanMessage(prompt)]

"""A fold of a stored history: what it takes, who summarises it, and what stands in its place."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Self

from llama_index.core.llms import ChatMessage, MessageRole
from llama_index.core.llms.llm import LLM

from loopguard_core.agent.shaping import EmptySummaryError, FoldError, summary_in, summary_messages
from loopguard_core.agent.thread_shaping import FoldRecord, ThreadShape

from ._convert import COMPACTED, NeutralThread
from ._shaper import ContextShaper

__all__ = ["PlannedFold", "summarized", "summarized_now"]

_LOGGER: Final = logging.getLogger("loopguard")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFold:
    """A fold that is worth a call of the summariser.

    Args:
        shaper: Planned it.
        messages: The whole history at that time.
        taken: The indices of the messages that are folded.
        shape: What was to be sent without it.
        beside: What the request costs beside the history, in tokens.
        prompt: What the summariser is asked.
    """

    shaper: ContextShaper
    messages: Sequence[ChatMessage]
    taken: frozenset[int]
    shape: ThreadShape
    beside: int
    prompt: str

    @classmethod
    def of(
        cls,
        shaper: ContextShaper,
        messages: Sequence[ChatMessage],
        beside: int,
        folds: Sequence[FoldRecord],
    ) -> Self | ThreadShape:
        """Return the fold that *messages* need; what is sent of them if they need none."""
        thread = NeutralThread(messages, as_sent=True)
        neutral, decides = list(thread), shaper.thread_shaper
        shape = decides.shape(neutral, beside_tokens=beside, folds=folds)
        if not shape.fold or shaper.summarizer is None:
            return shape
        return cls(
            shaper=shaper,
            messages=thread.natives,
            taken=frozenset(map(thread.native_at, shape.fold)),
            shape=shape,
            beside=beside,
            prompt=decides.summary_prompt(neutral, shape),
        )

    def applied(
        self, summary: str, current: Sequence[ChatMessage]
    ) -> tuple[list[ChatMessage], FoldRecord] | None:
        """Return the history with the fold, and its record.

        Args:
            summary: Of what is taken.
            current: The history now, which may have grown meanwhile. If it is no longer what was
                summarised, there is no fold.
        """
        known = len(self.messages)
        if list(current[:known]) != list(self.messages):
            return None
        summary = self.shaper.thread_shaper.bounded_summary(summary)
        text = self.shaper.thread_shaper.summary_text(summary)
        marked = ChatMessage(
            role=MessageRole.USER, content=text, additional_kwargs={COMPACTED: True}
        )
        first = min(self.taken)
        history = [m for at, m in enumerate(current) if at not in self.taken]
        history.insert(first, marked)
        return history, self._record(summary, history)

    def _record(self, summary: str, history: Sequence[ChatMessage]) -> FoldRecord:
        neutral = list(NeutralThread(history, as_sent=True))
        after = self.shaper.thread_shaper.shape(neutral, beside_tokens=self.beside)
        return FoldRecord(
            summary=summary,
            messages=len(self.shape.fold),
            tokens_before=self.shape.tokens,
            tokens_after=after.tokens,
        )


async def summarized(fold: PlannedFold) -> str:
    """Return the summary; empty if it failed, which is logged: a history is read all the same."""
    breaker = fold.shaper.breaker
    if not breaker.lets_through():
        return ""
    try:
        summary = await _answered(fold)
    except Exception as error:  # noqa: BLE001 - a model raises what it likes
        summary = _failed(error)
    breaker.note(failed=not summary)
    return summary


def summarized_now(fold: PlannedFold) -> str:
    """Do what `summarized` does; empty also where the summariser has to be awaited."""
    breaker = fold.shaper.breaker
    if not breaker.lets_through():
        return ""
    try:
        summary = _answered_now(fold)
    except Exception as error:  # noqa: BLE001 - a model raises what it likes
        summary = _failed(error)
    if summary is None:
        return ""
    breaker.note(failed=not summary)
    return summary


async def _answered(fold: PlannedFold) -> str:
    summarizer = fold.shaper.summarizer
    if isinstance(summarizer, LLM):
        return _checked((await summarizer.achat(_asked(fold.prompt))).message.content)
    answer = _called(summarizer, fold.prompt)
    return _checked(await answer if inspect.isawaitable(answer) else answer)


def _answered_now(fold: PlannedFold) -> str | None:
    """Return the summary; None where it would have to be awaited."""
    summarizer = fold.shaper.summarizer
    if isinstance(summarizer, LLM):
        return _checked(summarizer.chat(_asked(fold.prompt)).message.content)
    answer = _called(summarizer, fold.prompt)
    if not inspect.isawaitable(answer):
        return _checked(answer)
    if inspect.iscoroutine(answer):
        answer.close()  # it has not begun; the next `aget` folds
    return None


def _called(
    summarizer: Callable[[str], str | Awaitable[str]] | None, prompt: str
) -> str | Awaitable[str]:
    return "" if summarizer is None else summarizer(prompt)


def _asked(prompt: str) -> list[ChatMessage]:
    return [ChatMessage(role=m.role, content=str(m.content)) for m in summary_messages(prompt)]


def _checked(answer: object) -> str:
    summary = summary_in(answer)
    if not summary:
        raise EmptySummaryError
    return summary


def _failed(error: Exception) -> str:
    _LOGGER.warning("a history is read without a fold: %s", FoldError("summarize", error))
    return ""

"""A thread and the folds in it: those that were made before, and one more where it has to be."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from agents import TResponseInputItem

from loopguard_core import Message
from loopguard_core.agent.thread_shaping import (
    FoldRecord,
    SummaryBreaker,
    ThreadShape,
    ThreadShaper,
)

from ._folds import Fold, KnownFolds, summary_of
from ._shaping import folded, neutral, sent_items

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._folds import Summarizer

__all__ = ["FoldedThread", "Folding"]

_LOGGER: Final = logging.getLogger("loopguard")


@dataclass(frozen=True, slots=True)
class FoldedThread:
    """A thread with its folds, before anything else in it is cut short.

    Args:
        items: The thread, with summaries in the place of what was folded.
        messages: Its neutral reading.
        shape: What is sent of it.
        records: Of the folds in it that are known, oldest first.
    """

    items: list[TResponseInputItem]
    messages: list[Message]
    shape: ThreadShape
    records: tuple[FoldRecord, ...]

    def sent(self) -> list[TResponseInputItem]:
        """Return what is sent of it."""
        return sent_items(self.items, self.shape)


class Folding:
    """Folds threads, of any number of runs.

    Args:
        shaper: Decides what is folded.
        summarizer: Writes the summaries; None folds nothing.
        on_fold: Called with the record of each fold.
    """

    def __init__(
        self,
        shaper: ThreadShaper,
        summarizer: Summarizer | None,
        on_fold: Callable[[FoldRecord], None] | None,
    ) -> None:
        self._shaper = shaper
        self._summarizer = summarizer
        self._on_fold = on_fold
        self._known = KnownFolds()
        self._breaker = SummaryBreaker()

    async def of(
        self,
        items: list[TResponseInputItem],
        *,
        beside_tokens: int = 0,
        expandable: bool = False,
        records: Sequence[FoldRecord] = (),
    ) -> FoldedThread:
        """Return a thread, folded if it has to be.

        Args:
            items: The whole thread; it is not changed, and comes back as it is if it fits.
            beside_tokens: What the request costs beside it.
            expandable: True if placeholders stand for the results of this turn.
            records: Of folds that are in *items* already.
        """

        def read(
            items: list[TResponseInputItem], records: tuple[FoldRecord, ...], *, may_fold: bool
        ) -> FoldedThread:
            messages = neutral(items)
            shape = self._shaper.shape(
                messages,
                beside_tokens=beside_tokens,
                folds=records,
                expandable=expandable,
                may_fold=may_fold,
            )
            return FoldedThread(items, messages, shape, records)

        items, known = self._known.apply(items)
        thread = read(items, (*records, *known), may_fold=self._summarizer is not None)
        summary = await self._summary(thread)
        if not summary:
            return read(items, thread.records, may_fold=False) if thread.shape.fold else thread
        fold, text = thread.shape.fold, self._shaper.summary_text(summary)
        left = read(folded(items, fold, text), thread.records, may_fold=False)
        record = FoldRecord(
            summary=summary,
            messages=len(fold),
            tokens_before=thread.shape.tokens,
            tokens_after=left.shape.tokens,
        )
        self._known.add(Fold.of(items, fold, text=text, record=record))
        if self._on_fold is not None:
            self._on_fold(record)
        return replace(left, records=(*left.records, record))

    async def _summary(self, thread: FoldedThread) -> str:
        """Return what is to stand for the fold of *thread*; empty if nothing is folded."""
        if not thread.shape.fold or self._summarizer is None or not self._breaker.lets_through():
            return ""
        summary = await self._asked(thread, self._summarizer)
        self._breaker.note(failed=not summary)
        return summary

    async def _asked(self, thread: FoldedThread, summarizer: Summarizer) -> str:
        prompt = self._shaper.summary_prompt(thread.messages, thread.shape)
        try:
            summary = await summary_of(summarizer, prompt)
        except Exception:  # a model raises what it likes, and the call can be made without it
            _LOGGER.exception("a thread was not folded")
            return ""
        if not summary:
            _LOGGER.warning("a thread was not folded: its summary is empty")
        return self._shaper.bounded_summary(summary)

"""A chat-store memory whose history is folded when it is read, in one write, with a record."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from llama_index.core.memory.types import BaseChatStoreMemory
from llama_index.core.storage.chat_store import SimpleChatStore
from pydantic import Field, PrivateAttr
from typing_extensions import override

from loopguard_core import LoopGuard
from loopguard_core.agent.thread_shaping import FoldRecord, folding_is_idle

from ._convert import is_compacted
from ._folding import PlannedFold, summarized, summarized_now
from ._history import HistoryReading
from ._shaper import ContextShaper
from ._state import note_compaction
from ._tool_runs import store_underway

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.llms import ChatMessage

__all__ = ["FoldingMemory"]

_LOGGER: Final = logging.getLogger("loopguard")


class FoldingMemory(BaseChatStoreMemory):
    """What `LoopGuardMemory` does to what is stored; its arguments are explained there."""

    guard: LoopGuard = Field(default_factory=LoopGuard, exclude=True)
    shaper: ContextShaper | None = Field(default=None, exclude=True)
    folds: list[FoldRecord] = Field(default_factory=list)
    _reading: HistoryReading = PrivateAttr()

    @override
    def model_post_init(self, context: Any, /) -> None:
        """Begin to read."""
        super().model_post_init(context)
        self._reading = HistoryReading(self.guard)

    @override
    def set(self, messages: list[ChatMessage]) -> None:
        """Replace the history."""
        super().set(messages)
        self._replaced(messages)

    @override
    async def aset(self, messages: list[ChatMessage]) -> None:
        """Replace the history."""
        await super().aset(messages)
        self._replaced(messages)

    @override
    def reset(self) -> None:
        """Forget the history."""
        super().reset()
        self._replaced(())

    @override
    async def areset(self) -> None:
        """Forget the history."""
        await super().areset()
        self._replaced(())

    def _replaced(self, messages: Sequence[ChatMessage]) -> None:
        """Begin anew, but keep the records of folds whose summary is still there."""
        self._reading.forget()
        if not any(map(is_compacted, messages)):
            self.folds = []

    def _planned(self, messages: Sequence[ChatMessage], beside: int) -> PlannedFold | None:
        """Return the fold that is due, if a summariser can make it and no other reading does."""
        if self.shaper is None or self._reading.is_folding:
            return None
        planned = PlannedFold.of(self.shaper, messages, beside, self.folds)
        if isinstance(planned, PlannedFold):
            return planned
        if planned.over_budget and self._reading.tells_once("over budget"):
            reason = "there is no summarizer" if planned.fold else "nothing of it can be folded"
            _LOGGER.warning(
                "a history costs %d tokens of a budget of %d, and %s; it is only shortened",
                planned.tokens, planned.budget, reason,
            )  # fmt: skip
        return None

    def _folded(self, messages: list[ChatMessage], beside: int) -> list[ChatMessage]:
        """Return the history, folded and stored if that is due."""
        planned = self._planned(messages, beside)
        if planned is None:
            return messages
        with self._reading.folding():
            summary = summarized_now(planned)
            if not summary:
                return messages
            self._fold_now(planned, summary)
        return self.chat_store.get_messages(self.chat_store_key)

    async def _afolded(self, messages: list[ChatMessage], beside: int) -> list[ChatMessage]:
        """Return the history, folded and stored if that is due."""
        planned = self._planned(messages, beside)
        if planned is None:
            return messages
        with self._reading.folding():
            summary = await summarized(planned)
            if not summary:
                return messages
            if isinstance(self.chat_store, SimpleChatStore):  # in memory, so nothing comes between
                is_folded = self._fold_now(planned, summary)
            else:
                is_folded = await self._fold(planned, summary)
        if is_folded and (store := store_underway()) is not None:
            await note_compaction(store, self.guard)
        return await self.chat_store.aget_messages(self.chat_store_key)

    def _fold_now(self, planned: PlannedFold, summary: str) -> bool:
        """Store a fold and return True, unless the history is another one by now."""
        now = self.chat_store.get_messages(self.chat_store_key)
        fold = planned.applied(summary, now)
        if fold is not None:
            self.chat_store.set_messages(self.chat_store_key, fold[0])
            self._record(*fold)
        return fold is not None

    async def _fold(self, planned: PlannedFold, summary: str) -> bool:
        """Do what `_fold_now` does."""
        now = await self.chat_store.aget_messages(self.chat_store_key)
        fold = planned.applied(summary, now)
        if fold is not None:
            await self.chat_store.aset_messages(self.chat_store_key, fold[0])
            self._record(*fold)
        return fold is not None

    def _record(self, history: Sequence[ChatMessage], record: FoldRecord) -> None:
        self._reading.compacted(history)
        self.folds = [*self.folds, record]
        if folding_is_idle(self.folds, record.tokens_after) and self._reading.tells_once("idle"):
            _LOGGER.warning(
                "folds of a history freed next to nothing (%d to %d tokens); folding rests",
                record.tokens_before, record.tokens_after,
            )  # fmt: skip
        if self.shaper is not None and self.shaper.on_fold is not None:
            self.shaper.on_fold(record)

"""What a turn has come to so far: what it said, what it cost, what was folded."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from loopguard_core.agent.budget import tokens_of
from loopguard_core.agent.transclusion import Slots
from loopguard_core.agent.usage import entry_usage

from .awaiting import settled
from .result import TurnResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard_core.agent.chat import ChatMessage
    from loopguard_core.agent.entries import CompactionInfo
    from loopguard_core.agent.usage import TokenUsage

    from .options import SessionOptions
    from .reading import Reply
    from .state import SessionState
    from .writing import Writer

__all__ = ["TurnRecord"]


class TurnRecord:
    """Keeps what a model says, and adds up what a turn comes to.

    Args:
        options: Has the callbacks, and prices texts.
        state: Has the session's totals; they are changed.
        writer: Keeps what is said.

    Attributes:
        result: What the turn has come to.
        slots: What the placeholders of a reply stand for.
    """

    def __init__(self, options: SessionOptions, state: SessionState, writer: Writer) -> None:
        self._options = options
        self._state = state
        self._writer = writer
        self.slots = Slots()
        self.result = TurnResult(usage=state.usage)

    def price(self, messages: Sequence[ChatMessage]) -> None:
        """Take note of what the context costs that is sent next."""
        options = self._options
        active = tokens_of(messages, options.estimate, count_arguments=options.count_arguments)
        self._set_usage(self._state.usage.with_active(active))

    async def count(self, reply: Reply) -> None:
        """Add what a reply cost to the totals, and tell them."""
        self._set_usage(self._state.usage.plus(reply.report))
        if self._options.on_usage is not None:
            await settled(self._options.on_usage(self._state.usage))

    async def keep(self, reply: Reply) -> None:
        """Keep a text as it was written, of a cut one what is worth keeping.

        A person reads it with its placeholders filled. A reply without text changes nothing.
        """
        text = reply.text if reply.cut is None else reply.cut.keep(reply.text)
        if text:
            await self._writer.reply(text, entry_usage(reply.report, latency_ms=reply.latency_ms))
            self.result = replace(self.result, reply=self.slots.expand(text))

    async def folded(self, folds: Sequence[CompactionInfo]) -> None:
        """Take note of folds, and tell them."""
        self.result = replace(self.result, compactions=(*self.result.compactions, *folds))
        if self._options.on_compaction is not None:
            for info in folds:
                await settled(self._options.on_compaction(info))

    def _set_usage(self, usage: TokenUsage) -> None:
        self._state.usage = usage
        self.result = replace(self.result, usage=usage)

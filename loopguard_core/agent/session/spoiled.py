"""Replies that nothing can come of: cut because they went round, or with a call nobody can read.

Source: agent specification, section 8, and quirk Q04.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_core.agent.errors import MalformedCallsError, ModelLoopedError

from .cut import GuardCut
from .notices import MALFORMED_CALL, REPETITION, malformed_call_notice, repetition_notice

if TYPE_CHECKING:
    from loopguard_core.agent.heredoc import HeredocFault

    from .cut import RepetitionCut
    from .options import SessionOptions
    from .reading import Reply
    from .watching import Watch
    from .writing import Writer

__all__ = ["SpoiledReplies"]


class SpoiledReplies:
    """Tells the model why nothing came of its reply, and counts such replies in a row.

    Args:
        options: Has the limit.
        watch: The session's guard, which may give up first.
        writer: Keeps what the model is told.
    """

    def __init__(self, options: SessionOptions, watch: Watch, writer: Writer) -> None:
        self._limit = options.retry_limit
        self._watch = watch
        self._writer = writer
        self._in_row = 0

    async def note(self, reply: Reply) -> bool:
        """Take a reply; return True if it is spoiled, and the model has to try again.

        Raises:
            Halted: The guard gives up.
            ModelLoopedError: It was cut, one time too many.
            MalformedCallsError: Its calls cannot be read, likewise.
        """
        if reply.cut is not None:
            await self._note_cut(reply.cut)
        elif reply.fault is not None:
            await self._note_fault(reply.fault)
        else:
            self._in_row = 0
            self._watch.reply_done()
            return False
        return True

    async def _note_cut(self, cut: RepetitionCut | GuardCut) -> None:
        told = self._watch.reply_cut()
        if not told or not isinstance(cut, GuardCut):
            told = repetition_notice(cut.repeated)
        await self._writer.notice("persist_reply", REPETITION, told)
        if self._gives_up():
            raise ModelLoopedError(self._in_row, cut.repeated, cut.finding)

    async def _note_fault(self, fault: HeredocFault) -> None:
        await self._writer.notice("persist_reply", MALFORMED_CALL, malformed_call_notice(fault))
        if self._gives_up():
            raise MalformedCallsError(self._in_row, fault)

    def _gives_up(self) -> bool:
        self._in_row += 1
        return 0 < self._limit < self._in_row

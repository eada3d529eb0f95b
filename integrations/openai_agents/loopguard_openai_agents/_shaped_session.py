"""`ShapedSession`: any session of the SDK, folded where it is stored."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from agents import OpenAIConversationsSession
from typing_extensions import override

from loopguard_core import InvalidInputError

from ._shaper import ContextShaper
from ._wrapped_session import WrappedSession

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from agents import Session, TResponseInputItem

    from loopguard_core.agent import FoldRecord

    from ._folding import FoldedThread

__all__ = ["ShapedSession"]

_LOGGER: Final = logging.getLogger("loopguard")


class ShapedSession(WrappedSession):
    """A session whose history fits a budget when it is read, and whose folds last.

        session = ShapedSession(SQLiteSession("user-1"), shaper=shaper)
        result = await Runner.run(agent, "...", session=session)

    What is read is what *shaper* sends of it. What is stored stays whole until a fold, also one
    that the shaper made as the filter of a run: then the session is cleared and written anew, with
    a summary in the place of its oldest part. Sessions have no transactions. What was added since
    the history was read is kept, what was there is put back if the writing fails, and a run that is
    cancelled waits for it; but a process that dies between the two calls loses the history, and
    another one that writes between them loses what it wrote. What OpenAI keeps is never rewritten:
    an `OpenAIConversationsSession` is folded where it is read alone.

    Args:
        session: Where the history is stored.
        shaper: Decides; may also be the filter of the runs.

    Attributes:
        folds: The records of the folds that this object stored, oldest first; the session has no
            place for them.

    Raises:
        InvalidInputError: *shaper* is no `ContextShaper`.
    """

    def __init__(self, session: Session, *, shaper: ContextShaper) -> None:
        if not isinstance(shaper, ContextShaper):
            raise InvalidInputError("shaper", shaper, "a ContextShaper")
        super().__init__(session)
        self._shaper = shaper
        self.folds: tuple[FoldRecord, ...] = ()

    @override
    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return what is sent of the history; fold it first if it has to be.

        Args:
            limit: Only the newest so many items are read, and no fold is stored then; nor in a
                session that has a limit of its own.
        """
        items = await self._session.get_items(limit)
        thread = await self._shaper.folding.of(items, records=self.folds)
        if limit is None and self._is_whole() and thread.items is not items:
            await _to_its_end(self._write(thread, before=items))
        return self._shaper.sent(thread)

    def _is_whole(self) -> bool:
        """Return True if a reading without a limit shows all there is, and it may be rewritten."""
        settings = self._session.session_settings
        has_limit = settings is not None and settings.limit is not None
        return not has_limit and not isinstance(self._session, OpenAIConversationsSession)

    async def _write(self, thread: FoldedThread, *, before: list[TResponseInputItem]) -> None:
        """Store *thread* in the place of *before*, with what came since."""
        stored = await self._session.get_items()
        if stored[: len(before)] != before:
            _LOGGER.warning("a fold was not stored: the session was rewritten meanwhile")
            return
        try:
            await self._session.clear_session()
            await self._session.add_items([*thread.items, *stored[len(before) :]])
        except BaseException:  # also a cancelled run must not lose its history
            _LOGGER.warning("a folded session could not be stored; what was there is put back")
            await self._session.clear_session()
            await self._session.add_items(stored)
            raise
        self.folds = thread.records


async def _to_its_end(work: Coroutine[None, None, None]) -> None:
    """Wait for *work* to its end, however often the waiting is cancelled."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    task.result()

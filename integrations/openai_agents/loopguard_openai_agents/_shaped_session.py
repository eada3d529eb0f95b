"""`ShapedSession`: any session of the SDK, folded where it is stored."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from loopguard_core import InvalidInputError

from ._shaper import ContextShaper
from ._wrapped_session import WrappedSession

if TYPE_CHECKING:
    from agents import Session, TResponseInputItem

__all__ = ["ShapedSession"]

_LOGGER: Final = logging.getLogger("loopguard")


class ShapedSession(WrappedSession):
    """A session whose history fits a budget when it is read, and whose folds last.

        session = ShapedSession(SQLiteSession("user-1"), shaper=shaper)
        result = await Runner.run(agent, "...", session=session)

    What is read is what *shaper* sends of it. What is stored stays whole until a fold: then the
    session is cleared and written anew, with a summary in the place of its oldest part. Sessions
    have no transactions: what was there is put back if the writing fails, but a process that dies
    between the two calls loses the history, and so does another run that writes in that moment. A
    conversation that the server keeps has no session.

    Args:
        session: Where the history is stored.
        shaper: Decides; may also be the filter of the runs.

    Raises:
        InvalidInputError: *shaper* is no `ContextShaper`.
    """

    def __init__(self, session: Session, *, shaper: ContextShaper) -> None:
        if not isinstance(shaper, ContextShaper):
            raise InvalidInputError("shaper", shaper, "a ContextShaper")
        super().__init__(session)
        self._shaper = shaper

    @override
    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return what is sent of the history; fold it first if it has to be.

        Args:
            limit: Only the newest so many items are read, and no fold is stored then.
        """
        items = await self._session.get_items(limit)
        if limit is None:
            left, _ = await self._shaper.folded(items)
            if left is not items:
                await self._write(left, before=items)
                items = left
        return await self._shaper.shaped(items)

    async def _write(
        self, items: list[TResponseInputItem], *, before: list[TResponseInputItem]
    ) -> None:
        await self._session.clear_session()
        try:
            await self._session.add_items(items)
        except BaseException:
            _LOGGER.warning("a folded session could not be stored; what was there is put back")
            await self._session.clear_session()
            await self._session.add_items(before)
            raise

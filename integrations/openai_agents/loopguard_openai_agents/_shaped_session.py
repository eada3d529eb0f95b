"""`ShapedSession`: any session of the SDK, folded where it is stored."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from loopguard_core import InvalidInputError

from ._shaper import ContextShaper

if TYPE_CHECKING:
    from agents import Session, SessionSettings, TResponseInputItem

__all__ = ["ShapedSession"]

_LOGGER: Final = logging.getLogger("loopguard")


class ShapedSession:
    """A session whose history fits a budget when it is read, and whose folds last.

        session = ShapedSession(SQLiteSession("user-1"), shaper=shaper)
        result = await Runner.run(agent, "...", session=session)

    What is read is what *shaper* sends of it. What is stored stays whole until a fold: then the
    session is cleared and written anew, with a summary in the place of its oldest part. Sessions
    have no transactions: what was there is put back if the writing fails, but a process that dies
    between the two calls loses the history. A conversation that the server keeps has no session.

    Args:
        session: Where the history is stored.
        shaper: Decides; may also be the filter of the runs.

    Raises:
        InvalidInputError: *shaper* is no `ContextShaper`.
    """

    def __init__(self, session: Session, *, shaper: ContextShaper) -> None:
        if not isinstance(shaper, ContextShaper):
            raise InvalidInputError("shaper", shaper, "a ContextShaper")
        self._session = session
        self._shaper = shaper

    @property
    def session_id(self) -> str:
        """The id of the session that is wrapped."""
        return self._session.session_id

    @session_id.setter
    def session_id(self, value: str) -> None:
        self._session.session_id = value

    @property
    def session_settings(self) -> SessionSettings | None:
        """The settings of the session that is wrapped."""
        return self._session.session_settings

    @session_settings.setter
    def session_settings(self, value: SessionSettings | None) -> None:
        self._session.session_settings = value

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return what is sent of the history; fold it first if it has to be.

        Args:
            limit: Only the newest so many items are read, and nothing is folded then.
        """
        items = await self._session.get_items(limit)
        if limit is None:
            left, _ = await self._shaper.folded(items)
            if left is not items:
                await self._write(left, before=items)
                items = left
        return await self._shaper.shaped(items)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Store *items*."""
        await self._session.add_items(items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove and return the newest item that is stored."""
        return await self._session.pop_item()

    async def clear_session(self) -> None:
        """Remove everything that is stored."""
        await self._session.clear_session()

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

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the session has
        """Return what else the session has, as one that compacts itself does."""
        if name == "_session":  # a copy that is being made has nothing yet
            raise AttributeError(name)
        return getattr(self._session, name)

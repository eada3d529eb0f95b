"""A session that stands in front of another one, and is it in everything but reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from loopguard_core import InvalidInputError

if TYPE_CHECKING:
    from agents import Session, SessionSettings, TResponseInputItem

__all__ = ["WrappedSession"]

_METHODS: Final = ("get_items", "add_items", "pop_item", "clear_session")


class WrappedSession:
    """Passes everything on to the session that it wraps.

    Args:
        session: Where the history is stored.

    Raises:
        InvalidInputError: *session* is none.
    """

    def __init__(self, session: Session) -> None:
        if not all(callable(getattr(session, name, None)) for name in _METHODS):
            raise InvalidInputError("session", session, "a session of the SDK")
        self._session = session

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
        """Return the newest items, at most *limit*."""
        return await self._session.get_items(limit)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Store *items*."""
        await self._session.add_items(items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove and return the newest item that is stored."""
        return await self._session.pop_item()

    async def clear_session(self) -> None:
        """Remove everything that is stored."""
        await self._session.clear_session()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the session has
        """Return what else the session has, as one that compacts itself does."""
        if name == "_session":  # a copy that is being made has nothing yet
            raise AttributeError(name)
        return getattr(self._session, name)

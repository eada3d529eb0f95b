"""What preparers are, and what they ask of a host.

Source: agent specification, section 13.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from loopguard_core.agent.notices import NoticeKey

__all__ = ["DocFinder", "DocHit", "NotificationPreparer", "RevalidateStore", "Revalidator"]


class NotificationPreparer(Protocol):
    """Looks after a session's notices before each model call; any coroutine function will do."""

    def __call__(self, session_id: str, /) -> Awaitable[None]:
        """Add and remove notices; what it raises ends the turn."""
        ...


class RevalidateStore(Protocol):
    """Knows the notices that a session has not shown yet."""

    async def pending_notices(self, session_id: str) -> Sequence[NoticeKey]:
        """Return what they are about, oldest first."""
        ...

    async def clear_notice(self, session_id: str, notice: NoticeKey) -> None:
        """Take the pending notice about that thing away."""
        ...


class Revalidator(Protocol):
    """Asks how a thing stands now, for instance the tool of an MCP server."""

    async def truth(self, notice: NoticeKey) -> str | None:
        """Return the answer as it came, or None if there is no tool to ask."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DocHit:
    """A document that may help with what is spoken of.

    Args:
        doc_id: By which the model can ask for it; one without is never shown.
        title: Of the document.
        score: How well it fits; higher is better.
        line: A line of it.
    """

    doc_id: str
    title: str = ""
    score: float = 0.0
    line: str = ""


class DocFinder(Protocol):
    """Searches documents."""

    async def find(self, texts: Sequence[str]) -> Sequence[DocHit]:
        """Return what fits the texts of a conversation that are new, in any order."""
        ...

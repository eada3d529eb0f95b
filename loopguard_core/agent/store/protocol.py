"""What a session asks of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard_core.agent.entries import Compaction, Entry

__all__ = ["Inbox", "Store"]


class Store(Protocol):
    """Keeps the entries of sessions; a host may bring its own.

    Every method is a coroutine, so a store may be a database. What a method raises ends the turn
    with the stage's name (`TurnError`). Source: agent specification, section 1.
    """

    async def claim_pending(self, session_id: str, at: int) -> int:
        """Make everything that was queued part of the context.

        Args:
            session_id: Whose entries.
            at: The session's clock, in nanoseconds.

        Returns:
            How many entries were claimed.
        """
        ...

    async def append(self, session_id: str, entry: Entry) -> None:
        """Add one entry to the context."""
        ...

    async def context(self, session_id: str) -> Sequence[Entry]:
        """Return the entries that no fold has subsumed, in any order."""
        ...

    async def compact(self, session_id: str, compaction: Compaction) -> None:
        """Write the marker and hide what it stands for, both or neither."""
        ...


@runtime_checkable
class Inbox(Protocol):
    """What a store of ours has besides: a queue that a host fills at any time."""

    async def enqueue(self, session_id: str, entry: Entry) -> None:
        """Queue one entry until the session claims it.

        Args:
            session_id: Whose entry.
            entry: The entry. One without a time is stamped when it is claimed, so that what
                arrives while the model speaks comes after its answer (quirk Q13); a time that is
                given is kept.
        """
        ...

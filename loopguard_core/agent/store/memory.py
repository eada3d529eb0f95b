"""`MemoryStore`: entries of sessions for as long as the process lives."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from loopguard_core.agent.entries import Entry
from loopguard_core.agent.errors import StoreConflictError

from .incoming import check_again, stamped, with_id

if TYPE_CHECKING:
    from loopguard_core.agent.entries import Compaction

__all__ = ["MemoryStore"]


@dataclass(slots=True)
class _Kept:
    """One session, by id and in the order of arrival."""

    queued: dict[str, Entry] = field(default_factory=dict)
    shown: dict[str, Entry] = field(default_factory=dict)
    hidden: dict[str, Entry] = field(default_factory=dict)

    def holds(self, entry: Entry) -> bool:
        """Return True if this very entry is here."""
        for entries in (self.shown, self.queued, self.hidden):
            if (kept := entries.get(entry.id)) is not None:
                check_again(entry, kept)
                return True
        return False

    def after_all(self) -> int:
        """Return a time that is later than that of every entry shown."""
        return max((entry.created_at for entry in self.shown.values()), default=0) + 1


class MemoryStore:
    """A store that forgets when the process ends; for tests, scripts and short-lived sessions.

    The same entry, by its id, may come again and is not doubled. Not for several threads.
    """

    def __init__(self) -> None:
        self._sessions: defaultdict[str, _Kept] = defaultdict(_Kept)

    async def enqueue(self, session_id: str, entry: Entry) -> None:
        """Queue an entry until the session claims it; see `Inbox.enqueue`.

        Raises:
            InvalidInputError: The session has another entry under the same id.
        """
        kept, entry = self._sessions[session_id], with_id(entry)
        if not kept.holds(entry):
            kept.queued[entry.id] = entry

    async def claim_pending(self, session_id: str, at: int) -> int:
        """Make everything that was queued part of the context; return how many entries that is."""
        kept = self._sessions[session_id]
        claimed = stamped(list(kept.queued.values()), at)
        kept.queued.clear()
        kept.shown.update((entry.id, entry) for entry in claimed)
        return len(claimed)

    async def append(self, session_id: str, entry: Entry) -> None:
        """Add one entry to the context; one without a time comes after all that are there.

        Raises:
            InvalidInputError: The session has another entry under the same id.
        """
        kept, entry = self._sessions[session_id], with_id(entry)
        if not kept.holds(entry):
            at = 0 if entry.created_at else kept.after_all()
            [kept.shown[entry.id]] = stamped([entry], at)

    async def context(self, session_id: str) -> list[Entry]:
        """Return the entries that no fold has subsumed, in the order of their arrival."""
        return list(self._sessions[session_id].shown.values())

    async def history(self, session_id: str) -> list[Entry]:
        """Return every entry that was ever in the context, those that folds hide first."""
        kept = self._sessions[session_id]
        return [*kept.hidden.values(), *kept.shown.values()]

    async def compact(self, session_id: str, compaction: Compaction) -> None:
        """Write the marker and hide what it stands for, both or neither.

        Raises:
            StoreConflictError: Something of that is not in the context any more.
        """
        kept, marker = self._sessions[session_id], with_id(compaction.marker)
        if kept.holds(marker):
            return
        ids = [entry.id for entry in compaction.subsumed]
        if not kept.shown.keys() >= set(ids):
            raise StoreConflictError(session_id)
        kept.hidden.update((entry_id, kept.shown.pop(entry_id)) for entry_id in ids)
        kept.shown[marker.id] = marker

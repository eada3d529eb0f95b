"""Rows that were read before are not read again: an entry in the context never changes."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from loopguard_core.agent.entries import Entry

__all__ = ["DecodedEntries"]

_SESSIONS: Final = 8  # a process rarely runs more at a time, and each may hold megabytes


class DecodedEntries:
    """The latest context of a few sessions, by the numbers of their rows.

    A turn reads its context in every round; only what is new is read and parsed, and what is not
    new stays the same object, so that others may remember what they know of it.
    """

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, dict[int, Entry]] = OrderedDict()

    def of(
        self,
        session_id: str,
        order: Sequence[int],
        read: Callable[[int], Iterable[tuple[int, Entry]]],
    ) -> list[Entry]:
        """Return the entries of the rows *order*.

        Args:
            session_id: Whose context.
            order: The numbers of its rows, ascending.
            read: Reads the rows from a number on; called at most once.
        """
        known = self._sessions.pop(session_id, {})
        first = next((seq for seq in order if seq not in known), None)
        if first is not None:
            known.update((seq, entry) for seq, entry in read(first) if seq not in known)
        self._sessions[session_id] = kept = {seq: known[seq] for seq in order}
        if len(self._sessions) > _SESSIONS:
            self._sessions.popitem(last=False)
        return list(kept.values())

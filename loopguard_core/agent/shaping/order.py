"""The order of a history that grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_core.agent.entries import Entry, in_order

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["KeptOrder"]


class KeptOrder:
    """Puts the history of one session in order, and sorts no more of it than has come."""

    def __init__(self) -> None:
        self._given: list[Entry] = []
        self._ordered: list[Entry] = []

    def of(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return the entries as `in_order` does."""
        given = list(entries)
        known = len(self._given)
        last = self._ordered[-1:]
        newest = in_order([*last, *given[known:]])
        if given[:known] == self._given and newest[: len(last)] == last:
            self._ordered += newest[len(last) :]
        else:
            self._ordered = in_order(given)
        self._given = given
        return list(self._ordered)

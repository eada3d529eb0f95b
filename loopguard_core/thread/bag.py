"""Counts of things that come and go."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["Bag"]

_Item = TypeVar("_Item", bound=Hashable)


class Bag(Generic[_Item]):
    """A multiset that knows at any time how many of its items are different, and how many single.

    Attributes:
        total: All items, copies included.
        singles: Items of which there is exactly one.
    """

    __slots__ = ("_counts", "singles", "total")

    def __init__(self) -> None:
        self._counts: dict[_Item, int] = {}
        self.total = 0
        self.singles = 0

    @property
    def distinct(self) -> int:
        """How many different items there are."""
        return len(self._counts)

    def count(self, item: _Item) -> int:
        """Return how many of *item* there are."""
        return self._counts.get(item, 0)

    def add(self, item: _Item) -> int:
        """Put *item* in and return how many of it there are now."""
        counts = self._counts
        count = counts[item] = counts.get(item, 0) + 1
        self.total += 1
        if count == 1:
            self.singles += 1
        elif count == 2:  # noqa: PLR2004 - the second one ends being single
            self.singles -= 1
        return count

    def remove(self, item: _Item) -> None:
        """Take one *item* out; it must be there."""
        counts = self._counts
        count = counts[item] - 1
        self.total -= 1
        if count:
            counts[item] = count
            self.singles += count == 1
        else:
            del counts[item]
            self.singles -= 1

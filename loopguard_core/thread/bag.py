"""Counts of things that come and go."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["Bag"]

_Item = TypeVar("_Item", bound=Hashable)


class Bag(Generic[_Item]):
    """A multiset that knows at any time how many of its items are different.

    Attributes:
        total: All items, copies included.
    """

    __slots__ = ("_counts", "total")

    def __init__(self) -> None:
        self._counts: dict[_Item, int] = {}
        self.total = 0

    @property
    def distinct(self) -> int:
        """How many different items there are."""
        return len(self._counts)

    def count(self, item: _Item) -> int:
        """Return how many of *item* there are."""
        return self._counts.get(item, 0)

    def add(self, item: _Item) -> int:
        """Put *item* in and return how many of it there are now."""
        count = self._counts[item] = self._counts.get(item, 0) + 1
        self.total += 1
        return count

    def remove(self, item: _Item) -> int:
        """Take one *item* out, which must be there; return how many of it there are now."""
        count = self._counts[item] - 1
        self.total -= 1
        if count:
            self._counts[item] = count
        else:
            del self._counts[item]
        return count

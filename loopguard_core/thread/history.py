"""A thread as a trimmer sees it: units from the newest end, and their prices."""

from __future__ import annotations

import itertools
from operator import attrgetter
from typing import TYPE_CHECKING

from loopguard_core.errors import InvalidInputError

from .exchange import lone_exchange, newest_exchanges

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .exchange import Exchange
    from .shorten import Price

__all__ = ["History"]


class History:
    """Reads and prices what it is asked for, each unit once; results without a call are no units.

    Args:
        messages: The thread, oldest first.
        price: Names the tokens of a message.
    """

    def __init__(self, messages: Sequence[Mapping[str, object]], price: Price) -> None:
        self._messages = messages
        self._price = price
        self._tokens: dict[int, int] = {}
        self._walk: Iterator[Exchange] = (u for u in newest_exchanges(messages) if not u.is_orphan)

    def units(self) -> Iterator[Exchange]:
        """Iterate over the units, newest first; a second iteration reads nothing anew."""
        self._walk, walk = itertools.tee(self._walk)
        return walk

    def newest(self) -> Exchange | None:
        """Return the unit that holds the newest message that is in one; None without any."""
        last = (unit for unit in self.units() if unit.stop == len(self._messages))
        return next(last, None) or max(self.units(), key=attrgetter("stop"), default=None)

    def units_at(self, positions: Iterable[int]) -> dict[int, Exchange]:
        """Return the units that hold the messages at *positions*, by start.

        Raises:
            InvalidInputError: There is no message at one of *positions*.
        """
        found: dict[int, Exchange] = {}
        sought: set[int] = set()
        for position in positions:
            if position not in range(len(self._messages)):
                raise InvalidInputError("pinned", position, "positions of messages")
            unit = lone_exchange(self._messages, position)
            if unit is None:
                sought.add(position)
            else:
                found[unit.start] = unit
        walk = self.units()
        while sought and (unit := next(walk, None)):
            if not sought.isdisjoint(unit.positions):
                found[unit.start] = unit
                sought.difference_update(unit.positions)
        return found

    def tokens(self, unit: Exchange) -> int:
        """Return what *unit* costs."""
        start = unit.start
        tokens = self._tokens.get(start)
        if tokens is None:
            tokens = self._tokens[start] = sum(map(self._price, unit.messages))
        return tokens

    def fitting(
        self, room: int, *, beside: Mapping[int, Exchange]
    ) -> tuple[list[Exchange], Exchange | None]:
        """Return the newest units that fit into *room*, and the first that does not, if any.

        Args:
            room: Tokens that are left; also negative.
            beside: Units, by start, that are paid for already; they always fit.
        """
        fits: list[Exchange] = []
        for unit in self.units():
            if unit.start not in beside:
                room -= self.tokens(unit)
                if room < 0:
                    return fits, unit
            fits.append(unit)
        return fits, None

"""Which lags end in enough copies, on a thread that grows."""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from itertools import islice, takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .options import CycleLimits

__all__ = ["SuffixWatch"]


class SuffixWatch:
    """Knows at any time whether the newest keys are copies of one pattern.

    A thread ends in r copies of its last L messages once (r - 1) * L messages in a row equalled
    the one L before; L is a lag. Each lag has a countdown of how many such messages it still
    wants, which goes back to its start when one differs. All countdowns move together: bit L of
    plane k is bit k of the countdown of lag L, so that a step is a few operations on whole
    integers, however many lags match. Source: thread specification, section 4.

    Args:
        limits: Copies wanted, shortest and longest pattern.
        window: The most keys there will be at a time.

    Attributes:
        keys: The keys in the window, oldest first.
    """

    __slots__ = (
        "_every",
        "_lags",
        "_planes",
        "_repetitions",
        "_run",
        "_seen",
        "_start",
        "_time",
        "_wanting",
        "keys",
    )

    def __init__(self, limits: CycleLimits, window: int) -> None:
        self.keys: deque[int] = deque()
        self._repetitions = limits.repetitions
        fitting = window // limits.repetitions
        longest = fitting if limits.longest is None else min(fitting, limits.longest)
        self._every = _bits(longest)
        self._lags = self._every & ~_bits(min(limits.shortest - 1, longest))
        self._start = _countdowns(longest, limits.repetitions - 1)
        self._planes = self._start
        self._wanting = self._every if self._start else 0  # whose countdown is not 0
        self._time = 0  # how many keys were ever pushed
        self._seen: dict[int, tuple[int, int]] = {}  # key: its last time, and how long before that
        self._run = (0, 0)  # a lag, and how many of the newest keys equal the one so far before

    def push(self, key: int) -> None:
        """Add the key that is newer than all others."""
        matching = self._match(key)
        lag, run = self._run
        self._run = (lag, run + 1) if matching >> lag & 1 else (0, 0)
        if matching:
            self._count_down(matching)
        elif self._start:
            self._planes, self._wanting = self._start, self._every

    def drop_oldest(self) -> None:
        """Forget the oldest key; there must be one."""
        time = self._time - len(self.keys)
        key = self.keys.popleft()
        if self._seen[key][0] == time:
            del self._seen[key]

    def find(self) -> tuple[int, int] | None:
        """Return the shortest pattern's length and the number of its copies, or None."""
        hits = self._lags & ~self._wanting & _bits(len(self.keys) // self._repetitions)
        if not hits:
            return None
        lag = (hits & -hits).bit_length() - 1
        if lag != self._run[0]:
            self._run = (lag, self._measure(lag))
        return lag, min(self._run[1], len(self.keys) - lag) // lag + 1

    def _match(self, key: int) -> int:
        """Take *key* in, and return a bit for each lag at which the window holds it too."""
        now, lags = self._time, 0
        if key in self._seen:
            last, before = self._seen[key]
            lags = before << (now - last) & self._every
        self._seen[key] = (now, lags | 1)  # bit 0 is the key itself
        self.keys.append(key)
        self._time += 1
        return lags

    def _count_down(self, matching: int) -> None:
        """Subtract 1 from the countdowns that match and want more; restart those that differ."""
        borrow = matching & self._wanting
        planes, wanting = [], 0
        for plane, start in zip(self._planes, self._start, strict=True):
            lowered = plane ^ borrow
            borrow &= lowered
            chosen = start ^ ((start ^ lowered) & matching)  # lowered where it matches, else start
            planes.append(chosen)
            wanting |= chosen
        self._planes, self._wanting = tuple(planes), wanting

    def _measure(self, lag: int) -> int:
        """Count how many of the newest keys equal the one *lag* before."""
        newest_first = zip(
            reversed(self.keys), islice(reversed(self.keys), lag, None), strict=False
        )
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], newest_first))


def _bits(highest: int) -> int:
    """Return an integer whose bits 0 to *highest* are set."""
    return (2 << highest) - 1


@lru_cache(maxsize=16)
def _countdowns(longest: int, copies: int) -> tuple[int, ...]:
    """Return the planes of the countdowns `lag * copies`, for the lags 0 to *longest*."""
    width = (longest * copies).bit_length()
    lags_high_first = range(longest, -1, -1)
    return tuple(
        int("".join(str(lag * copies >> bit & 1) for lag in lags_high_first), 2)
        for bit in range(width)
    )

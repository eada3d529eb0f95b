"""How far the latest sentences are repeats: the window that cycle and phrase share."""

from __future__ import annotations

import math
from collections import deque
from typing import Final

__all__ = ["RepeatWindow"]

_FEWEST_TIMES: Final = 2
_ROUNDING: Final = 1e-9


class RepeatWindow:
    """The latest counted sentences, each with how often it had been said by then.

    Source: reply specification, section 7. Memory: one pair of numbers a sentence.

    Args:
        size: Sentences looked at; there is no count before the window is full.
        min_share: Share of them that must have been said at least so often.
        min_bytes: Bytes that they must have together.
    """

    __slots__ = ("_bytes", "_latest", "_min_bytes", "_needed", "_repeats", "_size")

    def __init__(self, size: int, min_share: float, min_bytes: int) -> None:
        self._size = size
        self._needed = max(1, math.ceil(min_share * size - _ROUNDING))
        self._min_bytes = min_bytes
        self._latest: deque[tuple[int, int]] = deque()
        self._bytes = 0
        self._repeats = 0

    def add(self, times: int, size: int) -> int:
        """Take the next sentence and return how often the window's sentences were said.

        Args:
            times: How often it has been said, this time included.
            size: Its bytes.

        Returns:
            The largest count that at least the share of the window reaches, or 0 where that is
            below 2, or the window is not full or too short.
        """
        latest = self._latest
        latest.append((times, size))
        self._bytes += size
        self._repeats += times >= _FEWEST_TIMES
        if len(latest) > self._size:
            old_times, old_size = latest.popleft()
            self._bytes -= old_size
            self._repeats -= old_times >= _FEWEST_TIMES
        if len(latest) < self._size or self._bytes < self._min_bytes:
            return 0
        if self._repeats < self._needed:
            return 0
        return sorted((pair[0] for pair in latest), reverse=True)[self._needed - 1]

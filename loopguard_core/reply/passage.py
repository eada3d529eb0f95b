"""How often a passage was said in the same order, the beginning of the next time included."""

from __future__ import annotations

from typing import Final

from .line_kind import LineKind

__all__ = ["Passage"]

# Bytes said in order, times how many times that is, below which nothing counts. Three times a
# refrain of 280 bytes in a row weigh as much as this, or six times one of 70.
_MIN_WEIGHT: Final = 2560
# Verses, logs and tables repeat more than prose does, and a few lines are left to the detectors
# of blocks, which look at their shape.
_MIN_WEIGHT_OF_LINES: Final = 3840
_FEWEST_LINES: Final = 4


class Passage:
    """Follows the latest sentences back to where they were said before, at a fixed distance.

    A solution restated after the reasoning is a second time and ends there; a loop goes on into
    a third. So a time counts as soon as its first `begun_bytes` have come. Data must be the same
    but is no evidence by itself, and a frame of a traceback ends a passage: a recursion says the
    same frames again and again. Memory: three numbers for each of the latest `memory`
    sentences; a longer passage is not followed.

    Args:
        begun_bytes: Bytes of one more time that are enough to count it.
        memory: Sentences remembered.
    """

    __slots__ = ("_begun", "_distance", "_ends", "_keys", "_memory", "_place", "_prose", "_run")

    def __init__(self, begun_bytes: int, memory: int) -> None:
        self._begun = begun_bytes
        self._memory = memory
        # For each sentence, in a ring: its key, and the bytes and bytes of prose up to its end.
        self._keys = [0] * memory
        self._ends = [0] * memory
        self._prose = [0] * memory
        self._place = 0
        self._distance = 0
        self._run = 0

    def add(self, key: int, size: int, kind: LineKind, last_place: int | None) -> int:
        """Take the next sentence and return how often the passage that it continues was said.

        Args:
            key: The sentence's fingerprint.
            size: Its bytes.
            kind: What it looks like.
            last_place: The number of the sentence that was the same last, counted from 0; None
                if there was none.
        """
        place = self._place
        if kind is LineKind.FRAME or last_place is None:
            self._distance = self._run = 0
        elif not self._continues(key):
            self._distance, self._run = place - last_place, 0
        told = 0 if kind is LineKind.DATA else size
        self._run += told
        now, before = place % self._memory, (place - 1) % self._memory
        self._keys[now] = key
        self._ends[now] = self._ends[before] + told
        self._prose[now] = self._prose[before] + (size if kind is LineKind.PROSE else 0)
        self._place = place + 1
        return self._times() if 0 < self._distance < self._memory else 0

    def _continues(self, key: int) -> bool:
        distance = self._distance
        return (
            0 < distance < self._memory
            and self._keys[(self._place - distance) % self._memory] == key
        )

    def _times(self) -> int:
        now = (self._place - 1) % self._memory
        then = (self._place - 1 - self._distance) % self._memory
        period = self._ends[now] - self._ends[then]
        is_prose = 2 * (self._prose[now] - self._prose[then]) >= period
        if not period or (not is_prose and self._distance < _FEWEST_LINES):
            return 0
        span = self._run + period
        weight = _MIN_WEIGHT if is_prose else _MIN_WEIGHT_OF_LINES
        return 1 + (span - self._begun) // period if span * span >= weight * period else 0

"""How often a passage was said in the same order, the beginning of the next time included."""

from __future__ import annotations


__all__ = ["Passage"]


class Passage:
    """Follows the latest sentences back to where they were said before, at a fixed distance.

    A solution restated after the reasoning is a second time and ends there; a loop goes on into
    a third. So a time counts as soon as its first `begun_bytes` have come, and one more
    occurrence needs no full window. Memory: two numbers for each of the latest `memory`
    sentences; a longer passage is not followed.

    Args:
        begun_bytes: Bytes of one more time that are enough to count it.
        min_weight: Bytes said in order, times how many times that is, below which nothing
            counts: a refrain may be sung three times in a row.
        memory: Sentences remembered.
    """

    __slots__ = (
        "_begun",
        "_distance",
        "_ends",
        "_keys",
        "_memory",
        "_min_weight",
        "_place",
        "_run",
        "_total",
    )

    def __init__(self, begun_bytes: int, min_weight: int, memory: int) -> None:
        self._begun = begun_bytes
        self._min_weight = min_weight
        self._memory = memory
        self._keys = [0] * memory
        self._ends = [0] * memory
        self._place = 0
        self._total = 0
        self._distance = 0
        self._run = 0

    def add(self, key: int, size: int, last_place: int | None) -> int:
        """Take the next sentence and return how often the passage that it continues was said.

        Args:
            key: The sentence's fingerprint.
            size: Its bytes.
            last_place: The number of the sentence that was the same last, counted from 0; None
                if there was none.
        """
        place, memory = self._place, self._memory
        self._total += size
        if not self._continues(key):
            self._distance = 0 if last_place is None else place - last_place
            self._run = 0
        self._run += size
        period = self._total - self._ends[(place - self._distance) % memory]
        self._keys[place % memory] = key
        self._ends[place % memory] = self._total
        self._place = place + 1
        if not 0 < self._distance < memory:
            return 0
        span = self._run + period
        if span * span < self._min_weight * period:
            return 0
        return 1 + (span - self._begun) // period

    def _continues(self, key: int) -> bool:
        distance = self._distance
        return (
            0 < distance < self._memory
            and self._keys[(self._place - distance) % self._memory] == key
        )

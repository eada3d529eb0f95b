"""A circuit breaker in front of a summariser that fails."""

from __future__ import annotations

from typing import Final

__all__ = ["SummaryBreaker"]


class SummaryBreaker:
    """Leaves a summariser alone for a while after it failed several times in a row.

    A thread that is too long wants a fold at every model call, and a call to a model that is down
    costs its timeout. Counts and no clocks, so that runs stay the same; one breaker serves all
    threads of a summariser.

    Attributes:
        MAX_FAILURES: Failures in a row that open it.
        SKIPPED: Folds that are then left out before the next try.
    """

    MAX_FAILURES: Final = 3
    SKIPPED: Final = 16

    def __init__(self) -> None:
        self._failures = 0
        self._left = 0

    def lets_through(self) -> bool:
        """Return True if the summariser is to be asked for the fold that is due."""
        if self._left:
            self._left -= 1
            return False
        return True

    def note(self, *, failed: bool) -> None:
        """Take note of how asking went."""
        self._failures = self._failures + 1 if failed else 0
        if self._failures >= self.MAX_FAILURES:
            self._left = self.SKIPPED

"""The clock of one session: no two of its entries have the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from loopguard_core.agent.entries import Entry

__all__ = ["SessionClock"]

# A clock that stands still leaves room for what a claim stamps with earlier times than its own.
_STEP_NS: Final = 1_000


class SessionClock:
    """Reads the time in nanoseconds, strictly increasing (quirk Q19).

    Entries are ordered by their times, and those of one time by their random ids; so a clock that
    is coarse, or was set back, would put an answer before its question.

    Args:
        now: The host's clock.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._last: int | None = None

    def __call__(self) -> int:
        """Return the host's time, or a little more than the last one if that is not later."""
        reading = self._now()
        if self._last is not None and reading <= self._last:
            reading = self._last + _STEP_NS
        self._last = reading
        return reading

    def follow(self, entries: Iterable[Entry]) -> None:
        """Be later than everything that is there already, as from another process."""
        for entry in entries:
            if self._last is None or entry.created_at > self._last:
                self._last = entry.created_at

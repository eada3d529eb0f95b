"""Equal calls over the newest iterations, counted in bounded memory."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MAX_ENTRIES", "CallWindow", "Entry"]

MAX_ENTRIES: Final = 256
"""Different calls kept at most, each iteration counted apart: ten iterations of 51 calls.

The specification sets no bound. Without one, a host that never reports iterations would keep
every call of its run; with this one it compares each call with the 256 different calls before.
"""

Entry: TypeAlias = tuple[int, str, int]
"""An iteration, a signature, and how often that iteration has called it."""


class CallWindow:
    """Counts each signature over the present iteration and the `iterations - 1` before it.

    Source: converge specification, section 5. A call belongs to the iteration during which it
    is made, 0 before the first. What leaves the window is forgotten for good.

    Args:
        iterations: The length of the window, at least 1.
        iteration: The present iteration.
        entries: What an earlier window held, oldest first.
    """

    __slots__ = ("_entries", "_iterations", "_totals", "iteration")

    def __init__(
        self, iterations: int, *, iteration: int = 0, entries: Iterable[Entry] = ()
    ) -> None:
        self.iteration = iteration
        self._iterations = iterations
        # Ordered by the last call: a repeated entry moves to the end, so the oldest is first.
        self._entries: dict[tuple[int, str], int] = {}
        self._totals: Counter[str] = Counter()
        for of_iteration, signature, times in entries:
            self._count(of_iteration, signature, times)
        self._forget()

    def advance(self) -> None:
        """Begin the next iteration."""
        self.iteration += 1
        self._forget()

    def add(self, signature: str) -> int:
        """Count a call of the present iteration; return how many equal ones the window holds."""
        self._count(self.iteration, signature, 1)
        self._forget()
        return self._totals[signature]

    def forget(self, signature: str) -> None:
        """Drop every call with *signature*."""
        if self._totals.pop(signature, 0):
            self._entries = {key: n for key, n in self._entries.items() if key[1] != signature}

    def entries(self) -> list[Entry]:
        """Return what the window holds, the call that was made longest ago first."""
        return [(iteration, signature, n) for (iteration, signature), n in self._entries.items()]

    def _count(self, iteration: int, signature: str, times: int) -> None:
        key = (iteration, signature)
        self._entries[key] = self._entries.pop(key, 0) + times
        self._totals[signature] += times

    def _forget(self) -> None:
        """Drop the oldest entries until all are inside the window and the bound."""
        oldest_kept = self.iteration - self._iterations + 1
        while self._entries:
            iteration, signature = key = next(iter(self._entries))
            if iteration >= oldest_kept and len(self._entries) <= MAX_ENTRIES:
                return
            self._totals[signature] -= self._entries.pop(key)
            if not self._totals[signature]:
                del self._totals[signature]

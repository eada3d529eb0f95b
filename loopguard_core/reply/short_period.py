"""What repeats with a short period: one word, one line, one letter, or nothing but space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .shapes import BLANK_CHARS, needed_chars

__all__ = ["ShortPeriod", "ShortRun"]

_LONGEST_BYTES: Final = 23
_KEPT_CHARS: Final = 96
_SEEN_CHARS: Final = 24


@dataclass(frozen=True, slots=True)
class ShortRun:
    """A block that was repeated long enough.

    Args:
        block: One copy.
        chars: Characters of all copies at the end, the part of a copy included.
    """

    block: str
    chars: int


class ShortPeriod:
    """Follows a run of copies of a block of fewer than 24 bytes, which `ExactRepetition` spares.

    How long a run must be is a matter of its shape (`needed_chars`). A run of white space needs
    no period. Feeding takes time in proportion to the piece, and the verdict depends on the text
    alone if pieces end at fixed points of it. Memory: the last 96 characters and one block.
    This detector is ours; the reference has none.

    Args:
        escaped: True if the text is JSON that is being written; see `needed_chars`.
    """

    __slots__ = ("_blank", "_block", "_escaped", "_needed", "_run", "_tail")

    def __init__(self, *, escaped: bool = False) -> None:
        self._escaped = escaped
        self._tail = ""
        self._block = ""  # what the text is expected to go on with, over and over
        self._run = 0
        self._needed = 0
        self._blank = 0

    def feed(self, piece: str) -> ShortRun | None:
        """Take the next piece, and return the run it ends in if that is a loop."""
        self._tail = (self._tail + piece)[-max(_KEPT_CHARS, len(piece)) :]
        bare = piece.rstrip()
        self._blank = len(piece) - len(bare) + (0 if bare else self._blank)
        if self._blank >= BLANK_CHARS:
            return ShortRun(piece[-1], self._blank)
        if self._block and self._goes_on(piece):
            self._run += len(piece)
        else:
            self._begin()
        if self._block and self._run >= self._needed:
            return ShortRun(self._block, self._run)
        return None

    def _goes_on(self, piece: str) -> bool:
        """Return whether *piece* is more of the same, and turn the block to what follows it."""
        size = len(self._block)
        times, part = divmod(len(piece), size)
        if piece != self._block * times + self._block[:part]:
            return False
        self._block = self._block[part:] + self._block[:part]
        return True

    def _begin(self) -> None:
        """Look for a run at the end of what is kept."""
        tail = self._tail
        self._block = ""
        seen = tail[-_SEEN_CHARS:]
        found = tail.rfind(seen, -2 * _SEEN_CHARS, -1)
        if found < 0 or len(seen) < _SEEN_CHARS:
            return
        period = len(tail) - _SEEN_CHARS - found
        block = tail[-period:]
        if len(block.encode("utf-8", "surrogatepass")) > _LONGEST_BYTES:
            return
        self._block = block
        self._needed = needed_chars(block, escaped=self._escaped)
        self._run = _run_chars(tail, period)


def _run_chars(text: str, period: int) -> int:
    """Return how many of the last characters of *text* repeat with *period*."""
    run = period
    while run < len(text) and text[-run - 1] == text[period - run - 1]:
        run += 1
    return run

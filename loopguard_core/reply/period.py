"""Periods at the end of a byte string: the shortest block that stands there twice, and how often.

Everything here is linear in the bytes looked at, whatever they are. The search in C that nearly
always decides is bounded: its needle has at most `_NEEDLE_BYTES`, and after `_MAX_CANDIDATES`
places that looked right and were not, one pass of the Z function settles the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["doubled_suffix", "periodic_suffix", "primitive_root"]

_NEEDLE_BYTES: Final = 64
_MAX_CANDIDATES: Final = 64


def doubled_suffix(text: bytes | bytearray, shortest: int, longest: int) -> int | None:
    """Return the smallest p for which the last p bytes equal the p bytes before them.

    Args:
        text: The bytes whose end is looked at.
        shortest: The smallest p that counts, at least 1.
        longest: The largest.

    Returns:
        The period, or None if there is none from *shortest* to *longest*.
    """
    size = len(text)
    longest = min(longest, size // 2)
    if longest < shortest or next(_distances(text, shortest, longest), None) is None:
        return None
    candidates = 0
    low = shortest
    while low <= longest:
        # The longer the periods, the more of the end is known to come again: the rules of a
        # table, which agree at very many distances, are told apart by what is around them.
        high = min(2 * low - 1, longest)
        for period in _distances(text, low, high):
            if text[size - 2 * period : size - period] == text[size - period :]:
                return period
            candidates += 1
            if candidates >= _MAX_CANDIDATES:
                return _first_square(bytes(text[size - 2 * longest :]), period + 1)
        low = high + 1
    return None


def _distances(text: bytes | bytearray, low: int, high: int) -> Iterator[int]:
    """Yield the distances from *low* to *high* at which the last *low* bytes may stand, too."""
    size = len(text)
    needle = text[size - min(low, _NEEDLE_BYTES) :]
    width = len(needle)
    first, stop = size - width - high, size - low
    while (found := text.rfind(needle, first, stop)) >= 0:
        yield size - width - found
        stop = found + width - 1


def _first_square(text: bytes, shortest: int) -> int | None:
    """Do the same for periods from *shortest* to half of *text*, in one pass whatever it holds.

    The Z function of the text read backwards says at once for each p how far the end agrees
    with itself p bytes earlier; p is a square's period if it agrees for p bytes.
    """
    backwards = text[::-1]
    size = len(backwards)
    agrees = [0] * size
    left = right = 0
    for period in range(1, size // 2 + 1):
        length = min(right - period, agrees[period - left]) if period < right else 0
        while period + length < size and backwards[length] == backwards[period + length]:
            length += 1
        agrees[period] = length
        if period + length > right:
            left, right = period, period + length
        if length >= period >= shortest:
            return period
    return None


def primitive_root(block: bytes) -> int:
    """Return the smallest length whose repetition makes *block*, which is its own if none does."""
    return (block + block).find(block, 1)


def periodic_suffix(text: bytes | bytearray, period: int) -> int:
    """Return how many of the last bytes of *text* repeat with *period*, one copy included."""
    size = len(text)
    known, beyond = min(period, size), size + 1
    while beyond - known > 1:
        middle = (known + beyond) // 2
        if text[size - middle + period :] == text[size - middle : size - period]:
            known = middle
        else:
            beyond = middle
    return known

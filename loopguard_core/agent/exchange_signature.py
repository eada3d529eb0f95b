"""Whether two rounds of calls and results are the same, byte for byte.

Source: agent specification, section 9.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from .utf8 import to_utf8

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .chat import ToolCall

__all__ = ["ExchangeCounter", "exchange_signature"]

_OFFSET: Final = 0xCBF2_9CE4_8422_2325
_PRIME: Final = 0x0000_0100_0000_01B3
_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF
_DIGEST_BYTES: Final = 16


def exchange_signature(calls: Sequence[ToolCall], results: Sequence[str]) -> int:
    """Return the 64-bit FNV-1a hash of one round, for logs and for other implementations.

    A megabyte takes about a tenth of a second: to compare rounds, use `ExchangeCounter`.

    Args:
        calls: As the model wrote them, in order. Their ids do not count.
        results: What each returned, as it is stored; a missing one is empty.
    """
    state = _OFFSET
    for piece in _pieces(calls, results):
        for byte in piece:
            state = (state ^ byte) * _PRIME & _MASK
    return state


class ExchangeCounter:
    """Counts equal rounds in a row.

    Rounds are equal exactly if the same bytes would be hashed for their signatures; they are
    compared by a digest that is a hundred times faster, and wider. Nothing else is kept.
    """

    def __init__(self) -> None:
        self._last = b""
        self._count = 0

    def observe(self, calls: Sequence[ToolCall], results: Sequence[str]) -> int:
        """Take a round with calls; return how many equal ones stand in a row, itself included."""
        digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        for piece in _pieces(calls, results):
            digest.update(piece)
        newest = digest.digest()
        self._count = self._count + 1 if newest == self._last else 1
        self._last = newest
        return self._count


def _pieces(calls: Sequence[ToolCall], results: Sequence[str]) -> Iterator[bytes]:
    """Yield what a round is told by: of each call name, arguments and result, a zero behind each."""
    missing = [""] * (len(calls) - len(results))
    for call, result in zip(calls, [*results, *missing], strict=False):
        for text in (call.name, call.arguments, result):
            yield to_utf8(text)
            yield b"\0"

"""Lines out of pieces of bytes that end anywhere."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["LineSplitter"]

_END: Final = re.compile(rb"[\r\n]")


class LineSplitter:
    r"""Splits a stream at `\n` and `\r`, and nowhere else.

    `str.splitlines`, and the HTTP packages' lines with it, split at U+2028 and others as well,
    which may stand within a JSON string. A pair of the two ends gives an empty line more, which
    an event stream does not mind.
    """

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: list[bytes] = []

    def feed(self, piece: bytes) -> list[str]:
        """Take the next piece and return the lines that it ends."""
        first, *others = _END.split(piece)
        self._open.append(first)
        if not others:
            return []
        whole = [b"".join(self._open), *others[:-1]]
        self._open = [others[-1]]
        return [line.decode("utf-8", "replace") for line in whole]

    def finish(self) -> str:
        """Return the last line, which nothing ended; empty for none."""
        rest = b"".join(self._open)
        self._open = []
        return rest.decode("utf-8", "replace")

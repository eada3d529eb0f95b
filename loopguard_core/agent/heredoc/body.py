"""Raw bodies: texts that stand in a call as they are.

Source: agent specification, section 15 (rewrite). Every look-up is a search for a fixed text, so a
reply of megabytes costs what its length costs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["RawBody", "read_body"]

_BLANKS: Final = " \t\r"
_BACKTICKS: Final = re.compile("`+")


@dataclass(frozen=True, slots=True)
class RawBody:
    """A body that was read.

    Args:
        text: What it holds.
        end: Where the scan goes on: behind its closing line or backticks, or at the comma there.
    """

    text: str
    end: int


def read_body(text: str, start: int) -> RawBody | None:
    """Read the body that opens at *start*, with backticks or `~~~`; None if it never closes."""
    if backticks := _BACKTICKS.match(text, start):
        return _between_backticks(text, backticks.end(), fence=backticks[0])
    return _between_lines(text, start)


def _between_backticks(text: str, start: int, *, fence: str) -> RawBody | None:
    """Read up to the next run that holds the fence, without a newline beside either."""
    end = text.find(fence, start)
    if end < 0:
        return None
    body = text[start:end].removeprefix("\n").removesuffix("\n")
    return RawBody(body, end + len(fence))


def _between_lines(text: str, start: int) -> RawBody | None:
    """Read the lines up to one that equals the opening one, or equals it and has a comma."""
    first_newline = text.find("\n", start)
    if first_newline < 0:
        return None
    opener = text[start:first_newline].rstrip(_BLANKS)
    closer = f"\n{opener}"
    newline = text.find(closer, first_newline)
    while newline >= 0:
        after = newline + len(closer)
        line_end = _line_end(text, after)
        match text[after:line_end].strip(_BLANKS):
            case "":
                return RawBody(text[first_newline + 1 : newline], min(line_end + 1, len(text)))
            case ",":
                return RawBody(text[first_newline + 1 : newline], text.index(",", after))
            case _:
                newline = text.find(closer, after)
    return None


def _line_end(text: str, start: int) -> int:
    """Return where the line ends that holds *start*."""
    newline = text.find("\n", start)
    return len(text) if newline < 0 else newline

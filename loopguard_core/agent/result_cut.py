"""A tool result that is too long to be sent, cut in its middle.

The start says what a result is, the end often how it went. Only what a model is shown is cut:
stores and slots keep the whole. Source: agent specification, section 10.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .budget import byte_length
from .sections import placeholders
from .utf8 import boundary, from_utf8, to_utf8

__all__ = ["ResultCut", "cut_result", "has_cut", "head_and_tail", "is_cut"]

_MARKER: Final = re.compile(r"\n…\[truncated \d+ of \d+ chars[^\n]*\]…\n")

_LONGEST_CHAR: Final = 4
"""Bytes of the longest character, which a tail may begin with."""

_LISTED_BYTES: Final = 400
"""What the marker may spend on placeholders: a document can have thousands of sections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultCut:
    """What is left of a result.

    Args:
        head: Its start, two thirds of the limit.
        tail: Its end, one third; up to three bytes longer to start with a whole character.
        dropped: Bytes over the limit. What is missing between head and tail can differ from it
            by a few bytes, because no character is cut.
        total: Bytes of the whole result.
        sections: The placeholders of all its sections, sorted, such as `{summary}`.
    """

    head: str
    tail: str
    dropped: int
    total: int
    sections: tuple[str, ...] = ()

    def marker(self, *, expandable: bool = True) -> str:
        """Return what stands between head and tail.

        Args:
            expandable: True tells the model that `{OUTPUT}`, or the placeholder of a section,
                shows the whole. False for results that these no longer stand for.
        """
        hint = f"; write {{OUTPUT}} to show all of it{self._listed()}" if expandable else ""
        return f"\n…[truncated {self.dropped} of {self.total} chars{hint}]…\n"

    def text(self, *, expandable: bool = True) -> str:
        """Return head, marker and tail; see `marker`."""
        return f"{self.head}{self.marker(expandable=expandable)}{self.tail}"

    def _listed(self) -> str:
        if not self.sections:
            return ""
        shown: list[str] = []
        room = _LISTED_BYTES
        for section in self.sections:
            room -= len(section)  # names are ASCII
            if room < 0:
                break
            shown.append(section)
        more = len(self.sections) - len(shown)
        return f", or its sections: {' '.join([*shown, *([f'({more} more)'] if more else [])])}"


def head_and_tail(text: str, limit_bytes: int) -> ResultCut | None:
    """Cut the middle out of *text*, or return None if it fits.

    Args:
        text: A whole result; a text that was cut before is taken for one.
        limit_bytes: What head and tail take together, without the marker between them; a text of
            exactly that many bytes fits. At 0 or below there is no limit.
    """
    if limit_bytes <= 0 or byte_length(text) <= limit_bytes:
        return None
    data = to_utf8(text)
    head = limit_bytes * 2 // 3
    tail = len(data) - (limit_bytes - head)
    return ResultCut(
        head=from_utf8(data[: boundary(data, head)]),
        tail=from_utf8(data[boundary(data, tail) :]),
        dropped=len(data) - limit_bytes,
        total=len(data),
        sections=placeholders(text),
    )


def cut_result(text: str, limit_bytes: int, *, expandable: bool = True) -> str:
    """Return what a model is shown of a result: all of it, or head, marker and tail.

    Args:
        text: What would be sent without a limit: rendered, neutralised, stubbed.
        limit_bytes: As in `head_and_tail`.
        expandable: As in `ResultCut.marker`: whether placeholders still stand for this text.
            `{OUTPUT}` stands for the newest result of the running turn alone (quirk Q31).
    """
    cut = head_and_tail(text, limit_bytes)
    return text if cut is None else cut.text(expandable=expandable)


def has_cut(text: str) -> bool:
    """Return True if *text* bears the marker of a cut, at whatever limit."""
    return _MARKER.search(text) is not None


def is_cut(text: str, limit_bytes: int) -> bool:
    """Return True if *text* is what `cut_result` left of a longer text at this limit."""
    marker = _MARKER.search(text) if limit_bytes > 0 else None
    if marker is None:
        return False
    head, tail = byte_length(text[: marker.start()]), byte_length(text[marker.end() :])
    return head <= limit_bytes * 2 // 3 and head + tail <= limit_bytes + _LONGEST_CHAR

"""Reads JSON strictly and tells a text that ends too early from one that is wrong.

The grammar is that of RFC 8259 alone: no NaN, no control character inside a string, no leading
zero. Numbers may be of any size, keys may come twice, a lone surrogate is a character: whether a
value can be used is for its reader. Nesting costs a list entry, not a stack frame.

Source: agent specification, section 7, step 2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["Scan", "ScanState", "first_value"]

_BLANK: Final = re.compile(r"[ \t\n\r]*")
# Repeats are bounded, because the expression engine remembers each one until the match ends.
_IN_STRING: Final = re.compile(
    r'(?:[^"\\\x00-\x1f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})){0,1000}',
)
_ESCAPE_START: Final = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?")
# A number, or the start of one: it is whole if its last character is a digit.
_NUMBER_START: Final = re.compile(
    r"-?(?:(?:0|[1-9][0-9]*)(?:(?:\.[0-9]+)?[eE][+-]?[0-9]*|\.[0-9]*)?)?",
)
_WORDS: Final = {"t": "true", "f": "false", "n": "null"}
_CLOSERS: Final = {"{": "}", "[": "]"}


class ScanState(StrEnum):
    """How reading a text ended."""

    COMPLETE = "complete"
    CUT_OFF = "cut_off"
    MALFORMED = "malformed"


@dataclass(frozen=True, slots=True)
class Scan:
    """What became of the first JSON value of a text.

    Args:
        state: Complete; or cut off, when one more character was needed; or malformed.
        end: The position behind the value, or that of the character that does not fit; where a
            text is cut off, its length.
    """

    state: ScanState
    end: int


class _Fault(Exception):  # noqa: N818 - ends a scan, and never leaves this module
    def __init__(self, state: ScanState, at: int) -> None:
        self.scan = Scan(state, at)


def first_value(text: str) -> Scan:
    """Read the first JSON value of *text*, and nothing behind it.

    Args:
        text: Any text; JSON white space in front of the value is passed over.

    Returns:
        Where the value ends, or why there is none. The empty text is cut off.
    """
    try:
        return Scan(ScanState.COMPLETE, _value_end(text))
    except _Fault as fault:
        return fault.scan


def _value_end(text: str) -> int:
    closers: list[str] = []
    at = 0
    while True:
        at = _blank_end(text, at)
        closer = _CLOSERS.get(text[at : at + 1])
        if closer is None:
            at = _scalar_end(text, at)
        else:
            closers.append(closer)
            at = _blank_end(text, at + 1)
            if not text.startswith(closer, at):
                at = _key_end(text, at) if closer == "}" else at
                continue
        at = _closed_end(text, at, closers)
        if not closers:
            return at
        at = _blank_end(text, _expect(text, at, ","))
        if closers[-1] == "}":
            at = _key_end(text, at)


def _closed_end(text: str, at: int, closers: list[str]) -> int:
    """Pop what closes behind the value that ended at *at*; return where the next token is."""
    while closers:
        at = _blank_end(text, at)
        if not text.startswith(closers[-1], at):
            break
        closers.pop()
        at += 1
    return at


def _key_end(text: str, at: int) -> int:
    """Read a key and its colon."""
    at = _string_end(text, _expect(text, at, '"'))
    return _expect(text, _blank_end(text, at), ":")


def _scalar_end(text: str, at: int) -> int:
    char = text[at : at + 1]
    if char == '"':
        return _string_end(text, at + 1)
    if char in _WORDS:
        return _word_end(text, at, _WORDS[char])
    return _number_end(text, at)


def _string_end(text: str, at: int) -> int:
    """Read a string, from behind its opening quote."""
    while (end := _match_end(_IN_STRING, text, at)) > at:
        at = end
    if text.startswith("\\", at):  # an escape that is cut off, or none that JSON has
        raise _fault(text, _match_end(_ESCAPE_START, text, at))
    return _expect(text, at, '"')


def _word_end(text: str, at: int, word: str) -> int:
    for char in word:
        at = _expect(text, at, char)
    return at


def _number_end(text: str, at: int) -> int:
    end = _match_end(_NUMBER_START, text, at)
    if end == at or not text[end - 1].isdigit():
        raise _fault(text, end)
    return end


def _expect(text: str, at: int, char: str) -> int:
    if not text.startswith(char, at):
        raise _fault(text, at)
    return at + 1


def _fault(text: str, at: int) -> _Fault:
    return _Fault(ScanState.MALFORMED if at < len(text) else ScanState.CUT_OFF, at)


def _blank_end(text: str, at: int) -> int:
    return _match_end(_BLANK, text, at)


def _match_end(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Return where *pattern*, which also matches nothing, stops matching."""
    found = pattern.match(text, at)
    return found.end() if found else at

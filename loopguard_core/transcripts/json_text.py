"""JSON as files hold it: what is broken is named by line and reason, what stands before is kept."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["JSONTextError", "array_items", "parse"]

_BLANK: Final = re.compile(r"[ \t\n\r]*")
_DECODER: Final = json.JSONDecoder()


class JSONTextError(ValueError):
    """A text is no JSON; `line` counts from 1 within it."""

    def __init__(self, line: int, reason: str) -> None:
        self.line = line
        super().__init__(reason)


def parse(raw: bytes) -> object:
    """Parse a JSON text in UTF-8; NaN and infinities are numbers.

    Raises:
        JSONTextError: It is no UTF-8 or no JSON, is nested too deeply to be read, or holds an
            integer with more digits than Python converts (4,300).
    """
    text = _decode(raw)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _explain(error, line=1) from error


def array_items(raw: bytes) -> Iterator[tuple[int, object]]:
    """Yield each element of a JSON array in UTF-8, with the line in which it starts.

    Raises:
        JSONTextError: As for `parse`; the elements before the fault have been yielded by then.
    """
    text = _decode(raw)
    at = _after_blank(text, text.index("[") + 1)
    line = 1 + text.count("\n", 0, at)
    more = not text.startswith("]", at)
    while more:
        value, stop = _element(text, at, line)
        yield line, value
        stop = _after_blank(text, stop)
        more = text.startswith(",", stop)
        start, at = at, _after_blank(text, stop + 1) if more else stop
        line += text.count("\n", start, at)
    _check_end(text, at)


def _element(text: str, at: int, line: int) -> tuple[object, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError) as error:
        raise _explain(error, line) from error


def _check_end(text: str, at: int) -> None:
    """Refuse anything but the closing bracket at *at*, and anything behind it."""
    if not text.startswith("]", at):
        raise _explain(json.JSONDecodeError("Expecting ',' or ']'", text, at), line=1)
    if (rest := _after_blank(text, at + 1)) < len(text):
        raise _explain(json.JSONDecodeError("Extra text after the array", text, rest), line=1)


def _after_blank(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _decode(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = 1 + raw.count(b"\n", 0, error.start)
        raise JSONTextError(line, f"not UTF-8: {error.reason} 0x{raw[error.start]:02x}") from error


def _explain(error: Exception, line: int) -> JSONTextError:
    match error:
        case json.JSONDecodeError():
            return JSONTextError(error.lineno, f"not JSON: {error.msg} (column {error.colno})")
        case RecursionError():
            return JSONTextError(line, "not readable: nested too deeply")
        case _:
            return JSONTextError(line, "not readable: an integer with too many digits")

"""JSON as the standard has it, read from texts that need not be JSON.

Python's reader also takes NaN and Infinity; here they are no JSON. Nothing but ValueError comes
out of a text: not for nesting that is too deep for the reader, and not for endless numbers.
"""

from __future__ import annotations

import json
from typing import Final, NoReturn, TypeAlias

__all__ = ["Json", "Number", "Scalar", "read_as_written", "read_json"]


class Number(str):
    """A number in the digits that it was written in; equal to a string of the same ones."""

    __slots__ = ()


Scalar: TypeAlias = str | bool | None
Json: TypeAlias = Scalar | list["Json"] | dict[str, "Json"]
"""What `read_as_written` returns; a string is a `Number` or a plain one."""


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


_PLAIN: Final = json.JSONDecoder(parse_constant=_refuse)
_AS_WRITTEN: Final = json.JSONDecoder(
    parse_int=Number,
    parse_float=Number,
    parse_constant=_refuse,
)


def read_json(text: str) -> object:
    """Return the one value that *text* is; of equal keys the last one counts.

    Raises:
        ValueError: It is none, or one that is nested too deeply to be read.
    """
    return _read(_PLAIN, text)


def read_as_written(text: str) -> Json:
    """Return the one value that *text* is, its numbers as `Number`, its keys in order.

    Of equal keys the last value counts, in the place of the first.

    Raises:
        ValueError: As in `read_json`.
    """
    return _read(_AS_WRITTEN, text)


def _read(decoder: json.JSONDecoder, text: str) -> Json:
    try:
        value: Json = decoder.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value

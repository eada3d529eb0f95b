"""From a file to saved runs: JSON Lines, read line by line, or one JSON array, read whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final

from loopguard_core.errors import InvalidInputError

from . import openai_chat
from .json_text import JSONTextError, array_items, parse
from .saved import Saved, SavedReply, SavedRun, Unreadable

__all__ = ["read_path", "read_row", "read_stream"]

_BOM: Final = b"\xef\xbb\xbf"
_KINDS: Final[Mapping[type, str]] = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bool: "true or false",
    type(None): "null",
}


def _open(path: str) -> BinaryIO:
    return Path(path).open("rb")


def read_path(path: str, *, open_file: Callable[[str], BinaryIO] = _open) -> Iterator[Saved]:
    """Read the saved runs of a file.

    Args:
        path: The file. It is also the `source` of every item.
        open_file: Opens it for reading bytes; a caller that shows progress brings its own.

    Yields:
        The items in the order of the file, as `read_stream` does. A file that cannot be opened
        or read, such as a directory, is one `Unreadable`.
    """
    try:
        with open_file(path) as stream:
            yield from read_stream(stream, source=path)
    except OSError as error:
        yield Unreadable(path, None, error.strerror or str(error))


def read_stream(stream: Iterable[bytes], *, source: str) -> Iterator[Saved]:
    r"""Read the saved runs of a stream of lines.

    A stream whose first character is `[` is one JSON array, held in memory whole: the messages of
    one run, or one run for each element if any of them has `messages` (or `text`). Any other is
    JSON Lines, of which one line is held at a time; lines end at `\n` only, blank ones are
    skipped, and one that cannot be read does not keep the next from being read.

    Args:
        stream: The lines, each with its line feed, as UTF-8 with or without a byte order mark.
        source: What the items name as their `source`.
    """
    rest = iter(stream)
    lines = _filled(rest)
    first = next(lines, None)
    if first is None:
        yield Unreadable(source, None, "the file is empty")
    elif first[1].lstrip().startswith(b"["):
        number, line = first
        yield from _read_array(line + b"".join(rest), source, number)
    else:
        for number, line in chain([first], lines):
            yield _read_line(line, source, number)


def read_row(row: object, *, source: str, line: int) -> Saved:
    """Read one run, or one reply, that is already a JSON value.

    Args:
        row: An object with `messages`, a list of OpenAI chat messages, or with `text`, a string;
            and perhaps an `id`. Other keys are ignored.
        source: The file it came from.
        line: Where it starts there, counted from 1. A row without an id is named after it.
    """
    if not isinstance(row, Mapping):
        return Unreadable(source, line, f"expected an object, got {_kind(row)}")
    name = _row_id(row.get("id")) or f"{Path(source).stem}:{line}"
    messages, text = row.get("messages"), row.get("text")
    if isinstance(messages, list):
        return _run(messages, name, source, line)
    if messages is None and isinstance(text, str):
        return SavedReply(name, source, text)
    if messages is None and text is None:
        return Unreadable(source, line, "the object has neither messages nor text")
    wrong = f"text: expected a string, got {_kind(text)}"
    if messages is not None:
        wrong = f"messages: expected a list, got {_kind(messages)}"
    return Unreadable(source, line, wrong)


def _run(messages: list[object], name: str, source: str, line: int) -> SavedRun | Unreadable:
    try:
        neutral = openai_chat.to_messages(messages)
    except InvalidInputError as error:
        return Unreadable(source, line, str(error))
    return SavedRun(name, source, openai_chat.FORMAT, len(messages), tuple(neutral))


def _read_line(raw: bytes, source: str, line: int) -> Saved:
    try:
        row = parse(raw)
    except JSONTextError as error:
        return Unreadable(source, line, str(error))
    return read_row(row, source=source, line=line)


def _read_array(raw: bytes, source: str, first: int) -> Iterator[Saved]:
    """Read an array that starts in line *first*; of a broken one, what stands before the fault."""
    items: list[tuple[int, object]] = []
    fault = None
    try:
        for line, value in array_items(raw):
            items.append((first + line - 1, value))
    except JSONTextError as error:
        fault = Unreadable(source, first + error.line - 1, str(error))
    if any(_is_row(value) for _, value in items):
        yield from (read_row(value, source=source, line=line) for line, value in items)
    elif items:
        run = {"id": Path(source).stem, "messages": [value for _, value in items]}
        yield read_row(run, source=source, line=first)
    elif fault is None:
        yield Unreadable(source, first, "the array is empty")
    if fault is not None:
        yield fault


def _is_row(value: object) -> bool:
    """Tell a run, or a reply, from a single chat message."""
    return isinstance(value, Mapping) and (
        "messages" in value or ("text" in value and "role" not in value)
    )


def _row_id(value: object) -> str:
    """Return an id as text; empty for what is neither a string nor a number."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value)


def _kind(value: object) -> str:
    """Name a JSON value by its type, as JSON calls it."""
    return _KINDS.get(type(value), "a number")


def _filled(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Number the lines from 1, without a byte order mark and without the blank ones."""
    for number, line in enumerate(lines, 1):
        content = line.removeprefix(_BOM) if number == 1 else line
        if not content.isspace() and content:
            yield number, content

"""Files of saved runs: what is readable is read, what is not is named by line and reason."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest

from loopguard_core.transcripts import (
    Saved,
    SavedReply,
    SavedRun,
    Unreadable,
    read_path,
    read_row,
    read_stream,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

USER = {"role": "user", "content": "hi"}
RUN = json.dumps({"id": "a", "messages": [USER]})
OTHER = json.dumps({"id": "b", "messages": []})


def read(content: str | bytes) -> list[Saved]:
    """Read *content* as a file called `runs.jsonl`."""
    raw = content.encode() if isinstance(content, str) else content
    return list(read_stream(io.BytesIO(raw), source="runs.jsonl"))


def ids(items: list[Saved]) -> list[str | int | None]:
    """Return the id of what was read, the line of what was not."""
    return [item.line if isinstance(item, Unreadable) else item.id for item in items]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (f"{RUN}\n{OTHER}\n", ["a", "b"]),
        (f"{RUN}\n{OTHER}", ["a", "b"]),
        (f"{RUN}\r\n\r\n  \n{OTHER}\r\n", ["a", "b"]),
        (f"\ufeff{RUN}\n", ["a"]),
        (f"[{RUN},\n{OTHER}]", ["a", "b"]),
        (f"\n\n \ufeff[{RUN}]".replace(" \ufeff", " "), ["a"]),
        (f"\ufeff [ {RUN} ] \n", ["a"]),
        (json.dumps([USER, USER]), ["runs"]),
        (json.dumps([USER], indent=2), ["runs"]),
        (json.dumps([{"text": "one"}, {"text": "two"}]), ["runs:1", "runs:1"]),
        ('{"messages": []}\n{"text": ""}\n', ["runs:1", "runs:2"]),
        (
            '{"id": 7, "text": ""}\n{"id": null, "text": ""}\n{"id": true, "text": ""}\n',
            ["7", "runs:2", "runs:3"],
        ),
        ('{"id": "a\u2028b\x85c", "text": "\u2028"}\n', ["a\u2028b\x85c"]),
        ('{"id": "a", "messages": null, "text": ""}\n', ["a"]),
    ],
    ids=[
        "lines",
        "no-last-line-feed",
        "blank-lines",
        "byte-order-mark",
        "array-of-runs",
        "array-after-blank-lines",
        "array-with-mark",
        "array-is-one-run",
        "indented-array",
        "array-of-texts",
        "no-ids",
        "ids-that-are-no-text",
        "other-line-ends",
        "null-messages",
    ],
)
def test_what_is_read(content: str, expected: list[str]) -> None:
    """JSON Lines end at the line feed only; an array is one run, or its elements are runs."""
    assert ids(read(content)) == expected


def test_a_run_and_a_reply() -> None:
    """A row with messages is a run, one with text is a reply."""
    run, reply = read(f'{RUN}\n{{"id": "t", "text": "la la"}}\n')
    assert isinstance(run, SavedRun)
    assert (run.source, run.format, run.size) == ("runs.jsonl", "openai-chat", 1)
    assert reply == SavedReply("t", "runs.jsonl", "la la")


def test_chars_after() -> None:
    """What follows a message is counted from the next one on, in characters of the file."""
    messages = [USER, {"role": "assistant", "content": "four", "reasoning": "why"}, USER]
    run = read_row({"messages": messages}, source="x", line=1)
    assert isinstance(run, SavedRun)
    assert [run.chars_after(index) for index in (-1, 0, 1, 2)] == [11, 9, 2, 0]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("[1]", "expected an object"),
        ("nonsense", "not JSON: Expecting value (column 1)"),
        (RUN[:-10], "not JSON: "),
        ('"text"', "expected an object, got a string"),
        ("3", "expected an object, got a number"),
        ("null", "expected an object, got null"),
        ("{}", "the object has neither messages nor text"),
        ('{"messages": null}', "the object has neither messages nor text"),
        ('{"messages": {}}', "messages: expected a list, got an object"),
        ('{"messages": "x", "text": "y"}', "messages: expected a list, got a string"),
        ('{"text": 1}', "text: expected a string, got a number"),
        ('{"text": false}', "text: expected a string, got true or false"),
        ('{"messages": ["x"]}', "messages[0]: expected an object, got 'x' (str)"),
        ('{"messages": [{"role": 1}]}', "messages[0].role: expected a string, got 1 (int)"),
        ('{"text": ' + "[" * 100_000, "not readable: nested too deeply"),
        ('{"text": "", "n": ' + "9" * 5_000 + "}", "not readable: an integer with too many digits"),
    ],
    ids=lambda value: value[:40],
)
def test_a_bad_row_is_named_and_the_rest_is_read(row: str, reason: str) -> None:
    """A row that cannot be read says where and why, and does not hide its neighbours."""
    before, bad, after = read(f"{RUN}\n{row}\n{OTHER}\n")
    assert ids([before, after]) == ["a", "b"]
    assert isinstance(bad, Unreadable)
    assert (bad.source, bad.line) == ("runs.jsonl", 2)
    assert bad.reason.startswith(reason)
    assert bad.describe() == f"runs.jsonl:2: {bad.reason}"


def test_numbers_that_are_no_json() -> None:
    """NaN, infinities and numbers beyond a double do not make a row unreadable."""
    assert ids(read('{"id": "n", "text": "", "x": [NaN, -Infinity, 1e999]}')) == ["n"]


def test_invalid_utf8_is_named_by_its_line() -> None:
    """Bytes that are no UTF-8 spoil their own line only."""
    items = read(RUN.encode() + b'\n{"text": "\xff"}\n' + OTHER.encode())
    assert ids(items) == ["a", 2, "b"]
    assert isinstance(items[1], Unreadable)
    assert items[1].reason == "not UTF-8: invalid start byte 0xff"


def test_another_encoding_is_named() -> None:
    """A file in UTF-16 is no run at all, and no crash."""
    items = read(RUN.encode("utf-16"))
    assert all(isinstance(item, Unreadable) for item in items)


@pytest.mark.parametrize(
    ("content", "expected", "reason"),
    [
        (f"[{RUN},\n{OTHER},\n{RUN[:-9]}", ["a", "b", 3], "not JSON: "),
        (f"[{RUN}\n{OTHER}]", ["a", 2], "not JSON: Expecting ',' or ']'"),
        (f"[{RUN},\n]", ["a", 2], "not JSON: Expecting value"),
        (f"\n\n[{RUN},\n]", ["a", 4], "not JSON: Expecting value"),
        (f"[{RUN}]\n{OTHER}\n", ["a", 2], "not JSON: Extra text after the array"),
        (f"\n[{RUN},\n3,\n{OTHER}]", ["a", 3, "b"], ""),
        (f"[{json.dumps(USER)},\n{json.dumps(USER)[:-3]}", ["runs", 2], "not JSON: "),
        ("[", [1], "not JSON: Expecting value"),
        ("[]", [1], "the array is empty"),
        ("\n\n[ \n ]\n", [3], "the array is empty"),
        ("[3, 4]", [1], "messages[0]: expected an object"),
        ("[" * 100_000, [1], "not readable: nested too deeply"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_broken_array(content: str, expected: list[str | int], reason: str) -> None:
    """Of an array that breaks off, what stands before the fault is read."""
    items = read(content)
    assert ids(items) == expected
    assert any(isinstance(item, Unreadable) and item.reason.startswith(reason) for item in items)


def test_invalid_utf8_in_an_array_is_named_by_its_line() -> None:
    """An array is decoded whole; the line of the fault is still found."""
    assert ids(read(b'[\n{"text": ""},\n{"text": "\xff"}]')) == [3]


@pytest.mark.parametrize("content", ["", "\n\n", " ", "\ufeff"])
def test_an_empty_file_is_unreadable(content: str) -> None:
    """A file without a run is no clean bill of health."""
    assert read(content) == [Unreadable("runs.jsonl", None, "the file is empty")]


def test_a_file_is_read_by_path(tmp_path: Path) -> None:
    """The source of what is read is the path as it was given."""
    path = tmp_path / "saved.json"
    path.write_text(json.dumps([USER]))
    [run] = read_path(str(path))
    assert isinstance(run, SavedRun)
    assert (run.id, run.source) == ("saved", str(path))


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    """What cannot be opened is named without a line."""
    missing = str(tmp_path / "none.jsonl")
    assert list(read_path(missing)) == [Unreadable(missing, None, "No such file or directory")]
    assert list(read_path(str(tmp_path))) == [Unreadable(str(tmp_path), None, "Is a directory")]


def test_lines_are_read_one_at_a_time() -> None:
    """The first run is there before the second line has been asked for."""
    asked: list[int] = []

    def lines() -> Iterator[bytes]:
        for number, row in enumerate((RUN, OTHER)):
            asked.append(number)
            yield row.encode() + b"\n"

    items = read_stream(lines(), source="x")
    next(items)
    assert asked == [0]

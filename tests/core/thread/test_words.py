"""Words of a stream: how they are cut, reduced and bounded, wherever the pieces were cut."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.thread.words import MAX_WORD_CHARS, WordStream

_ALPHABET = [
    "a",
    "B",
    "é",
    " ",
    "\n",
    "\r\n",
    "\u2028",
    ".",
    "_",
    "-",
    "\ud83d",
    "\ude00",
    "😀",
    "7",
]
_texts = st.lists(st.sampled_from([*_ALPHABET, "x" * MAX_WORD_CHARS]), max_size=25).map("".join)


def _in_pieces(text: str, size: int) -> list[tuple[str, str, int]]:
    stream = WordStream()
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    return [word for piece in pieces for word in stream.feed(piece)]


@given(_texts, st.integers(1, 7))
@settings(derandomize=True, max_examples=60, deadline=None)
def test_pieces_do_not_matter(text: str, size: int) -> None:
    """Any way of cutting a text gives the same words, and each can be encoded."""
    words = _in_pieces(text, size)
    assert words == WordStream().feed(text)
    for word, token, _ in words:
        assert f"{word}{token}".encode()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("unfinished", []),
        ("one two ", [("one", "one", 0), ("two", "two", 0)]),
        ("Lint().\tlint()! ", [("lint", "Lint().", 0), ("lint", "lint()!", 0)]),
        ("a\n\n b\r\nc\rd ", [("a", "a", 0), ("b", "b", 2), ("c", "c", 1), ("d", "d", 0)]),
        ("\n- item ", [("item", "item", 1)]),
        ("a\n-\n* b ", [("a", "a", 0), ("b", "b", 2)]),
        ("a\u2028b\x0bc ", [("a", "a", 0), ("b", "b", 0), ("c", "c", 0)]),
        ("it's snake_case ", [("its", "it's", 0), ("snakecase", "snake_case", 0)]),
        (
            "ΟΔΟΣ Straße İ ² ",
            [("οδος", "ΟΔΟΣ", 0), ("straße", "Straße", 0), ("i", "İ", 0), ("²", "²", 0)],
        ),
        ("... 🙂 — ", []),
        ("\ud835\udcd0x \ud83d. ", [("\U0001d4d0x", "\U0001d4d0x", 0)]),
        ("a\ud83d ", [("a", "a\ufffd", 0)]),
    ],
)
def test_words(text: str, words: list[tuple[str, str, int]]) -> None:
    """A word is lower case, letters and numbers only; line feeds wait for the next real word."""
    assert WordStream().feed(text) == words


def test_long_words_are_kept_short_and_apart() -> None:
    """Of an over-long word a start and a checksum are kept, so that two still differ."""
    start = "x" * (5 * MAX_WORD_CHARS)
    one, other, again = (token for _, token, _ in WordStream().feed(f"{start}a {start}b {start}a "))
    assert one == again != other
    assert max(len(one), len(other)) <= MAX_WORD_CHARS


@pytest.mark.parametrize("length", [-1, 0, 1])
def test_bound_is_exact(length: int) -> None:
    """A word of the longest length is kept as it is; one character more is shortened."""
    text = "y" * (MAX_WORD_CHARS + length)
    [(_, token, _)] = WordStream().feed(f"{text} ")
    assert (token == text) is (length <= 0)
    assert len(token) <= MAX_WORD_CHARS


@pytest.mark.parametrize("unit", ["x", "é", "\ud83d"])
def test_nothing_piles_up(unit: str) -> None:
    """A stream without white space is not kept."""
    stream = WordStream()
    for _ in range(2_000):
        assert stream.feed(unit * 7) == []
    kept = sum(sys.getsizeof(getattr(stream, name)) for name in stream.__slots__)
    assert kept < 8 * MAX_WORD_CHARS

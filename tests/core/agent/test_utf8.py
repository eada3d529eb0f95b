"""Texts cut by bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.agent.budget import byte_length
from loopguard_core.agent.utf8 import boundary, first_bytes, from_utf8, to_utf8


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("abc", 2, "ab"),
        ("abc", 3, "abc"),
        ("abc", 9, "abc"),
        ("abc", 0, ""),
        ("abc", -1, ""),
        ("é", 1, ""),
        ("aé", 2, "a"),
        ("aé", 3, "aé"),
        ("🙂🙂", 7, "🙂"),
        ("\ud800x", 3, "\ud800"),
        ("\ud800x", 2, ""),
    ],
)
def test_first_bytes(text: str, limit: int, expected: str) -> None:
    """The start ends between characters, at or before the limit."""
    assert first_bytes(text, limit) == expected


@pytest.mark.parametrize(("at", "expected"), [(0, 0), (1, 1), (2, 1), (3, 1), (4, 1), (5, 5)])
def test_boundary(at: int, expected: int) -> None:
    """A position inside a character moves to its start; both ends are boundaries."""
    assert boundary("a🙂".encode(), at) == expected


@given(st.text(st.characters(), max_size=20), st.integers(0, 40))
@settings(derandomize=True, max_examples=150)
def test_the_longest_start_that_fits(text: str, limit: int) -> None:
    """What is returned is a start, fits, and one character more would not."""
    start = first_bytes(text, limit)
    assert text.startswith(start)
    assert byte_length(start) <= limit
    assert start == text or byte_length(text[: len(start) + 1]) > limit


def test_any_text_survives() -> None:
    """Lone surrogates go through bytes and back."""
    text = "a\ud800é\udfff"
    assert from_utf8(to_utf8(text)) == text

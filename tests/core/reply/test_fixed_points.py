"""Pieces cut anew at fixed points of a text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.errors import InvalidInputError
from loopguard_core.reply import FixedPoints


@settings(max_examples=60, derandomize=True, deadline=None)
@given(pieces=st.lists(st.text(max_size=20), max_size=20), stride=st.integers(1, 9))
def test_pieces_end_at_multiples_of_the_stride(pieces: list[str], stride: int) -> None:
    """Whatever comes in, each piece has one stride, and all but a rest has come out."""
    points = FixedPoints(stride)
    out = [piece for text in pieces for piece in points.feed("content", text)]
    text = "".join(pieces)
    assert {len(piece) for piece in out} <= {stride}
    assert "".join(out) == text[: len(text) - len(text) % stride]


def test_channels_do_not_mix() -> None:
    """Each channel has its own rest."""
    points = FixedPoints(4)
    assert points.feed("content", "abc") == ()
    assert points.feed("thinking", "123") == ()
    assert points.feed("content", "def") == ["abcd"]
    assert points.feed("thinking", "456789") == ["1234", "5678"]


def test_channels_are_bounded() -> None:
    """The channel that was opened first starts over when there are too many."""
    points = FixedPoints(4, max_channels=2)
    for channel in ("a", "b", "c"):
        points.feed(channel, "xyz")
    assert points.feed("b", "w") == ["xyzw"]
    assert points.feed("a", "w") == ()


@pytest.mark.parametrize("options", [{"stride_chars": 0}, {"max_channels": 0}])
def test_bad_numbers_are_named(options: dict[str, int]) -> None:
    """A number below 1 is refused, by its name."""
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        FixedPoints(**options)

"""The same call again although it always gives the same result."""

from __future__ import annotations

import pytest

from loopguard_core.reply.tool import ToolDetector


def _detector() -> ToolDetector:
    return ToolDetector(window=12, min_share=0.7)


def test_equal_calls_with_equal_results() -> None:
    """The third has too few repeats before it; the fourth is the first that counts."""
    tool = _detector()
    assert [tool.finished("status", {"job": 1}, "running") for _ in range(5)] == [0, 0, 0, 4, 5]
    assert tool.started("status", {"job": 1}) == 6


def test_a_changed_result_starts_over() -> None:
    """A poll whose answer changes makes progress."""
    tool = _detector()
    for i in range(9):
        assert tool.finished("status", {"job": 1}, f"{i}%") == 0
    assert tool.started("status", {"job": 1}) == 0


def test_other_calls_dilute() -> None:
    """Repeats must be most of the latest calls."""
    tool = _detector()
    counts = [tool.finished("read", {"page": 0 if i % 2 else i}, "text") for i in range(20)]
    assert counts == [0] * 20


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('{"a": 1, "b": 2}', '{"b":2,"a":1}', True),
        ('{"a": 1}', {"a": 1}, True),
        (" not json ", "not json", True),
        ('{"a": 1}', '{"a": "1"}', False),
        ("x", "y", False),
        ("[" * 100_000, "[" * 100_001, False),
    ],
    ids=["order", "parsed", "trimmed", "type", "text", "too-deep"],
)
def test_arguments_are_compared_by_value(one: object, other: object, *, same: bool) -> None:
    """A history gives them parsed, a stream as text; what is no JSON is compared as it is."""
    tool = _detector()
    for _ in range(6):
        tool.finished("t", one, "r")
    assert bool(tool.started("t", other)) == same


def test_calls_of_one_reply_count() -> None:
    """The same batch written again and again is a loop, the same call twice is not."""
    tool = _detector()
    counts = [tool.started("read", {"file": name}) for name in "abcd" * 5]
    assert counts[:12] == [0] * 12
    assert max(counts) == 5
    assert [_detector().started("read", {}) for _ in range(2)] == [0, 0]


def test_parallel_calls_with_other_arguments() -> None:
    """Calls that differ are no loop, however many."""
    tool = _detector()
    assert [tool.started("read", {"file": i}) for i in range(40)] == [0] * 40


def test_memory_is_bounded() -> None:
    """The oldest call is forgotten for the 1,025th."""
    tool = _detector()
    for i in range(3000):
        tool.finished("read", {"file": i}, "text")
    assert len(tool._known) == 1024

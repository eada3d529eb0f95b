"""The window of repeats, passages in order, and the detector of both."""

from __future__ import annotations

import pytest

from loopguard_core.reply.cycle import CycleDetector
from loopguard_core.reply.line_kind import LineKind
from loopguard_core.reply.passage import Passage
from loopguard_core.reply.repeats import RepeatWindow

PROSE, LINE, DATA = LineKind.PROSE, LineKind.LINE, LineKind.DATA


@pytest.mark.parametrize(
    ("times", "size", "count"),
    [
        ([3, 3, 3, 3], 10, 3),
        ([3, 3, 3, 1], 10, 3),
        ([3, 3, 1, 1], 10, 0),
        ([5, 4, 3, 2], 10, 3),
        ([3, 3, 3], 10, 0),
        ([3, 3, 3, 3], 9, 0),
        ([1, 1, 3, 3, 3, 3], 10, 3),
    ],
    ids=["all", "share", "below", "lowest-of-share", "not-full", "too-short", "moves-on"],
)
def test_window(times: list[int], size: int, count: int) -> None:
    """The count that three of four sentences reach, once there are four with 40 bytes."""
    window = RepeatWindow(4, 0.75, 40)
    assert [window.add(each, size) for each in times][-1] == count


def test_bytes_that_left_the_window_do_not_count() -> None:
    """Only the sentences that are looked at must be long enough, and be repeats."""
    window = RepeatWindow(2, 1.0, 40)
    assert [window.add(3, size) for size in (90, 20, 19, 21)] == [0, 3, 0, 3]


def test_a_share_above_one_is_never_met() -> None:
    """A window that asks for more sentences than it has gives no count."""
    window = RepeatWindow(2, 1.1, 1)
    assert [window.add(9, 10) for _ in range(5)] == [0] * 5


def _passage(keys: str, *, size: int = 100, kind: LineKind = PROSE, memory: int = 100) -> list[int]:
    """Feed one sentence for each letter."""
    passage, last = Passage(128, memory), dict[str, int]()
    counts = []
    for place, key in enumerate(keys):
        counts.append(passage.add(ord(key), size, kind, last.get(key)))
        last[key] = place
    return counts


@pytest.mark.parametrize(
    ("keys", "count"),
    [
        ("abcdefgh", 0),
        ("abcdefghabcdefgh", 2),
        ("abcdefghXabcdefgh", 2),
        ("abcdefghXabcdefghYab", 2),
        ("abcdefghabcdefghab", 3),
        ("abcdefghabcdefghabcdefghab", 4),
        ("ababababa", 4),
        ("aaaaa", 0),
        ("aaaaaaa", 6),
    ],
    ids=[
        "new",
        "restated",
        "restated-after-a-heading",
        "begun-after-something-new",
        "third-time-begun",
        "fourth-time-begun",
        "pairs",
        "too-little",
        "one-sentence",
    ],
)
def test_passage(keys: str, count: int) -> None:
    """A time counts when 128 bytes of it have come; a restatement is never more than a second."""
    counts = _passage(keys)
    assert max(counts) == count


def test_lines_weigh_less_than_prose() -> None:
    """Verses and logs need more copies, and fewer than four lines are left to the blocks."""
    assert max(_passage("abcd" * 4, size=40)) == 4
    assert max(_passage("abcd" * 4, size=40, kind=LINE)) == 0
    assert max(_passage("abcd" * 5, size=40, kind=LINE)) == 5
    assert max(_passage("abc" * 40, size=40, kind=LINE)) == 0


def test_data_is_no_evidence() -> None:
    """The rows of a zero matrix never make a passage."""
    assert max(_passage("abcd" * 50, kind=DATA)) == 0


def test_a_frame_ends_a_passage() -> None:
    """The frames of a recursion come again and again."""
    passage, last, counts = Passage(128, 100), dict[str, int](), []
    for place, key in enumerate("abcdefgh" * 9):
        kind = LineKind.FRAME if key == "a" else PROSE
        counts.append(passage.add(ord(key), 100, kind, last.get(key)))
        last[key] = place
    assert max(counts) < 3


def test_a_passage_longer_than_the_memory_is_not_followed() -> None:
    """The distance to the last time must fit."""
    assert max(_passage("abcdefgh" * 5, memory=9)) > 2
    assert max(_passage("abcdefgh" * 5, memory=8)) == 0


def _cycle(*, memory: int = 100) -> CycleDetector:
    return CycleDetector(RepeatWindow(2, 1.0, 1), None, memory=memory, sample_chars=5)


def test_times_and_first_text() -> None:
    """A sentence is numbered by how often it was said, and its first text is kept."""
    cycle = _cycle()
    said = [cycle.add(key, f"{key} {i} and more", 10, PROSE) for i, key in enumerate("aba")]
    assert [(s.times, s.first) for s in said] == [(1, "a 0 a"), (1, "b 1 a"), (2, "a 0 a")]


def test_repeats_of_lines_are_not_in_the_window() -> None:
    """A line that is new speaks against a loop; said again, it says nothing."""
    cycle = _cycle()
    kinds = [PROSE, PROSE, LINE, LINE, PROSE, PROSE, LINE]
    keys = "aaxxaay"
    loops = [cycle.add(k, k, 10, kind).loops for k, kind in zip(keys, kinds, strict=True)]
    assert loops == [0, 0, 0, 0, 0, 3, 0]


def test_the_oldest_sentence_is_forgotten() -> None:
    """Memory holds so many different sentences; what was said lately stays."""
    cycle = _cycle(memory=2)
    assert [cycle.add(key, key, 10, PROSE).times for key in "abacab"] == [1, 1, 2, 1, 3, 1]

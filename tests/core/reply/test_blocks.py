"""Short periods, and how much of a block it takes before it is a loop."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.reply import ReplyLoopConfig
from loopguard_core.reply.blocks import Blocks
from loopguard_core.reply.shapes import GRID_CHARS, needed_chars
from loopguard_core.reply.short_period import ShortPeriod, ShortRun

from .writing import GUARD


@pytest.mark.parametrize(
    ("block", "needed"),
    [
        (" \n", 384),
        ("a", 320),
        ("7", 320),
        ("3.14", 320),
        ("-", 384),
        ("😀", 96),
        ("😀\n", 96),
        ("word ", 500),
        ("pass\n", 180),
        ("- item\n", 168),
        ("    x += 1\n", 264),
        ("so it goes ", 151),
        ("我不知道。", 59),
        ("</b><b>", 128),
        ("0, ", 4096),
        ("0 0 0\n", GRID_CHARS),
        ("True True True\n", GRID_CHARS),
        ("🟦🟦🟦🟦\n", GRID_CHARS),
        ("[INFO] the worker is alive and well, nothing to do\n", 1224),
        ("The parser reads the request again.\n", 272),
        ("She sang as the river ran on,\nand the wind was away,\n", 1272),
    ],
)
def test_needed_chars(block: str, needed: int) -> None:
    """What healthy texts repeat at length takes longer than what nobody repeats on purpose."""
    assert needed_chars(block) == needed


BLOCKS = st.text(st.sampled_from("ab1- \n.|é"), min_size=1, max_size=12)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(block=BLOCKS, turn=st.integers(0, 11))
def test_where_a_block_begins_does_not_matter(block: str, turn: int) -> None:
    """A run is seen from some character on, and its shape is the same from all of them."""
    size = len(block)
    if block not in (block + block)[1:-1]:
        turned = block[turn % size :] + block[: turn % size]
        assert abs(needed_chars(block) - needed_chars(turned)) == 0


def test_a_newline_in_json_is_a_newline() -> None:
    """Rows of a matrix that is written into a JSON string are rows."""
    row = "[0, 0, 0],\\n"
    assert needed_chars(row, escaped=True) >= GRID_CHARS
    assert needed_chars(row[-1] + row[:-1], escaped=True) >= GRID_CHARS
    assert needed_chars(row) < 1000


def _feed(text: str, stride: int = 32) -> tuple[int, ShortRun] | None:
    short = ShortPeriod()
    for start in range(0, len(text), stride):
        piece = text[start : start + stride]
        if (run := short.feed(piece)) is not None:
            return start + len(piece), run
    return None


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("so it goes " * 60, 160),
        ("x" + "a" * 500, 352),
        ("\n" * 700, 384),
        (" \n\t" * 300, 384),
        ("   \n \n\n" + " " * 500, 384),
        ("0 0 0\n" * 100, None),
        ("a" * 300 + "b" * 300, None),
        ("=" * 120 + "\n", None),
        ("so it goes " * 9 + "and then it stops " + "so it goes " * 9, None),
    ],
)
def test_where_a_run_is_long_enough(text: str, at: int | None) -> None:
    """At the first fixed point at which the run is as long as its shape needs."""
    found = _feed(text)
    assert (found and found[0]) == at


def test_a_run_says_its_block_and_length() -> None:
    """The run is measured from where it began, within the characters that are kept."""
    found = _feed("The loop begins here: " + "ab, cd. " * 60)
    assert found is not None
    at, run = found
    assert run.chars == at - len("The loop begins here:")  # its space is one of the block's
    assert run.block in "ab, cd. " * 2


def _blocks(text: str, config: ReplyLoopConfig = GUARD) -> list[tuple[str, int]]:
    blocks = Blocks("content", config, escaped=False)
    kept = []
    for start in range(0, len(text), 32):
        piece = text[start : start + 32]
        kept += [(f.kind, f.keep_chars) for f in blocks.feed(piece, piece.encode())]
    return kept


@pytest.mark.parametrize(
    ("block", "kind"),
    [
        ("so it goes ", "short_period"),
        ("The parser reads the request again, and again. ", "exact"),
        ("再考虑一下这个问题、然后给出答案。", "exact"),
    ],
)
def test_one_copy_is_kept(block: str, kind: str) -> None:
    """What is worth keeping ends with one copy, less than a second one behind it."""
    head = "Es begann mit Ünsinn: "
    found = _blocks(head + block * 60)
    assert found
    assert {each[0] for each in found} == {kind}
    beyond = found[0][1] - len(head)
    assert len(block) <= beyond < 2 * len(block)


def test_the_reference_has_no_shapes() -> None:
    """Without shapes the plain guard decides, and short periods are nothing."""
    rows = "the same row of a log, and another one of it\n" * 30
    assert not _blocks(rows[:900])
    assert _blocks(rows[:900], ReplyLoopConfig())
    assert not _blocks("so it goes " * 60, ReplyLoopConfig())

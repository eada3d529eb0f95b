"""The same line again and again but for a number in it that counts."""

from __future__ import annotations

import pytest

from loopguard_core.reply.counting import CountingLines, CountingText
from loopguard_core.reply.sentences import SentenceStream


def _count(lines: list[str]) -> int:
    counting = CountingLines()
    return [counting.add(line, 0) for line in lines][-1]


@pytest.mark.parametrize(
    ("template", "counts"),
    [
        ("Step {0}: check the configuration", True),
        ("step {0} ...", True),
        ("{0}. Continue with the next item", True),
        ("The {0}th row is the sum of row {0} and row {1}", True),
        ("**Attempt {0}:** try again", True),
        ("{0}. positive", False),
        ("{0}", False),
        ("Pass {0}", False),
        ("{0}. wait ...", False),
        ('{{"id": {0}, "name": "thing"}}', False),
        ("| {0} | the same cell | ok |", False),
        ("print({0}) prints the number", False),
        ("x = {0} is the next value", False),
        ("12:00:{0} the worker is alive", False),
        ("2024-05-{0} the worker is alive", False),
        ("server{0} is alive and well", False),
        ("version 1.{0} of the thing", False),
        ("Entry {0} has parcel {2} and is fine", False),
        ("The square of {0} is {3}", False),
    ],
)
def test_what_counts(template: str, *, counts: bool) -> None:
    """Prose whose changing numbers all go by one; no data, no times, no steps of their own."""
    lines = [template.format(10 + i, 9 + i, 1000 + 7 * i, (10 + i) ** 2) for i in range(30)]
    assert (_count(lines) == 30) == counts
    assert _count(lines) in {0, 1, 30}


def test_downwards_counts_too() -> None:
    """Every number goes down by one."""
    assert _count([f"The row {i} follows from row {i - 1}" for i in range(90, 60, -1)]) == 30


@pytest.mark.parametrize(
    "line",
    ["Step 7: something else entirely", "A line without a number", "Step 9: go on", "x" * 600],
    ids=["other-words", "no-number", "a-jump", "too-long"],
)
def test_what_ends_it(line: str) -> None:
    """Another line, or another step, starts the count over."""
    assert _count([*(f"Step {i}: go on" for i in range(7)), line]) <= 1


def test_turning_around_starts_over() -> None:
    """A count that goes up and then down is joined to the line before alone."""
    assert _count([f"Go on with step {i} now" for i in (1, 2, 3, 2)]) == 2


def _read(text: str) -> tuple[int, int]:
    counting = CountingText()
    times = [counting.add(sentence) for sentence in SentenceStream(512).feed(text)]
    return max(times), counting.new_end


def test_lines_of_several_sentences() -> None:
    """A line counts as a whole; blank lines between do not matter."""
    lines = [f"Step {i}: check the file. It is still the same.\n\n" for i in range(30)]
    times, new_end = _read("".join(lines))
    assert (times, new_end) == (30, len(lines[0]) - 1)


def test_sentences_of_one_line() -> None:
    """Sentences in a row count without newlines."""
    text = "".join(f"The row {i} follows from row {i - 1}. " for i in range(10, 40))
    assert _read(text)[0] == 30


def test_lines_with_something_new_do_not_count() -> None:
    """A song that counts down in one line and says another in between is spared."""
    text = "".join(
        f"{i} bottles of beer on the wall.\nTake one down, {i - 1} bottles of beer on the wall.\n"
        for i in range(99, 60, -1)
    )
    assert _read(text)[0] <= 1


def test_signs_that_look_like_the_place_of_a_number() -> None:
    """A line that holds the sign which stands for a number does not raise."""
    assert _count(["a # # 5 of it", "a 3 4 5 of it"]) == 1

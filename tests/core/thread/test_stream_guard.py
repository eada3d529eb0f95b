"""Stream guard: what trips it, what it spares, and what its reason says."""

from __future__ import annotations

import dataclasses
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.thread import GuardReason, StreamGuard, StreamGuardOptions
from loopguard_core.thread.words import MAX_WORD_CHARS

LOOP = "Let me call lint(). "


def _guard(text: str, options: StreamGuardOptions | None = None, *, piece: int = 4) -> StreamGuard:
    guard = StreamGuard(options)
    for start in range(0, len(text), piece):
        guard.push(text[start : start + piece])
    return guard


LOOPS = {
    "a phrase": LOOP * 6,
    "with other punctuation": "Let me call lint(). let me call: lint! Let me, call lint. " * 3,
    "one word": "no " * 8,
    "equal bullets": "- check the logs now\n" * 8,
    "a stem with a drifting tail": "".join(f"wait I will check {'ab'[n % 2]} " for n in range(12)),
    "behind healthy text": "".join(f"w{n} " for n in range(200)) + LOOP * 16,
    "halves of pairs": "\ud83dlet me\ude00 call \ud83dlint now " * 8,
    "tabs and line ends": "let\tme\rcall\u2028lint " * 8,
    "long words": f"{'x' * 2000}a {'x' * 2000}b " * 8,
}

HEALTHY = {
    "prose": "The log names one file and that file is new, so I read it before anything else. ",
    "counting": " ".join(str(n) for n in range(1, 60)),
    "numbered list": "".join(f"{n}. run the step number {n} of the plan\n" for n in range(30)),
    "table of numbers": "".join(f"{n}\t{n * 3}\t{n * 7}\t0\n" for n in range(40)),
    "SQL": "".join(f"CREATE TABLE t{n} (id int, name text);\n" for n in range(30)),
    "JSON": "".join(f'{{"id": {n}, "name": "item {n}", "ok": true}},\n' for n in range(30)),
    "refrain": ("la la la la\nthe night is long and so am I\nI sing of sea and sky\n") * 2,
    "emoji": "🙂 " * 100,
    "punctuation": "... !!! --- " * 100,
    "without white space": "無" * 5000,
    "a giant word": "x" * 100_000,
    "long words that differ at the end": "".join(f"{'x' * 2000}{n} " for n in range(60)),
    "unfinished": "no no no no no no no",
}


@pytest.mark.parametrize("text", LOOPS.values(), ids=LOOPS.keys())
@pytest.mark.parametrize("piece", [1, 3, 10**9])
def test_loop(text: str, piece: int) -> None:
    """A phrase that repeats among few different words trips the guard, however it is cut."""
    guard = _guard(text, piece=piece)
    assert guard.push("")
    assert guard.reason is not None
    assert guard.reason == _guard(text).reason
    assert (guard.reason.text + guard.reason.phrase).encode()


@pytest.mark.parametrize("text", HEALTHY.values(), ids=HEALTHY.keys())
def test_healthy(text: str) -> None:
    """Text that gets somewhere, or that has no finished words, does not."""
    guard = _guard(text)
    assert guard.reason is None
    assert not guard.push("")


def test_reason() -> None:
    """The reason names the phrase as compared, the words as emitted, and the measures."""
    assert _guard(LOOP * 6).reason == GuardReason(
        phrase="let me call lint",
        count=4,
        text="Let me call lint().",
        unique_ratio=0.25,
        hapax_ratio=0.0,
    )


def test_guard_latches() -> None:
    """After the trip everything is ignored, and the reason stays the same frozen value."""
    guard = StreamGuard()
    assert guard.reason is None
    assert guard.push(LOOP * 6)
    reason = guard.reason
    assert guard.push("something new and healthy. " * 100)
    assert guard.reason is reason
    with pytest.raises(dataclasses.FrozenInstanceError):
        reason.count = 1  # type: ignore[misc, union-attr]  # that it cannot be set is the point


@pytest.mark.parametrize("piece", ["", None, 3, b"no " * 20])
def test_no_text(piece: object) -> None:
    """What is no string, and an empty one, changes nothing."""
    guard = StreamGuard()
    assert not guard.push(piece)
    assert guard.reason is None


def test_a_word_counts_once_white_space_has_come() -> None:
    """The last repetition trips the guard only with the white space behind it."""
    guard = StreamGuard()
    assert not guard.push((LOOP * 4).rstrip())
    assert guard.push("\n")


@pytest.mark.parametrize(
    ("options", "repeats"),
    [
        (StreamGuardOptions(), 4),
        (StreamGuardOptions(max_repeats=3), 3),
        (StreamGuardOptions(max_repeats=0), 3),  # two, once few enough words are different
        (StreamGuardOptions(min_chars=200), 10),
        (StreamGuardOptions(max_unique_ratio=0), None),
        (StreamGuardOptions(window=8), None),
    ],
)
def test_options(options: StreamGuardOptions, repeats: int | None) -> None:
    """The number of repetitions at which it trips follows from the options."""
    guard, tripped_at = StreamGuard(options), None
    for count in range(1, 101):
        if guard.push(LOOP):
            tripped_at = count
            break
    assert tripped_at == repeats


def test_lists_are_spared_below_the_gate_only() -> None:
    """From a ratio of 0.5 on, a list with varying words is a loop like any other."""
    rows = "".join(f"row {n}: all is well and done\n" for n in range(30))
    assert _guard(rows, StreamGuardOptions(max_unique_ratio=0.49)).reason is None
    assert _guard(rows, StreamGuardOptions(max_unique_ratio=0.5)).reason is not None


@given(
    st.lists(
        st.sampled_from(["a ", "b ", "c\n", "- ", "\n\n", "D", "\ud83d", "\ude00"]), max_size=80
    )
)
@settings(derandomize=True, max_examples=60, deadline=None)
def test_pieces_do_not_matter(pieces: list[str]) -> None:
    """Any way of cutting a text gives the same reason."""
    options = StreamGuardOptions(ngram=2, window=9, max_repeats=3, max_unique_ratio=0.45)
    whole = StreamGuard(options)
    tripped = whole.push("".join(pieces))
    parts = StreamGuard(options)
    answers = [parts.push(piece) for piece in pieces]
    assert any(answers) is tripped
    assert parts.reason == whole.reason


def test_long_words_stay_bounded() -> None:
    """However long words are, the window holds no more than their bound of each."""
    guard = StreamGuard()
    for number in range(200):
        guard.push(f"{number}{'x' * 50_000} ")
    kept = [text for word, token, _ in guard._window._words for text in (word, token)]
    assert len(kept) <= 2 * 49
    assert max(map(len, kept)) <= MAX_WORD_CHARS
    assert sum(map(sys.getsizeof, kept)) < 100 * 2 * MAX_WORD_CHARS

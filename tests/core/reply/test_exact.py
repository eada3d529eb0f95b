"""The repetition guard, and the periods it looks for."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from loopguard_core.reply import ExactConfig, ExactFinding, ExactRepetition, period
from loopguard_core.reply.period import doubled_suffix, periodic_suffix, primitive_root

BLOCK = "The parser reads the incoming request and checks it. "


def _plain_scan(kept: bytes, config: ExactConfig) -> tuple[int, int] | None:
    """Do section 2's scan the way it is written there."""
    size = len(kept)
    for p in range(config.min_period, config.max_period + 1):
        if p * config.min_reps > size:
            return None
        if kept[size - p :] == kept[size - 2 * p : size - p]:
            break
    else:
        return None
    block = kept[size - p :]
    q = next(d for d in range(1, p + 1) if p % d == 0 and block[:d] * (p // d) == block)
    if q < config.min_period:
        return None
    reps = 1
    while kept[size - (reps + 1) * q : size - reps * q] == kept[size - q :]:
        reps += 1
    return (q, reps) if reps >= config.min_reps and reps * q >= config.min_span else None


CONFIGS = st.builds(
    ExactConfig,
    min_period=st.integers(1, 6),
    max_period=st.integers(1, 24),
    min_reps=st.integers(2, 4),
    min_span=st.integers(1, 40),
    check_every=st.integers(1, 12),
)
PIECES = st.lists(st.sampled_from(["a", "b", "ab", "aab", "abab", "ba" * 6, "a" * 9]), max_size=40)


@settings(max_examples=150, derandomize=True, deadline=None)
@given(config=CONFIGS, pieces=PIECES, candidates=st.sampled_from([0, 1, 64]))
def test_the_guard_says_what_a_plain_scan_says(
    config: ExactConfig, pieces: list[str], candidates: int
) -> None:
    """Whatever is fed, each scan gives the period and copies of one that tries every period."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(period, "_MAX_CANDIDATES", candidates)
        guard, kept, unscanned = ExactRepetition(config), b"", 0
        for piece in pieces:
            found = guard.feed(piece)
            kept = (kept + piece.encode())[-config.kept_bytes :]
            unscanned += len(piece)
            expected = None
            if unscanned >= config.check_every:
                unscanned, expected = 0, _plain_scan(kept, config)
            assert (found and (found.period, found.reps)) == expected


@settings(max_examples=200, derandomize=True, deadline=None)
@given(
    text=st.text("ab", max_size=60).map(str.encode),
    shortest=st.integers(1, 8),
    candidates=st.sampled_from([1, 64]),
)
@example(text=b"a" * 50, shortest=8, candidates=64)
@example(text=b"ab" * 20 + b"b" + b"ab" * 9, shortest=3, candidates=64)
@example(text=b"abaaaaabaaaa", shortest=4, candidates=1)
def test_doubled_suffix(text: bytes, shortest: int, candidates: int) -> None:
    """It is the smallest period from the shortest on for which the end stands there twice."""
    size = len(text)
    periods = range(shortest, size // 2 + 1)
    plain = [p for p in periods if text[size - p :] == text[size - 2 * p : size - p]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(period, "_MAX_CANDIDATES", candidates)
        assert doubled_suffix(text, shortest, size) == (plain[0] if plain else None)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(text=st.text("ab", min_size=1, max_size=40).map(str.encode), p=st.integers(1, 40))
def test_periodic_suffix(text: bytes, p: int) -> None:
    """It is the longest end that agrees with itself one period earlier."""
    size = len(text)
    run = min(p, size)
    while run < size and text[size - run - 1] == text[size - run - 1 + p]:
        run += 1
    assert periodic_suffix(text, p) == run


def test_primitive_root() -> None:
    """A block is cut down to what it repeats, and is its own root otherwise."""
    assert [primitive_root(b) for b in (b"abab", b"aaa", b"abc", b"abaab")] == [2, 1, 3, 5]


def test_many_false_candidates_are_settled_in_one_pass() -> None:
    """Rules of a table, which agree at hundreds of distances, are no square."""
    rows = b"".join(b"-" * 60 + b"%03d" % i for i in range(40)) + b"-" * 45
    assert doubled_suffix(rows, 24, 1024) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (BLOCK * 10, True),
        (BLOCK * 10 + "x", False),
        ("abcdefgh" * 100, False),
        ("\n" * 2000, False),
        (("| --- | --- |\n") * 60, False),
        ("".join(f"row {i:06d} has a value of its own\n" for i in range(60)), False),
    ],
    ids=["block", "something-else-since", "short", "newlines", "rules", "rows-that-differ"],
)
def test_what_a_scan_at_the_end_sees(text: str, *, found: bool) -> None:
    """Only a block of 24 bytes or more, said three times up to the end, is found."""
    assert (ExactRepetition().feed(text) is not None) == found


def test_a_finding_says_what_can_be_cut() -> None:
    """Trailing leaves one copy; the sample is the last copy's beginning, 200 bytes of it."""
    long_block = "".join(f"{i} is a number; " for i in range(20))
    found = ExactRepetition(where="thinking").feed(long_block * 4)
    size = len(long_block)
    sample = long_block.encode()[:200]
    assert found == ExactFinding("thinking", size, 4, 3 * size, sample)


def test_a_loop_is_reported_at_every_scan() -> None:
    """Nothing is latched, and a scan comes when enough bytes have."""
    guard = ExactRepetition(ExactConfig(check_every=2 * len(BLOCK)))
    found = [guard.feed(BLOCK) for _ in range(14)]
    assert [i for i, each in enumerate(found) if each is not None] == [9, 11, 13]


def test_text_and_bytes_are_the_same() -> None:
    """Text is fed as UTF-8; a lone surrogate does not raise."""
    text = "Ein Satz mit Umläuten, der wiederkommt \ud800. " * 20
    data = text.encode("utf-8", "surrogatepass")
    assert ExactRepetition().feed(text) == ExactRepetition().feed(data) is not None


def test_off_and_empty_do_nothing() -> None:
    """A guard that is off finds nothing, and an empty piece leads to no scan."""
    assert ExactRepetition(ExactConfig(off=True)).feed(BLOCK * 50) is None
    guard = ExactRepetition()
    assert guard.feed(BLOCK * 50) is not None
    assert guard.feed("") is None


def test_only_the_last_bytes_are_kept() -> None:
    """What is kept is bounded by the settings, whatever is fed."""
    guard = ExactRepetition(ExactConfig(history_bytes=5000))
    guard.feed("x" * 100_000)
    assert len(guard.last(1 << 20)) == 5000
    assert guard.last(0) == b""

"""Replies watched while they stream: what is cut, what never is, and where pieces end."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core import Action, GuardedReply, LoopGuard, Message, Policy
from loopguard_core.guard import DETECTORS
from tests.scenarios import (
    CSV_NUMBERS,
    EQUAL_LOG_LINES,
    HEX_DUMP,
    LOOPING_TEXT,
    REFRAIN,
    SIMILAR_JSON,
    ZERO_MATRIX,
)

HEALTHY = {
    "zero matrix": ZERO_MATRIX,
    "objects on one line": "["
    + ", ".join(
        f'{{"id": {n}, "status": "active", "type": "user", "country": "Norway", "city": "Oslo",'
        f' "plan": "basic", "roles": ["reader", "writer"], "score": {n * 7 % 101}}}'
        for n in range(100)
    )
    + "]",
    "large zero matrix": "Here it is:\n" + "0 0 0 0 0 0 0 0\n" * 300,
    "hex dump": HEX_DUMP,
    "refrain": REFRAIN,
    "similar objects": SIMILAR_JSON,
    "equal log lines": EQUAL_LOG_LINES,
    "csv of numbers": CSV_NUMBERS,
    "log with times": "".join(
        f"12:{n // 60:02}:{n % 60:02} INFO worker heartbeat ok\n" for n in range(200)
    ),
    "table": "| name | count | state |\n|---|---|---|\n"
    + "".join(f"| item {n} | {n % 7} | ready |\n" for n in range(150)),
    "unit tests": "".join(
        f"def test_case_{n}():\n    assert compute({n}) == {n * n}\n\n" for n in range(60)
    ),
}


def cut_at(text: str, pieces: list[int], guard: LoopGuard | None = None) -> int | None:
    """Feed *text* in pieces of the given sizes, in turn; return where it was cut."""
    reply = (guard or LoopGuard()).start_run().watch_reply()
    start = number = 0
    while start < len(text):
        size = pieces[number % len(pieces)]
        if reply.feed(text[start : start + size]).action is Action.HALT:
            return start
        start, number = start + size, number + 1
    return None


@pytest.mark.parametrize("text", HEALTHY.values(), ids=HEALTHY)
def test_healthy_replies_are_never_cut(text: str) -> None:
    """Data repeats itself; that is no loop."""
    assert cut_at(text, [4]) is None


@pytest.mark.parametrize("channel", ["content", "reasoning", "thinking"])
def test_a_phrase_that_comes_again_and_again_is_cut(channel: str) -> None:
    """Text and thinking are watched alike."""
    reply = LoopGuard().start_run().watch_reply()
    assert reply.feed(LOOPING_TEXT, channel).action is Action.HALT
    assert reply.finding is not None
    assert reply.finding.detector == "reply.exact"


def test_a_cut_stays_a_cut() -> None:
    """Once a reply was cut, every later piece says so again, with the same finding."""
    reply = LoopGuard().start_run().watch_reply()
    first = reply.feed(LOOPING_TEXT)
    assert reply.feed("Something else entirely.") == first
    assert reply.feed_call("read", {}) == first


def test_arguments_of_a_call_are_watched_for_blocks() -> None:
    """A call's arguments can go round as well, and are cut as well."""
    reply = LoopGuard().start_run().watch_reply()
    assert reply.feed(LOOPING_TEXT, "tool:0").action is Action.HALT


def test_code_in_the_arguments_of_a_call_is_no_phrase() -> None:
    """Similar lines of code are what tools are given."""
    code = "".join(f"    assert add({n}, {n + 1}) == {2 * n + 1}\\n" for n in range(200))
    reply = LoopGuard().start_run().watch_reply()
    assert reply.feed(code, "tool:0").action is Action.ALLOW


def test_one_copy_is_worth_keeping() -> None:
    """After a block that repeats, the text before it and one copy of it stay."""
    reply = LoopGuard().start_run().watch_reply()
    opening = "Let me see what there is to find in this file. "
    sentence = "I will check the file once more to be sure. "
    reply.feed(opening + sentence * 60)
    assert reply.keep_chars is not None
    kept = (opening + sentence * 60)[: reply.keep_chars]
    assert kept.startswith(opening)
    assert kept.count("check the file once more") == 1


def test_the_same_call_again_and_again_in_one_reply_is_cut() -> None:
    """A reply that never ends because it makes one call after the other goes round too."""
    history = [Message.tool_response("read", {"path": "a"}, "text", str(n)) for n in range(12)]
    reply = LoopGuard().start_run().watch_reply(history)
    assert reply.feed_call("read", {"path": "a"}).reason == "reply.tool"


@settings(derandomize=True, max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 300), min_size=1, max_size=6))
def test_where_pieces_end_does_not_matter(pieces: list[int]) -> None:
    """The same text is cut in the piece that brings the same character."""
    exact = _exact_cut(LOOPING_TEXT)
    start = cut_at(LOOPING_TEXT, pieces)
    assert start is not None
    assert start <= exact < start + max(pieces)


def _exact_cut(text: str) -> int:
    reply: GuardedReply = LoopGuard().start_run().watch_reply()
    return next(i for i, c in enumerate(text) if reply.feed(c).action is Action.HALT)


def test_a_disabled_detector_finds_nothing() -> None:
    """What another one finds is still found; the stream guard is one that is off by default."""
    replies = frozenset(name for name in DETECTORS if name.startswith("reply."))
    alone = LoopGuard(policy=Policy(disabled_detectors=replies))
    assert cut_at(LOOPING_TEXT, [4], alone) is not None
    none = LoopGuard(policy=Policy(disabled_detectors=replies | {"thread.stream_guard"}))
    assert cut_at(LOOPING_TEXT, [4], none) is None
    assert "thread.stream_guard" in Policy().disabled_detectors


def test_numbers_that_repeat_are_no_phrase_to_the_stream_guard() -> None:
    """A matrix of zeros is data."""
    replies = frozenset(name for name in DETECTORS if name.startswith("reply."))
    alone = LoopGuard(policy=Policy(disabled_detectors=replies))
    assert cut_at("0 0 0 0 0 0 0 0\n" * 400, [64], alone) is None


def test_an_observing_policy_reports_once_and_cuts_nothing() -> None:
    """The finding is there, and listeners hear of it once."""
    events: list[object] = []
    guard = LoopGuard(policy=Policy.observe(), listeners=(events.append,))
    reply = guard.start_run().watch_reply()
    for _ in range(3):
        assert reply.feed(LOOPING_TEXT).action is Action.ALLOW
    assert reply.finding is not None
    assert len(events) == 1

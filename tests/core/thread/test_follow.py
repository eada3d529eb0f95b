"""Following a thread by its whole list: what is new is found, trimmed or rewritten as it may be."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.message import Message
from loopguard_core.thread import ThreadWatch, describe_thread_cycle, step
from loopguard_core.thread.recognise import recognise

from .activities import calls

SUMMARY = Message.system("what happened so far")


def _said(*texts: object) -> list[Message]:
    return [Message.bot(str(text)) for text in texts]


def _after(*threads: list[Message], window: int = 512) -> tuple[ThreadWatch, list[int]]:
    """Follow one thread after the other; return the watch and its answers."""
    watch = ThreadWatch(window)
    return watch, [watch.follow(thread) for thread in threads]


def _pushed(thread: list[Message], window: int = 512) -> dict[str, object]:
    watch = ThreadWatch(window)
    watch.extend(thread)
    return watch.snapshot()


HISTORY = _said(*range(10))


@pytest.mark.parametrize(
    ("before", "now", "start", "known"),
    [
        pytest.param([], [], 0, [], id="empty"),
        pytest.param([], HISTORY, 0, HISTORY, id="the first time"),
        pytest.param(HISTORY, HISTORY, 10, HISTORY, id="the same"),
        pytest.param(HISTORY[:3], HISTORY, 3, HISTORY, id="grown"),
        pytest.param(HISTORY[:6], HISTORY[4:], 2, HISTORY, id="trimmed and grown"),
        pytest.param(HISTORY[:9], HISTORY[8:], 1, HISTORY, id="one kept"),
        pytest.param(HISTORY[:8], HISTORY[4:8], 4, HISTORY[:8], id="only trimmed"),
        pytest.param(HISTORY[:8], [SUMMARY, *HISTORY[6:]], 3, HISTORY, id="summarised and grown"),
        pytest.param(
            HISTORY[:8], [SUMMARY, *HISTORY[1:]], 8, HISTORY, id="the first replaced, and grown"
        ),
        pytest.param(HISTORY, HISTORY[:4], 4, HISTORY[:4], id="the newest withdrawn"),
        pytest.param(
            HISTORY[:5], [*HISTORY[:4], SUMMARY], 4, [*HISTORY[:4], SUMMARY], id="the last replaced"
        ),
        pytest.param(HISTORY, [SUMMARY, *_said("new")], 0, [SUMMARY, *_said("new")], id="another"),
        pytest.param(HISTORY, [], 0, [], id="emptied"),
    ],
)
def test_what_is_new(
    before: list[Message], now: list[Message], start: int, known: list[Message]
) -> None:
    """The watch knows what the thread lost at its head, and the thread as it is now."""
    watch, answers = _after(before, now)
    assert answers[-1] == start
    records = watch.snapshot()["records"]
    assert records == _pushed(known)["records"]
    assert watch.follow(now) == len(now)


def test_growth_longer_than_the_window() -> None:
    """All that is new is read; the last messages stay known."""
    watch, answers = _after(HISTORY[:2], HISTORY, window=4)
    assert answers == [0, 2]
    assert watch.snapshot()["records"] == _pushed(HISTORY, 4)["records"]


def test_a_new_thread_longer_than_the_window() -> None:
    """Of a thread that is not recognised the last messages are read."""
    watch, answers = _after(HISTORY, [*_said(*"abcdefgh"), SUMMARY], window=4)
    assert answers == [6, 5]
    assert watch.snapshot()["records"] == _pushed([*_said(*"fgh"), SUMMARY], 4)["records"]


def test_evidence_outlives_the_trimming() -> None:
    """A loop is seen although never more than three of its messages are in the thread at a time."""
    stuck = [m for n in range(4) for m in [*_said(f"try {n}"), *calls(("ls", {}, "a"))]]
    watch = ThreadWatch()
    for stop in range(1, len(stuck) + 1):
        window = stuck[max(0, stop - 3) : stop]
        assert describe_thread_cycle(window) is None
        watch.follow(window)
    assert watch.describe() == "repeated_result_run"


def test_a_stuck_thread_that_is_trimmed() -> None:
    """Equal messages leave it open where the thread was cut; nothing old counts as new."""
    polls = calls(("poll", {}, "wait")) * 10
    watch, answers = _after([*_said("go"), *polls], polls[4:], [*polls[4:], *_said("stop")])
    assert answers == [0, 16, 16]
    assert watch.describe() == "repeated_result_run"


def test_a_stuck_thread_that_is_trimmed_to_less_than_is_confirmed() -> None:
    """A thread of one message is followed although more are known that look like it."""
    watch, answers = _after(_said("a") * 5, _said("a"), _said("a"), _said("a", "b"))
    assert answers == [0, 1, 1, 1]
    assert watch.snapshot()["records"] == _pushed([*_said("a") * 5, *_said("b")])["records"]


def test_the_same_last_message_does_not_hide_a_trimmed_head() -> None:
    """More than the message at the old end is compared, so a common one does not mislead."""
    watch, answers = _after(_said("a", "b", "c", "go on"), _said("c", "go on", "d", "go on"))
    assert answers == [0, 2]
    assert watch.snapshot()["records"] == _pushed(_said(*"abc", "go on", "d", "go on"))["records"]


def test_rewinding_is_no_repetition() -> None:
    """Messages that were withdrawn and written again are known once."""
    history = _said(*"abcd")
    watch, _ = _after(history, history[:2], history, history[:2], history)
    assert watch.describe() is None


def test_a_turn_still_begins_where_its_first_message_was_replaced() -> None:
    """Results before the turn stay no evidence when the person's message is rewritten."""
    before = [m for n in range(2) for m in [*_said(n), *calls(("ls", {}, "a"))]]
    watch, _ = _after(before)
    watch.begin_turn()
    watch.follow([*before, Message.user("agian")])
    watch.follow([*before, Message.user("again"), *calls(("ls", {}, "a"))])
    assert watch.describe() is None


def test_messages_that_are_passed_over_mark_their_place() -> None:
    """A thread is followed over what the host leaves out of account, forwards and back."""
    note = Message.tool_request("note", {})
    history = [*_said("a"), note, *_said("b"), note]
    watch = ThreadWatch(reading=lambda activity: None if activity.name == "note" else activity)
    stops = (4, 1, 3, 4, 4)
    assert [watch.follow(history[:stop]) for stop in stops] == [0, 1, 1, 3, 4]


def test_pushing_and_following_mix() -> None:
    """A pushed message is part of the thread that is followed."""
    watch = ThreadWatch()
    watch.follow(HISTORY[:3])
    watch.push(HISTORY[3])
    assert watch.follow(HISTORY) == 4


def test_following_goes_on_after_a_snapshot() -> None:
    """A resumed watch knows where the thread was left."""
    watch, _ = _after(HISTORY[:5])
    resumed = ThreadWatch.restore(json.loads(json.dumps(watch.snapshot())))
    assert resumed.follow(HISTORY) == 5


@given(
    st.lists(st.sampled_from("ab"), max_size=30),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6)), max_size=8),
)
@settings(derandomize=True, max_examples=60, deadline=None)
def test_growing_is_pushing(texts: list[str], steps: list[tuple[int, int]]) -> None:
    """A thread of two letters that only grows is followed exactly, however it grows."""
    history = _said(*texts)
    watch, length = ThreadWatch(8), 0
    for grown, _ in steps:
        assert watch.follow(history[:length]) <= length
        length = min(len(history), length + grown)
        watch.follow(history[:length])
        assert watch.snapshot()["records"] == _pushed(history[:length], 8)["records"]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=10))
@settings(derandomize=True, max_examples=60, deadline=None)
def test_trimming_is_seen_through(steps: list[tuple[int, int]]) -> None:
    """Different messages are recognised while one is left, whatever is cut and summarised."""
    history = _said(*range(100))
    watch, head, length = ThreadWatch(), 0, 1
    watch.follow(history[:length])
    for grown, cut in steps:
        head, length = min(head + cut, length - 1), length + grown
        watch.follow([SUMMARY, *history[head:length]])
        newest = watch.snapshot()["records"]
        assert isinstance(newest, str)
        assert _pushed(history[head:length])["records"][-20:] == newest[-20:]  # type: ignore[index]
    assert watch.describe() is None


def test_growth_reads_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """Confirming a long thread and adding one message takes a handful of digests."""
    history = _said(*range(2000))
    watch, _ = _after(history)
    taken: list[object] = []
    key = step.message_key

    def counted(message: Message) -> int:
        taken.append(message)
        return key(message)

    monkeypatch.setattr(step, "message_key", counted)
    assert watch.follow([*history, SUMMARY]) == 2000
    assert len(taken) <= 5


@pytest.mark.parametrize(
    ("known", "thread", "place"),
    [
        ("abc", "abc", (3, 3)),
        ("abc", "bcd", (3, 2)),
        ("abc", "xay", (1, 2)),
        ("abc", "xyz", None),
        ("", "abc", None),
        ("abc", "", None),
        ("aaaa", "aaaaaa", (4, 6)),
        ("cab", "cabxab", (3, 3)),
        ("ab", "abab", (2, 4)),
    ],
)
def test_recognise(known: str, thread: str, place: tuple[int, int] | None) -> None:
    """The newest known key that is left decides, where most before it is the same."""
    assert recognise([*map(ord, known)], [*map(ord, thread)]) == place

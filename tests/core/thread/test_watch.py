"""Thread watch: step by step it says what the heuristics say of the whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from loopguard_core.errors import InvalidInputError
from loopguard_core.message import ABSENT, Activity, Message, activity_of
from loopguard_core.thread import Cycle, CycleOptions, ThreadWatch, describe_thread_cycle

from .activities import call, calls, holding_itself

_FILE = Path(__file__).parents[2] / "data" / "thread.jsonl"
_ROWS = [json.loads(line) for line in _FILE.read_text("utf-8").split("\n") if line]
THREADS = [(row["messages"], row.get("options", {})) for row in _ROWS if "messages" in row]
NUMBER_OF_THREADS = 284

CHURN = "Let me check. Wait. " * 10


def _activity(kind: str, function: dict[str, object]) -> Message:
    return Message(
        type="activity", text="", meta={"activity": {"type": kind, "function": function}}
    )


_LETTERS = [
    Message.user("a"),
    Message.bot(CHURN),
    Message.reasoning("a"),
    *call("f", 1, 1),
    *call("f", 1, 2),
    *call("_g", 1, 1),
    _activity("response", {"name": "f", "result": 1}),
    _activity("response", {"name": "f", "arguments": 1}),
    _activity("trigger", {"name": "f"}),
]
_numbers = st.none() | st.integers(-1, 5)
_options = st.builds(
    CycleOptions,
    min_repetitions=_numbers,
    min_pattern_length=_numbers,
    max_pattern_length=_numbers,
    min_result_repetitions=_numbers,
    min_stale_activities=_numbers,
)


@st.composite
def _threads(draw: st.DrawFn) -> list[Message]:
    """Draw a thread over few messages, so that it repeats itself by chance or by a pattern."""
    letters = st.sampled_from(draw(st.lists(st.sampled_from(_LETTERS), min_size=1, max_size=5)))
    pattern = draw(st.lists(letters, max_size=6)) * draw(st.integers(0, 6))
    return [*draw(st.lists(letters, max_size=12)), *pattern, *draw(st.lists(letters, max_size=4))]


def _resumed(watch: ThreadWatch, options: CycleOptions | None = None, **kept: Any) -> ThreadWatch:
    return ThreadWatch.restore(json.loads(json.dumps(watch.snapshot())), options, **kept)


def test_no_thread_is_lost() -> None:
    """The copy holds as many threads as it was made with, none longer than the window."""
    assert len(THREADS) == NUMBER_OF_THREADS
    assert max(len(messages) for messages, _ in THREADS) <= 512


@pytest.mark.parametrize(("messages", "options"), THREADS)
def test_every_prefix(messages: list[dict[str, Any]], options: dict[str, Any]) -> None:
    """After each message the watch says what `describe_thread_cycle` says."""
    chosen = CycleOptions(**options)
    watch = ThreadWatch(options=chosen)
    for length, message in enumerate(messages, start=1):
        watch.push(message)
        assert watch.describe() == describe_thread_cycle(messages[:length], chosen)


@given(_threads(), _options, st.integers(1, 14), st.integers(0, 30))
@settings(derandomize=True, max_examples=80, deadline=None)
def test_small_windows(
    thread: list[Message], options: CycleOptions, window: int, saved_after: int
) -> None:
    """With a window of n the answer is that for the last n messages; saving changes nothing."""
    watch = ThreadWatch(window, options)
    for length, message in enumerate(thread, start=1):
        watch.push(message)
        if length == saved_after:
            watch = _resumed(watch, options)
        expected = describe_thread_cycle(thread[max(0, length - window) : length], options)
        assert watch.describe() == expected


@given(_threads(), _options, st.integers(0, 30))
@settings(derandomize=True, max_examples=40, deadline=None)
def test_a_resumed_watch_finds_the_same(
    thread: list[Message], options: CycleOptions, saved_after: int
) -> None:
    """Counts and evidence come through a snapshot, too."""
    watch = ThreadWatch(20, options)
    watch.extend(thread[:saved_after])
    resumed = _resumed(watch, options)
    for message in thread[saved_after:]:
        watch.push(message)
        resumed.push(message)
        assert resumed.find() == watch.find()
    assert resumed.snapshot() == watch.snapshot()


def test_extend_is_push_for_each() -> None:
    """Adding messages together is adding them one by one."""
    one, other = ThreadWatch(), ThreadWatch()
    one.extend(_LETTERS)
    for message in _LETTERS:
        other.push(message)
    assert one.snapshot() == other.snapshot()


READ = ("read", {"path": "a"}, "x")
TALKED_OVER = [m for n in range(5) for m in [Message.bot(f"try {n}"), *calls(READ)]]
ROTATION = calls(*[("read", name, name) for name in "abcd" * 3], ("ls", 1, 1), ("ls", 2, 2))


@pytest.mark.parametrize(
    ("thread", "cycle"),
    [
        (calls(READ) * 3, Cycle("repeated_suffix", 3, ("read",))),
        ([Message.bot("a \n b")] * 5, Cycle("repeated_suffix", 2, ("a b",))),
        ([Message.bot(n) for n in "xyabcabcabc"], Cycle("repeated_suffix", 3, ("a", "b", "c"))),
        ([Message.bot("")] * 4, Cycle("repeated_suffix", 2)),
        (ROTATION, Cycle("repeated_activity_tail", 28, ("read", "ls"))),
        (TALKED_OVER, Cycle("repeated_result_run", 5, ("read",))),
        ([*TALKED_OVER, *map(Message.user, map(str, range(20)))], Cycle("repeated_result_run", 5)),
        ([Message.bot(CHURN)], Cycle("repeated_message_text_run", 20, ("let me check",))),
    ],
)
def test_count_and_evidence(thread: list[Message], cycle: Cycle) -> None:
    """A cycle says how often, and names the tools or the start of the texts."""
    watch = ThreadWatch()
    watch.extend(thread)
    assert watch.find() == cycle


def test_evidence_is_short_and_can_be_encoded() -> None:
    """However long names are and whatever they hold, at most 80 characters are shown."""
    watch = ThreadWatch()
    watch.extend(calls(("\ud83d" + "n" * 1000, 1, 1), ("x y\n" * 1000, 1, 1)) * 2)
    cycle = watch.find()
    assert cycle is not None
    assert len(cycle.evidence) == 2
    for text in cycle.evidence:
        assert len(text.encode()) <= 82
        assert len(text) <= 80


@pytest.mark.parametrize(
    ("skip", "name"),
    [
        ((), "repeated_suffix"),
        ({"repeated_suffix"}, "repeated_activity_tail"),
        (["repeated_suffix", "repeated_activity_tail"], "repeated_result_run"),
        (("repeated_suffix", "repeated_activity_tail", "repeated_result_run"), None),
    ],
)
def test_skip(skip: Any, name: str | None) -> None:
    """A heuristic that is passed over leaves the word to the later ones."""
    watch = ThreadWatch()
    watch.extend(calls(READ) * 5)
    assert watch.describe(skip=skip) == name


def test_equal_results_of_two_turns_are_no_run() -> None:
    """A person who asks for the same thing again does not make the agent stuck."""
    watch = ThreadWatch()
    for _ in range(3):
        watch.begin_turn()
        watch = _resumed(watch)
        watch.extend([Message.user("look"), *calls(READ), Message.bot("again"), *calls(READ)])
    skip = {"repeated_suffix", "repeated_activity_tail"}
    assert watch.describe(skip=skip) is None
    watch.begin_turn()
    watch.extend([m for n in range(3) for m in [Message.bot(str(n)), *calls(READ)]])
    assert watch.find(skip=skip) == Cycle("repeated_result_run", 3, ("read",))


@pytest.mark.parametrize(
    ("thread", "newest", "name"),
    [
        (calls(READ) * 2, 1, "repeated_suffix"),
        (calls(READ) * 2, 0, None),
        (TALKED_OVER, 1, "repeated_result_run"),
        ([*TALKED_OVER, Message.bot("so")], 1, None),
        ([*TALKED_OVER, Message.bot("so")], 2, "repeated_result_run"),
        (ROTATION, 1, "repeated_activity_tail"),
        (ROTATION, 0, None),
        ([Message.bot(CHURN), Message.user("hm")], 1, None),
        ([Message.bot(CHURN), Message.user("hm")], 2, "repeated_message_text_run"),
    ],
)
def test_newest_evidence(thread: list[Message], newest: int, name: str | None) -> None:
    """What was found before the newest messages came is not found again."""
    watch = ThreadWatch()
    watch.extend(thread)
    cycle = watch.find(newest=newest)
    assert (None if cycle is None else cycle.name) == name


def test_a_tail_that_has_just_brought_something_new_is_spared() -> None:
    """With the option, the newest activities must stand before them in the tail as well."""
    options = CycleOptions(min_stale_activities=2)
    watch = ThreadWatch(options=options)
    watch.extend(ROTATION)
    assert watch.describe() is None
    assert describe_thread_cycle(ROTATION, options) is None
    watch.extend(calls(("ls", 1, 1)))
    assert watch.describe() == "repeated_activity_tail"


def _without_polls(activity: Activity) -> Activity | None:
    return None if activity.name == "poll" else activity._replace(arguments=ABSENT)


def _as_read(message: Message) -> Message | None:
    activity = activity_of(message)
    if activity is None:
        return message
    if (read := _without_polls(activity)) is None:
        return None
    given = {"name": read.name, "result": read.result}
    return _activity(read.type, {k: v for k, v in given.items() if v is not ABSENT})


@given(st.lists(st.sampled_from([*_LETTERS, *call("poll", 1, 1)]), max_size=40), st.integers(1, 12))
@settings(derandomize=True, max_examples=60, deadline=None)
def test_reading(thread: list[Message], window: int) -> None:
    """What a host passes over or replaces is judged as if it stood like that in the window."""
    watch = ThreadWatch(window, reading=_without_polls)
    for length in range(len(thread) + 1):
        watch.follow(thread[:length])
        read = map(_as_read, thread[max(0, length - window) : length])
        assert watch.describe() == describe_thread_cycle([m for m in read if m is not None])
        watch = _resumed(watch, reading=_without_polls)


def test_snapshot_is_small() -> None:
    """With a window full of tool messages a snapshot stays under 40 kB of JSON."""
    watch = ThreadWatch()
    watch.extend(calls(*[(f"tool{n}" * 50, {"n": n}, "r" * 1000) for n in range(600)]))
    assert len(json.dumps(watch.snapshot())) < 40_000


def test_what_models_and_tools_say_never_raises() -> None:
    """Values that hold themselves, NaN and halves of pairs are data."""
    watch = ThreadWatch()
    watch.extend(calls(("f", holding_itself(), float("nan")), ("\ud83d", "\ude00", {1, 2})) * 4)
    watch.push(Message(type=3, text=None, meta=holding_itself()))
    assert _resumed(watch).find() == watch.find()


@pytest.mark.parametrize("size", [0, -1, True, 2.0, "512", None])
def test_window_is_refused(size: Any) -> None:
    """A window is an int of at least 1; the error names it."""
    with pytest.raises(InvalidInputError, match="window_messages"):
        ThreadWatch(size)


@pytest.mark.parametrize(
    ("use", "field"),
    [
        (lambda watch: watch.push("text"), "message: "),
        (lambda watch: watch.extend([Message.user("a"), 3]), r"messages\[1\]: "),
        (lambda watch: watch.follow([Message.user("a"), Message.user("b"), 3]), r"messages\[2\]: "),
        (lambda watch: watch.follow("ab"), "messages: "),
    ],
)
def test_no_mapping(use: Any, field: str) -> None:
    """A message that is no mapping is an error that names its place."""
    with pytest.raises(InvalidInputError, match=field):
        use(ThreadWatch())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("version", 2),
        ("version", None),
        ("window_messages", 0),
        ("length", -1),
        ("records", 5),
        ("records", "?"),
        ("records", "AAAA"),
        ("labels", "text"),
        ("text_runs", [{"units": 3}]),
        ("surplus", 1),
    ],
)
def test_damaged_snapshot(field: str, value: object) -> None:
    """A snapshot that cannot be read is an error that names the field."""
    snapshot = {**ThreadWatch().snapshot(), field: value}
    with pytest.raises((ValidationError, InvalidInputError), match=field):
        ThreadWatch.restore(snapshot)

"""Repeated activity tail: stuck tails, and healthy ones that look a little like them."""

from __future__ import annotations

from typing import Any

import pytest

from loopguard_core.errors import InvalidInputError
from loopguard_core.message import Message
from loopguard_core.thread import CycleOptions, has_repeated_activity_tail
from loopguard_core.thread.activity import ActivityTail, activity_tail

from .activities import call, calls, holding_itself

TRIGGER = Message(
    type="activity", meta={"activity": {"type": "trigger", "function": {"name": "tick"}}}
)

STUCK = {
    "four files over and over": [("read", name, name * 3) for name in "abcdabcd"],
    "equal calls": [("read", "a", "x")] * 4,
    "results without end": [("read", "a", holding_itself())] * 4,
    "one call between fillers": [
        ("sleep", 5, ""),
        ("ls", ".", "a"),
        ("sleep", 5, ""),
        ("ls", ".", "a"),
    ]
    * 2,
    "None is a value": [("read", None, None)] * 4,
    "two new results are no progress": [("poll", 1, 1), ("poll", 1, 2), *[("ls", 1, 1)] * 4],
}

HEALTHY = {
    "too short": [("read", "a", "x")] * 3,
    "different files": [("read", name, name) for name in "abcdef"],
    "polling with changing results": [("poll", "url", n) for n in range(6)],
    "progress of one call exempts the tail": [
        *[("poll", 1, n) for n in range(3)],
        *[("ls", 1, 1)] * 5,
    ],
    "a batch that says ok": [("write", n, "ok") for n in range(6)],
    "the same read after each different edit": [
        triple for n in range(4) for triple in [("edit", n, "ok"), ("read", "a", f"v{n}")]
    ],
}


@pytest.mark.parametrize("triples", STUCK.values(), ids=STUCK.keys())
def test_stuck(triples: list[tuple[str, object, object]]) -> None:
    """A tail that mostly repeats itself is found."""
    assert has_repeated_activity_tail(calls(*triples))


@pytest.mark.parametrize("triples", HEALTHY.values(), ids=HEALTHY.keys())
def test_healthy(triples: list[tuple[str, object, object]]) -> None:
    """A tail that gets somewhere is not."""
    assert not has_repeated_activity_tail(calls(*triples))


@pytest.mark.parametrize(
    "last",
    [
        Message.bot("done"),
        Message(type="activity", meta={"activity": {"type": "response"}}),
        Message(type="activity", meta=None),
        Message(type="activity", meta=[holding_itself()]),
    ],
)
def test_tail_ends_at_what_is_no_readable_activity(last: Message) -> None:
    """Nothing before such a message counts."""
    assert not has_repeated_activity_tail([*calls(*STUCK["equal calls"]), last])


def test_triggers_count_in_the_length_only() -> None:
    """Triggers are entries, but neither inputs nor outputs."""
    assert not has_repeated_activity_tail([TRIGGER] * 20)
    assert has_repeated_activity_tail([TRIGGER, *calls(*STUCK["equal calls"])])


def test_a_response_follows_its_request_directly_to_be_progress() -> None:
    """With a message in between, the changing results do not exempt the tail."""
    polled = [call("poll", 1, n) for n in (1, 2, 3)]
    split = [m for request, response in polled for m in (request, TRIGGER, response)]
    stuck = calls(*STUCK["equal calls"]) * 2
    assert has_repeated_activity_tail([*split, *stuck])
    assert not has_repeated_activity_tail([*[m for pair in polled for m in pair], *stuck])


def test_options_do_not_count() -> None:
    """The options of the other heuristics change nothing here."""
    options = CycleOptions(min_repetitions=100, min_result_repetitions=100)
    assert has_repeated_activity_tail(calls(*STUCK["equal calls"]), options)


def test_no_mapping() -> None:
    """A message that is no mapping is an error that names its place."""
    thread: list[Any] = [[("type", "activity")], TRIGGER]
    with pytest.raises(InvalidInputError, match=r"messages\[0\]"):
        has_repeated_activity_tail(thread)


@pytest.mark.parametrize("triples", [*STUCK.values(), *HEALTHY.values()])
def test_dropping_the_oldest_undoes_adding_it(triples: list[tuple[str, object, object]]) -> None:
    """A tail that lost its oldest entries says what a tail says that never had them."""
    noise = calls(("poll", 1, 1), ("poll", 1, 2), ("poll", 1, 3), ("ls", "a", "x"))
    tail = activity_tail([*noise, *calls(*triples)])
    for left in range(len(noise) - 1, -1, -1):
        tail.drop_oldest()
        fresh = activity_tail([*noise[len(noise) - left :], *calls(*triples)])
        assert (tail.is_cyclic, len(tail)) == (fresh.is_cyclic, len(fresh))


def test_empty_tail() -> None:
    """Nothing is no cycle."""
    assert not ActivityTail().is_cyclic


def test_absent_and_none_are_two_entries() -> None:
    """In the tail an absent argument is its own thing, although results compare them as equal."""
    absent = Message(
        type="activity",
        meta={"activity": {"type": "response", "function": {"name": "f", "result": 1}}},
    )
    none = Message.tool_response("f", None, 1)
    one, other = (activity_tail([m])._entries[0] for m in (absent, none))
    assert one != other
    assert one.call == other.call

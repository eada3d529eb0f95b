"""Repeated result run: what breaks a run, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from loopguard_core.errors import InvalidInputError
from loopguard_core.message import Message
from loopguard_core.thread import CycleOptions, has_repeated_result_run

from .activities import call, calls, holding_itself

SAME = ("read", {"path": "a"}, "x")
NAN = float("nan")


def _streaming(name: str) -> Message:
    function = {"name": name, "arguments": {"path": "a"}}
    return Message(type="activity", meta={"activity": {"type": "response", "function": function}})


BETWEEN = {
    "nothing": [],
    "talk": [Message.user("go on"), Message.reasoning("hm"), Message.bot("again")],
    "a request": [Message.tool_request("ls", {})],
    "a response that still streams": [_streaming("read")],
    "a notice": call("_cycleDetected", {}, "stop"),
    "an unreadable activity": [Message(type="activity", meta={"activity": 3})],
}

HEALTHY = {
    "two": [SAME] * 2,
    "other arguments": [("read", {"path": name}, "x") for name in "abc"],
    "other results": [("read", {"path": "a"}, n) for n in range(3)],
    "another tool in between": [SAME, SAME, ("ls", {}, ""), SAME],
    "an object and a string": [SAME, SAME, ("read", '{"path": "a"}', "x")],
    "NaN and null": [("f", 1, NAN), ("f", 1, None), ("f", 1, NAN)],
    "what holds itself, and an ordinary value": [
        ("f", 1, holding_itself()),
        ("f", 1, holding_itself()),
        ("f", 1, {}),
    ],
}


@pytest.mark.parametrize("between", BETWEEN.values(), ids=BETWEEN.keys())
def test_run(between: list[Message]) -> None:
    """Three equal results are a run, whatever else stands between and behind them."""
    thread = [message for _ in range(3) for message in [*call(*SAME), *between]]
    assert has_repeated_result_run(thread)


@pytest.mark.parametrize("triples", HEALTHY.values(), ids=HEALTHY.keys())
def test_no_run(triples: list[tuple[str, object, object]]) -> None:
    """One other name, argument or result among the newest three is enough."""
    assert not has_repeated_result_run(calls(*triples))


@pytest.mark.parametrize("result", [None, "", 0, False, {}, NAN, holding_itself(), "\ud83d"])
def test_every_result_counts(result: object) -> None:
    """A result is settled by being there, whatever it is."""
    assert has_repeated_result_run(calls(*[("f", 1, result)] * 3))


def test_older_results_do_not_matter() -> None:
    """Only the newest results are looked at."""
    assert has_repeated_result_run(calls(("ls", {}, ""), SAME, SAME, SAME))


def test_absent_arguments_equal_none() -> None:
    """A response without arguments is the same as one with None."""
    function = {"name": "f", "result": 1}
    absent = Message(type="activity", meta={"activity": {"type": "response", "function": function}})
    none = Message.tool_response("f", None, 1)
    assert has_repeated_result_run([absent, none, absent])


@pytest.mark.parametrize(("wanted", "least"), [(None, 3), (1, 2), (2, 2), (4, 4)])
def test_options(wanted: int | None, least: int) -> None:
    """The number of results is an option, at least 2."""
    options = CycleOptions(min_result_repetitions=wanted)
    assert has_repeated_result_run(calls(*[SAME] * least), options)
    assert not has_repeated_result_run(calls(*[SAME] * (least - 1)), options)


def test_no_mapping() -> None:
    """A message that is no mapping is an error that names its place."""
    thread: list[Any] = [*calls(SAME), None]
    with pytest.raises(InvalidInputError, match=r"messages\[2\].*NoneType"):
        has_repeated_result_run(thread)

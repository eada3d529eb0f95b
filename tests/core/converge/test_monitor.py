"""Rules of `Monitor` beyond the conformance cases; the traps are the specification's section 9."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopguard_core.converge import ConvergeConfig, ConvergeVerdict, Monitor, Response
from loopguard_core.converge.window import MAX_ENTRIES
from loopguard_core.errors import InvalidInputError

QUIET = ConvergeVerdict()


def counts(monitor: Monitor, calls: str) -> list[int]:
    """Make one call for each letter; return the counts, 0 for what did not fire."""
    return [monitor.observe_tool_call("tool", letter).count for letter in calls]


def iterate(monitor: Monitor, calls: str) -> list[int]:
    """Make one call for each letter, each in an iteration of its own and with a new state."""
    found = []
    for letter in calls:
        state = monitor.snapshot()["iteration"]
        assert monitor.observe_iteration(f"state {state}") == QUIET
        found += counts(monitor, letter)
    return found


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("AAA", [0, 0, 3]),
        ("ABABA", [0, 0, 0, 0, 3]),
        ("AAAA", [0, 0, 3, 4]),
        ("AbcdeAghiA", [0] * 9 + [3]),
        ("ABCDEFGHIJ", [0] * 10),
        ("AABBCCDDEE", [0] * 10),
        ("AbcdeAghijA", [0] * 11),
        ("AbcdefghijAklmnopqrsA", [0] * 21),
    ],
)
def test_equal_calls_in_the_window(calls: str, expected: list[int]) -> None:
    """The third equal call of ten iterations fires, whatever lies in between."""
    assert iterate(Monitor(), calls) == expected


def test_trap_1_the_window_counts_iterations() -> None:
    """Far more than ten calls of one iteration are all inside a window of ten iterations."""
    monitor = Monitor()
    monitor.observe_iteration("state")
    assert counts(monitor, "AbcdefghijklmnA" + "opqrstuvwxyzA")[-1] == 3


def test_trap_1_iterations_without_calls_move_the_window() -> None:
    """Ten iterations that call nothing push earlier calls out of the window."""
    monitor = Monitor()
    iterate(monitor, "AA")
    for state in range(9):
        monitor.observe_iteration(f"idle {state}")
    assert counts(monitor, "A") == [0]


def test_trap_3_terminate_is_the_response() -> None:
    """Without settings, a verdict that fired asks for the end of the run."""
    monitor = Monitor(ConvergeConfig(oscillation_k=1, zero_progress_k=1, max_depth=1))
    fired = [
        monitor.observe_iteration("state"),
        monitor.observe_tool_call("tool", "A"),
        monitor.observe_depth(2),
    ]
    assert [verdict.response for verdict in fired] == [Response.TERMINATE] * 3


def test_trap_4_the_present_event_is_counted() -> None:
    """With a K of one, the first call and the first iteration fire."""
    monitor = Monitor(ConvergeConfig(oscillation_k=1, zero_progress_k=1))
    assert monitor.observe_iteration("state").count == 1
    assert monitor.observe_tool_call("tool", "A").count == 1


@pytest.mark.parametrize("response", Response)
@pytest.mark.parametrize("override", [None, *Response])
def test_trap_5_an_override_is_unset_or_stands(
    response: Response, override: Response | None
) -> None:
    """Only an unset override leaves the common response; an explicit warn stands."""
    config = ConvergeConfig(
        oscillation_k=1,
        zero_progress_k=1,
        response=response,
        oscillation_response=override,
        zero_progress_response=override,
    )
    monitor = Monitor(config)
    expected = response if override is None else override
    assert monitor.observe_iteration("state").response is expected
    assert monitor.observe_tool_call("tool", "A").response is expected


def test_an_empty_state_is_a_state() -> None:
    """The first empty hash starts a row of one; it is no sign that there is no state."""
    monitor = Monitor(ConvergeConfig(zero_progress_k=2))
    assert [monitor.observe_iteration("").count for _ in range(3)] == [0, 2, 3]


def test_a_new_state_leaves_the_window() -> None:
    """The detectors share nothing: progress of the state does not forgive equal calls."""
    assert iterate(Monitor(), "AA") == [0, 0]
    monitor = Monitor()
    counts(monitor, "AA")
    monitor.observe_iteration("new")
    assert counts(monitor, "A") == [3]


def test_tool_and_arguments_do_not_run_together() -> None:
    """A signature is a pair: moving a character between its halves makes another one."""
    monitor = Monitor(ConvergeConfig(oscillation_k=2))
    pairs = [("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc"), ("1:a", "b"), ("1", ":ab")]
    assert [monitor.observe_tool_call(*pair) for pair in pairs] == [QUIET] * 6


@pytest.mark.parametrize(
    ("max_depth", "depth", "count"), [(0, 99, 0), (3, 0, 0), (3, 3, 0), (3, 4, 4), (3, -1, 0)]
)
def test_depth_must_exceed_the_limit(max_depth: int, depth: int, count: int) -> None:
    """Depth fires above the limit, at the limit not yet, and without a limit never."""
    verdict = Monitor(ConvergeConfig(max_depth=max_depth)).observe_depth(depth)
    assert (verdict.fired, verdict.count) == (count > 0, count)


def test_depth_has_no_override() -> None:
    """Depth answers with the common response, whatever the others have of their own."""
    config = ConvergeConfig(
        max_depth=1, response="redirect", oscillation_response="warn", zero_progress_response="warn"
    )
    assert Monitor(config).observe_depth(2).response is Response.REDIRECT


def test_a_reason_says_what_repeated_and_how_often() -> None:
    """A reason names detector, tool, count and window, and cuts an endless tool name."""
    monitor = Monitor()
    iterate(monitor, "AA")
    reason = monitor.observe_tool_call("tool", "A").reason
    assert all(word in reason for word in ("oscillation", "'tool'", "3 times", "10 iterations"))
    endless = Monitor(ConvergeConfig(oscillation_k=1)).observe_tool_call("x" * 10**6, "A")
    assert len(endless.reason) < 250


def test_nothing_fired_is_empty() -> None:
    """A verdict that did not fire is empty in every field."""
    verdict = Monitor().observe_tool_call("tool", "A")
    assert (verdict.fired, verdict.detector, verdict.reason) == (False, "", "")
    assert (verdict.count, verdict.response) == (0, None)


@pytest.mark.parametrize(
    ("method", "arguments", "field"),
    [
        ("observe_iteration", (None,), "state_hash"),
        ("observe_iteration", (b"state",), "state_hash"),
        ("observe_tool_call", (None, "A"), "tool"),
        ("observe_tool_call", ("tool", {"q": 1}), "arguments_hash"),
        ("observe_depth", ("2",), "depth"),
        ("observe_depth", (True,), "depth"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(
    method: str, arguments: tuple[Any, ...], field: str
) -> None:
    """What is no string or int is the caller's error; the monitor stays as it was."""
    monitor = Monitor()
    before = monitor.snapshot()
    with pytest.raises(InvalidInputError, match=field):
        getattr(monitor, method)(*arguments)
    assert monitor.snapshot() == before


def test_without_iterations_the_window_is_bounded() -> None:
    """A host that reports no iteration compares a call with the 256 different ones before it."""
    monitor = Monitor(ConvergeConfig(oscillation_k=2))
    monitor.observe_tool_call("tool", "first")
    for number in range(MAX_ENTRIES - 1):
        assert monitor.observe_tool_call("tool", f"{number}") == QUIET
    assert monitor.observe_tool_call("tool", "first").count == 2
    monitor.observe_tool_call("tool", "pushes the oldest out")
    assert monitor.observe_tool_call("tool", "0") == QUIET


def test_a_call_that_repeats_outlives_the_bound() -> None:
    """The bound drops what was called longest ago, so a loop among many calls is still found."""
    monitor = Monitor()
    for number in range(3 * MAX_ENTRIES):
        monitor.observe_tool_call("tool", f"{number}")
        if number % 50 == 0:
            last = monitor.observe_tool_call("tool", "again")
    assert last.count == 16


def test_a_long_run_stays_small() -> None:
    """Many calls, long names and long hashes keep the snapshot below 10 kB."""
    monitor = Monitor(ConvergeConfig(oscillation_window=10**9))
    for number in range(5000):
        if number % 50 == 0:
            monitor.observe_iteration("state " * 1000)
        monitor.observe_tool_call("tool" * 1000, f"{number}" * 100)
    assert len(json.dumps(monitor.snapshot())) < 10_000


def test_a_forgotten_call_is_counted_from_the_start() -> None:
    """Other calls keep their counts, and the name and the arguments must both be the call's."""
    monitor = Monitor()
    for _ in range(2):
        monitor.observe_tool_call("a", "x")
        monitor.observe_tool_call("b", "x")
    monitor.forget_tool_call("a", "x")
    monitor.forget_tool_call("a", "y")
    assert not monitor.observe_tool_call("a", "x").fired
    assert monitor.observe_tool_call("b", "x").count == 3

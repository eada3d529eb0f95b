"""Listeners hear of every verdict that has findings, and can do no harm."""

from __future__ import annotations

import logging

import pytest

from loopguard_core import (
    Action,
    LoggingListener,
    LoopGuard,
    Message,
    Policy,
    VerdictEvent,
)


def stuck(guard: LoopGuard, calls: int = 4) -> None:
    """Make the same call again and again."""
    run = guard.start_run("r1")
    thread = [Message.user("Go.")]
    for number in range(calls):
        run.check_thread(thread)
        run.check_call("read", {}, str(number))
        thread.append(Message.tool_request("read", {}, str(number)))
        thread.append(Message.tool_response("read", {}, "text", str(number)))
        run.observe_result("read", {}, "text", call_id=str(number))


def test_a_listener_hears_of_findings_and_of_nothing_else() -> None:
    """Three quiet steps make no event, the fourth makes one."""
    events: list[VerdictEvent] = []
    stuck(LoopGuard(listeners=(events.append,)))
    assert [(e.run_id, e.kind, e.verdict.action) for e in events] == [
        ("r1", "thread", Action.NUDGE)
    ]


def test_an_observing_guard_tells_its_listeners() -> None:
    """That is what `Policy.observe()` is for."""
    events: list[VerdictEvent] = []
    stuck(LoopGuard(policy=Policy.observe(), listeners=(events.append,)), calls=10)
    assert {event.verdict.action for event in events} == {Action.ALLOW}
    assert {"thread", "call"} <= {event.kind for event in events}


def test_a_listener_that_raises_is_logged_and_the_others_still_hear(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A listener's fault never reaches the agent."""
    heard: list[VerdictEvent] = []

    def broken(_event: VerdictEvent) -> None:
        raise RuntimeError("broken listener")

    stuck(LoopGuard(listeners=(broken, heard.append)))
    assert len(heard) == 1
    assert "broken listener" in caplog.text


@pytest.mark.parametrize(
    ("policy", "level"), [(Policy(), logging.INFO), (Policy(on_warn=Action.HALT), logging.WARNING)]
)
def test_the_logging_listener_writes_one_line(
    policy: Policy, level: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Nudges are news; what stops something is a warning."""
    caplog.set_level(logging.DEBUG, "loopguard")
    stuck(LoopGuard(policy=policy, listeners=(LoggingListener(),)))
    (record,) = caplog.records
    assert record.levelno == level
    assert "thread.repeated_suffix" in record.message
    assert "r1" in record.message

"""A saved run is shown to the guard in the order in which an adapter would have asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from loopguard_core.guard import Action
from loopguard_core.report import scan_run

from .scripted import ScriptedGuard, bot, calls, result, run_of, user, verdict

if TYPE_CHECKING:
    from loopguard_core.guard import Verdict

BLOCK, HALT = verdict(Action.BLOCK), verdict(Action.HALT)


def events(*messages: dict[str, Any], script: dict[str, Verdict] | None = None) -> list[str]:
    """Replay *messages*; return what the guard was asked."""
    guard = ScriptedGuard(script)
    scan_run(run_of(*messages), guard.as_guard())
    return guard.events


def test_the_order_of_one_step() -> None:
    """Thread, reply, all calls, then the results as they came."""
    asked = events(
        {"role": "system", "content": "be kind"},
        user(),
        calls("a", "b", text="look"),
        result("b", "two"),
        result("a", "one"),
        bot("fine", reasoning="hmm"),
    )
    assert asked == [
        "turn 1",
        "thread 2",
        "content look",
        "done",
        "call a",
        "call b",
        "result b two",
        "result a one",
        "thread 7",
        "reasoning hmm",
        "content fine",
        "done",
    ]


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        ("Please go on.", 2),
        ("My observation is that it fails", 2),
        ("Observations: it fails", 2),
        ("Observation: nothing found", 1),
        ("OBSERVATION:\nok", 1),
        ("\nObservation 3: ok", 1),
    ],
)
def test_who_begins_a_turn(text: str, turns: int) -> None:
    """A person's message is a turn; what a text agent's environment says is none."""
    assert len([e for e in events(user(), bot("x"), user(text)) if e.startswith("turn")]) == turns


def test_a_blocked_call_has_no_result() -> None:
    """The guard is not shown the result of a call that it would have refused."""
    asked = events(user(), calls("a", "b"), result("a"), result("b"), script={"call a": BLOCK})
    assert asked[-4:] == ["call a", "call b", "result b ok", "thread 5"]


def test_a_result_without_a_call_is_not_shown() -> None:
    """A result that answers nothing belongs to no call that was checked."""
    assert events(user(), result("a")) == ["turn 0", "thread 2"]


@pytest.mark.parametrize(
    "event", ["thread 1", "call a", "result a ok"], ids=["thread", "call", "result"]
)
def test_a_halt_ends_the_replay(event: str) -> None:
    """Nothing is asked after the halt, for the run would have been over."""
    asked = events(user(), calls("a"), result("a"), bot("more"), script={event: HALT})
    assert asked[-1] == event


@pytest.mark.parametrize(
    ("last", "asked"),
    [(result("a"), "thread 3"), (user("and?"), "thread 3"), (bot("done"), "done")],
    ids=["result", "person", "reply"],
)
def test_the_end_of_a_file(last: dict[str, Any], asked: str) -> None:
    """A run that was broken off would have called the model next; a finished one would not."""
    assert events(user(), calls("a"), last)[-1] == asked


def test_a_run_that_ends_with_a_call_is_not_asked_about() -> None:
    """The tool has not answered, so the model would not have been called yet."""
    assert events(user(), calls("a"))[-1] == "call a"


def test_a_cut_reply_calls_nothing() -> None:
    """After a cut the guard is told so, and the calls of that reply never happen."""
    script = {"content la la": HALT, "cut": verdict(Action.NUDGE)}
    asked = events(user(), calls("a", text="la la"), result("a"), bot("x"), script=script)
    assert asked == ["turn 0", "thread 1", "content la la", "cut", "thread 4", "content x", "done"]


def test_one_cut_too_many_ends_the_replay() -> None:
    """The guard may halt the run at a cut."""
    script = {"content la": HALT, "cut 2": verdict(Action.HALT, "cuts")}
    asked = events(*[bot("la")] * 4, script=script)
    assert asked == ["thread 0", "content la", "cut", "thread 1", "content la", "cut"]


def test_a_finding_without_a_cut_goes_on() -> None:
    """A policy that only observes lets the reply end by itself."""
    seen = verdict(Action.ALLOW)
    assert events(calls("a", text="la"), script={"content la": seen})[-2:] == ["done", "call a"]


def test_a_long_text_is_streamed() -> None:
    """A text comes in pieces, which joined are the text."""
    text = "one two three, " * 9
    pieces = [event for event in events(bot(text)) if event.startswith("content ")]
    assert len(pieces) > 8
    assert "".join(piece.removeprefix("content ") for piece in pieces) == text

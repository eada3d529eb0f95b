"""How the heuristics read an activity: without what the policy leaves out, and our notes."""

from __future__ import annotations

import pytest

from loopguard_core import Message, Policy, ToolRule
from loopguard_core.guard.guidance import append_guidance, block_text, nudge_text
from loopguard_core.guard.reading import ActivityReading
from loopguard_core.guard.verdict import Finding
from loopguard_core.message import Activity, activity_of

FINDING = (Finding("thread.repeated_suffix", "warn", 3, "The last messages repeat."),)
POLICY = Policy(
    tools={"poll": ToolRule(exempt=True), "read": ToolRule(ignore_arguments=("request",))}
)
READ = ActivityReading(POLICY)


def _said(message: Message) -> Activity:
    activity = activity_of(message)
    assert activity is not None
    return activity


@pytest.mark.parametrize(
    "message",
    [
        Message.tool_request("write", {"request": 1}, "c"),
        Message.tool_response("write", {}, "text", "c"),
        Message.tool_response("write", {}, {"no": "text"}, "c"),
        Message.tool_response("write", {}, "", "c"),
    ],
)
def test_what_has_nothing_to_leave_out_is_the_same_object(message: Message) -> None:
    """Most activities are read as they are, without a copy."""
    activity = _said(message)
    assert READ(activity) is activity


def test_exempt_tools_are_passed_over() -> None:
    """Neither their calls nor their results are evidence."""
    assert READ(_said(Message.tool_request("poll", {}, "c"))) is None
    assert READ(_said(Message.tool_response("poll", {}, "running", "c"))) is None


def test_ignored_arguments_are_left_out() -> None:
    """In the call and in its response, which carries the call's arguments."""
    for message in (
        Message.tool_request("read", {"path": "a", "request": 1}),
        Message.tool_response("read", {"path": "a", "request": 1}, "text"),
    ):
        activity = _said(message)
        assert READ(activity) == activity._replace(arguments={"path": "a"})


def test_a_note_behind_a_result_is_left_out() -> None:
    """The result is what the tool said."""
    noted = append_guidance("text", nudge_text(FINDING))
    plain = _said(Message.tool_response("write", {}, "text", "c"))
    assert READ(_said(Message.tool_response("write", {}, noted, "c"))) == plain


def test_the_answer_to_a_blocked_call_is_passed_over() -> None:
    """It is ours, and no evidence of anything."""
    assert READ(_said(Message.tool_response("write", {}, block_text(FINDING), "c"))) is None

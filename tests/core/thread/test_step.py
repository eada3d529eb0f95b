"""`StepReader`: what a watch recognises a message by."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.message import ABSENT, Message
from loopguard_core.thread.identity import message_key
from loopguard_core.thread.options import cycle_limits
from loopguard_core.thread.step import StepReader

READER = StepReader(cycle_limits(None), None)
VALUES = st.sampled_from([ABSENT, None, "", {}, {"n": 1}, {"n": 1.0}])
FEW = st.sampled_from([{}, {"x": None}, {"x": 1}])


@st.composite
def activities(draw: st.DrawFn) -> Message:
    """Draw a tool message, also with something beside what every tool message has."""
    function = {"arguments": draw(VALUES), "result": draw(VALUES)}
    given_values = {key: value for key, value in function.items() if value is not ABSENT}
    named = {"name": draw(st.sampled_from("ab")), **given_values, **draw(FEW)}
    kind = draw(st.sampled_from(["request", "response", "trigger"]))
    meta = {"activity": {"type": kind, "function": named, **draw(FEW)}, **draw(FEW)}
    return Message(type="activity", text=draw(st.sampled_from(["", "x"])), meta=meta)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(activities(), activities())
def test_two_activities_have_one_key_if_they_are_the_same_message(a: Message, b: Message) -> None:
    """The short way over the activity and the long way over the message agree."""
    assert (READER.key(a) == READER.key(b)) == (message_key(a) == message_key(b))


@settings(derandomize=True, max_examples=100, deadline=None)
@given(activities())
def test_the_key_is_that_of_the_step(message: Message) -> None:
    """A message is recognised by the key that was kept of it."""
    assert READER.key(message) == READER.step(message).record.key


def test_an_absent_value_differs_from_none() -> None:
    """Also where nothing else does: the entry's `call` alone would not tell."""
    absent = Message(type="activity", meta={"activity": {"type": "x", "function": {"name": "a"}}})
    function = {"name": "a", "arguments": None}
    none = Message(type="activity", meta={"activity": {"type": "x", "function": function}})
    first, second = READER.step(absent).record, READER.step(none).record
    assert first.entry is not None
    assert second.entry is not None
    assert first.entry.call == second.entry.call
    assert first.key != second.key

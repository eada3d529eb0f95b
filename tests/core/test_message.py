"""The neutral message: a map whose unknown keys survive, and what is read of it."""

from __future__ import annotations

import pytest

from loopguard_core import InvalidInputError, Message
from loopguard_core.message import (
    ABSENT,
    Activity,
    activity_of,
    as_message,
    as_messages,
    text_of,
    type_of,
)


@pytest.mark.parametrize(
    ("message", "kind", "text"),
    [
        (Message.user("a"), "user", "a"),
        (Message.bot("b"), "bot", "b"),
        (Message.reasoning("c"), "reasoning", "c"),
        (Message.system("d"), "system", "d"),
        (Message(type=3, text=None), "", ""),
        (Message(), "", ""),
    ],
)
def test_type_and_text_are_strings(message: Message, kind: str, text: str) -> None:
    """What is absent or no string reads as empty."""
    assert (message.type, message.text) == (kind, text)
    assert (type_of(dict(message)), text_of(dict(message))) == (kind, text)


@pytest.mark.parametrize(
    ("message", "meta", "has_meta"),
    [
        (Message(meta={"a": 1}), {"a": 1}, True),
        (Message(meta=None), None, True),
        (Message(meta=[1]), None, True),
        (Message(), None, False),
    ],
)
def test_meta_is_a_mapping_or_nothing(message: Message, meta: object, has_meta: bool) -> None:
    """A meta that is no mapping is there all the same."""
    assert message.meta == meta
    assert message.has_meta is has_meta


class Own(Message):
    """A class of an adapter's own."""


def test_a_clone_keeps_the_class_and_shares_the_values() -> None:
    """The copy is shallow, so that a native object travels along untouched."""
    native = object()
    message = Own(type="user", native=native, meta={"a": [1]})
    clone = message.clone()
    assert type(clone) is Own
    assert clone == message
    assert clone is not message
    assert clone["native"] is native
    assert clone["meta"] is message["meta"]


def test_a_request_and_its_response_carry_the_call() -> None:
    """Ids and error flags are top-level keys: they make no two messages different."""
    request = Message.tool_request("read", {"p": 1}, "c1")
    response = Message.tool_response("read", {"p": 1}, "text", "c1", is_error=True)
    assert activity_of(request) == Activity("request", "read", {"p": 1}, ABSENT)
    assert activity_of(response) == Activity("response", "read", {"p": 1}, "text")
    assert (request["call_id"], response["call_id"], response["is_error"]) == ("c1", "c1", True)
    assert "call_id" not in Message.tool_request("read", {})
    assert "is_error" not in Message.tool_response("read", {}, "text")
    assert request.meta == Message.tool_request("read", {"p": 1}, "c2").meta


@pytest.mark.parametrize(
    "message",
    [
        {"type": "user", "meta": {"activity": {"type": "request", "function": {"name": "a"}}}},
        {"type": "activity"},
        {"type": "activity", "meta": [1]},
        {"type": "activity", "meta": {"activity": None}},
        {"type": "activity", "meta": {"activity": {"type": "request", "function": ["name"]}}},
        {"type": "activity", "meta": {"activity": {"type": 1, "function": {"name": "a"}}}},
        {"type": "activity", "meta": {"activity": {"type": "request", "function": {"name": 1}}}},
    ],
)
def test_what_is_no_readable_activity_reads_as_none(message: dict[str, object]) -> None:
    """Every part has to be of its type; nothing raises."""
    assert activity_of(message) is None


def test_absent_is_not_none() -> None:
    """A result that is None is settled, one that is absent still streams."""
    function = {"name": "a", "arguments": None, "result": None}
    message = {"type": "activity", "meta": {"activity": {"type": "x", "function": function}}}
    assert activity_of(message) == Activity("x", "a", None, None)
    del function["result"], function["arguments"]
    assert activity_of(message) == Activity("x", "a", ABSENT, ABSENT)


@pytest.mark.parametrize("value", [None, "text", 3, ["type"]])
def test_what_is_no_mapping_is_refused_by_name(value: object) -> None:
    """The error names the element."""
    with pytest.raises(InvalidInputError, match=r"messages\[7\]"):
        as_message(value, field="messages[7]")


@pytest.mark.parametrize("value", [None, "text", b"x", {"type": "user"}, 3])
def test_what_is_no_sequence_is_refused(value: object) -> None:
    """A string is a sequence, but of no messages."""
    with pytest.raises(InvalidInputError, match="messages"):
        as_messages(value)

"""OpenAI chat messages become neutral ones, and lead back to where they came from."""

from __future__ import annotations

from typing import Any

import pytest

from loopguard_core.errors import InvalidInputError
from loopguard_core.message import ABSENT, Message, activity_of
from loopguard_core.transcripts import chars_of, index_of, to_messages


def call(
    call_id: str | None, name: object = "search", arguments: object = '{"q": 1}'
) -> dict[str, Any]:
    """Write a call as a saved run has it."""
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def asks(*calls: dict[str, Any]) -> dict[str, Any]:
    """Write an assistant message that only calls tools."""
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def answers(call_id: str | None, content: object, **more: object) -> dict[str, Any]:
    """Write a tool's answer."""
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


def said(messages: list[Message]) -> list[tuple[str, str]]:
    """Return type and text of each message."""
    return [(message.type, message.text) for message in messages]


@pytest.mark.parametrize(
    ("saved", "expected"),
    [
        ({"role": "user", "content": "hi"}, [("user", "hi")]),
        ({"role": "system", "content": "be kind"}, [("system", "be kind")]),
        ({"role": "developer", "content": "be kind"}, [("system", "be kind")]),
        ({"role": "assistant", "content": "yes"}, [("bot", "yes")]),
        ({"role": "assistant", "content": None}, [("bot", "")]),
        ({"role": "assistant"}, [("bot", "")]),
        ({"role": "critic", "content": "hm"}, [("critic", "hm")]),
        ({"role": "tool", "content": "lost"}, [("tool", "lost")]),
        (
            {"role": "assistant", "reasoning_content": "why", "content": "so"},
            [("reasoning", "why"), ("bot", "so")],
        ),
        ({"role": "assistant", "reasoning": "why", "content": ""}, [("reasoning", "why")]),
        ({"role": "assistant", "reasoning": {"effort": 1}, "content": "so"}, [("bot", "so")]),
        ({"role": "assistant", "content": None, "refusal": "no"}, [("bot", "no")]),
        (
            {"role": "user", "content": [{"type": "text", "text": "a"}, "b"]},
            [("user", "ab")],
        ),
        ({**asks(call("1")), "content": "wait"}, [("bot", "wait"), ("activity", "")]),
        (asks(call("1"), call("2")), [("activity", ""), ("activity", "")]),
    ],
    ids=str,
)
def test_roles(saved: dict[str, object], expected: list[tuple[str, str]]) -> None:
    """Each message becomes what the model produced: reasoning, text, calls, in this order."""
    assert said(to_messages([saved])) == expected


def test_parts_that_are_no_text_make_another_message() -> None:
    """Two messages with the same words and different images are different."""
    image = {"type": "image_url", "image_url": {"url": "x"}}
    [message] = to_messages([{"role": "user", "content": [{"type": "text", "text": "a"}, image]}])
    assert message.meta == {"parts": [image]}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('{"q": 1}', {"q": 1}),
        ("[1]", [1]),
        ("{broken", "{broken"),
        ("", ""),
        ({"q": 1}, {"q": 1}),
        (None, None),
        ("[" * 100_000, "[" * 100_000),
        ("9" * 5_000, "9" * 5_000),
    ],
    ids=["object", "list", "broken", "empty", "already-read", "null", "too-deep", "too-long"],
)
def test_arguments(written: object, read: object) -> None:
    """Arguments are read where they are JSON, and stay the string they are where not."""
    [request] = to_messages([asks(call("1", arguments=written))])
    activity = activity_of(request)
    assert activity is not None
    assert (activity.type, activity.arguments, activity.result) == ("request", read, ABSENT)


def test_an_answer_carries_its_call() -> None:
    """A result has the name and the arguments of the call with its id, in any order."""
    saved = [asks(call("1", "a"), call("2", "b", "{}")), answers("2", "two"), answers("1", "one")]
    two, one = (activity_of(message) for message in to_messages(saved)[2:])
    assert two == ("response", "b", {}, "two")
    assert one == ("response", "a", {"q": 1}, "one")


@pytest.mark.parametrize(
    ("saved", "names"),
    [
        ([asks(call("1", "a")), asks(call("2", "b")), answers("1", "x")], ["a"]),
        ([asks(call("1", "a")), answers("1", "x"), answers("1", "y")], ["a", "a"]),
        ([asks(call("1", "a")), asks(call("1", "b")), answers("1", "x")], ["b"]),
        ([asks(call("1", "a"), call("1", "b")), answers("1", "x"), answers("1", "y")], ["a", "b"]),
        ([asks(call(None, "a"), call(None, "b")), answers(None, "x", name="b")], ["b"]),
        ([asks(call(None, "a"), call(None, "b")), answers(None, "x")], ["a"]),
        ([asks(call(None, "a")), answers("7", "x")], ["a"]),
        ([asks(call("1", "a")), answers("", "x")], ["a"]),
        ([asks(call("1", "a")), answers("2", "x")], [None]),
        ([answers("1", "x"), asks(call("1", "a"))], [None]),
        ([asks(call("1", "a")), answers(None, "x", name="b")], [None]),
    ],
    ids=[
        "late",
        "twice",
        "id-counted-from-the-start-again",
        "one-id-for-two-calls",
        "no-ids-but-a-name",
        "no-ids",
        "only-the-answer-has-an-id",
        "empty-id",
        "unknown-id",
        "answer-first",
        "another-name",
    ],
)
def test_which_call_is_answered(saved: list[object], names: list[str | None]) -> None:
    """An answer finds its call by id, else by position; one without a call is only text."""
    found = [m for m in to_messages(saved) if m.type == "tool" or _is_response(m)]
    activities = [activity_of(message) for message in found]
    assert [None if a is None else a.name for a in activities] == names


def _is_response(message: Message) -> bool:
    activity = activity_of(message)
    return activity is not None and activity.type == "response"


def test_call_ids_are_unique_in_a_run() -> None:
    """A guard that is told of two calls never takes them for one."""
    saved = [asks(call("1"), call("1"), call(None)), answers("1", "x"), asks(call("1"), call(None))]
    requests = [m for m in to_messages(saved) if not _is_response(m)]
    assert len({message["call_id"] for message in requests}) == 5
    assert requests[0]["call_id"] == "1"


def test_the_older_function_call() -> None:
    """A function call and the role function are a call and its answer."""
    saved = [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "done"},
    ]
    request, response = to_messages(saved)
    assert activity_of(request) == ("request", "f", {}, ABSENT)
    assert activity_of(response) == ("response", "f", {}, "done")
    assert request["call_id"] == response["call_id"]


def test_a_custom_call_has_an_input() -> None:
    """A custom tool takes free text, which is kept as it is where it is not JSON."""
    custom = {"id": "1", "type": "custom", "custom": {"name": "shell", "input": "ls -l"}}
    [request] = to_messages([asks(custom)])
    assert activity_of(request) == ("request", "shell", "ls -l", ABSENT)


def test_a_result_with_other_parts_is_kept_whole() -> None:
    """A result that is not only text is compared with all its parts."""
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}]
    response = to_messages([asks(call("1")), answers("1", parts)])[1]
    activity = activity_of(response)
    assert activity is not None
    assert activity.result == parts


def test_the_way_back_to_the_file() -> None:
    """Every neutral message says which saved one it is from, and how long it is there."""
    saved = [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "ok", "reasoning": "hmm", "tool_calls": [call("1")]},
        answers("1", "found"),
    ]
    messages = to_messages(saved)
    assert [index_of(message) for message in messages] == [0, 1, 1, 1, 2]
    assert [chars_of(message) for message in messages] == [5, 3, 2, len("search") + 8, 5]


@pytest.mark.parametrize(
    ("saved", "place"),
    [
        ("text", "messages[0]"),
        (None, "messages[0]"),
        ({"content": "x"}, "messages[0].role"),
        ({"role": 3}, "messages[0].role"),
        ({"role": "user", "content": 3}, "messages[0].content"),
        ({"role": "user", "content": {"text": "x"}}, "messages[0].content"),
        ({"role": "user", "content": [3]}, "messages[0].content[0]"),
        ({"role": "assistant", "tool_calls": {}}, "messages[0].tool_calls"),
        ({"role": "assistant", "tool_calls": ["x"]}, "messages[0].tool_calls[0]"),
        ({"role": "assistant", "tool_calls": [{}]}, "messages[0].tool_calls[0].function"),
        (asks(call("1", name=None)), "messages[0].tool_calls[0].function.name"),
        ({"role": "assistant", "function_call": "f"}, "messages[0].function_call"),
    ],
    ids=str,
)
def test_wrong_types_are_named(saved: object, place: str) -> None:
    """A field that the format does not allow is an error that names it."""
    with pytest.raises(InvalidInputError) as caught:
        to_messages([saved])
    assert caught.value.field == place


def test_the_saved_messages_are_not_changed() -> None:
    """Converting leaves its input as it was."""
    saved = [asks(call("1")), answers("1", [{"type": "image_url"}])]
    before = repr(saved)
    to_messages(saved)
    assert repr(saved) == before

"""Items as neutral messages: every kind, dicts and openai's models alike."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import pytest
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputItem,
    ResponseOutputMessage,
    ResponseOutputText,
)
from openai.types.responses.response_input_item_param import ResponseInputItemParam

from loopguard_core import Message
from loopguard_core.guard.guidance import append_guidance
from loopguard_core.message import activity_of
from loopguard_openai_agents._convert import NATIVE, NeutralThread

CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a": 1}'}
NOTED = append_guidance("text", "[loopguard] Look again. [/loopguard]")
TEXT = {"type": "input_text", "text": "look: "}
IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}


def read(*items: Any, as_sent: bool = False) -> list[Message]:
    """Return the neutral reading of *items*, without what they were made from."""
    thread = NeutralThread(items, as_sent=as_sent)
    return [Message({k: v for k, v in m.items() if k != NATIVE}) for m in thread]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"role": "user", "content": "hi"}, Message.user("hi")),
        ({"role": "user", "content": [TEXT, TEXT]}, Message.user("look: look: ")),
        ({"role": "system", "content": "be brief"}, Message.system("be brief")),
        ({"role": "developer", "content": "be brief"}, Message.system("be brief")),
        ({"role": "assistant", "content": "hi"}, Message.bot("hi")),
        (
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "refusal", "refusal": "no"}],
            },
            Message.bot("no"),
        ),
        (
            {
                "type": "reasoning",
                "id": "r",
                "summary": [{"type": "summary_text", "text": "so "}],
                "content": [{"type": "reasoning_text", "text": "it is"}],
            },
            Message.reasoning("so it is"),
        ),
        (CALL, Message.tool_request("f", {"a": 1}, "c")),
        ({**CALL, "arguments": "{broken"}, Message.tool_request("f", "{broken", "c")),
        ({**CALL, "arguments": ""}, Message.tool_request("f", {}, "c")),
        (
            {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "free text"},
            Message.tool_request("f", "free text", "c"),
        ),
        (
            {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
            Message.tool_request("shell_call", {"commands": ["ls"]}, "c"),
        ),
        (
            {"type": "web_search_call", "id": "w", "action": {"query": "x"}, "status": "completed"},
            Message.tool_request("web_search_call", {"query": "x"}, "w") | {"hosted": True},
        ),
        (
            {"type": "mcp_call", "id": "m", "name": "f", "arguments": "{}", "error": "lost"},
            Message.tool_response("f", {}, "lost", "m", is_error=True) | {"hosted": True},
        ),
    ],
    ids=lambda value: str(value.get("type")) if isinstance(value, dict) else None,
)
def test_an_item_is_one_neutral_message(item: Any, expected: Message) -> None:
    """The positions of both threads are the same, and the item comes along untouched."""
    assert read(item) == [expected]
    assert NeutralThread([item])[0][NATIVE] is item


def test_a_result_carries_its_call() -> None:
    """The nearest earlier call of that id is meant, because ids come again."""
    other = {**CALL, "name": "g", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "found"}
    assert read(CALL, output, other, output)[1::2] == [
        Message.tool_response("f", {"a": 1}, "found", "c"),
        Message.tool_response("g", {}, "found", "c"),
    ]
    assert read(output) == [Message.tool_response("", None, "found", "c")]


def test_content_that_is_no_text_differs_where_it_differs() -> None:
    """A picture stands as a digest, in messages and in results."""
    other = {**IMAGE, "image_url": "data:image/png;base64,BBBB"}
    first, same, second = read(
        *[{"role": "user", "content": [TEXT, picture]} for picture in (IMAGE, IMAGE, other)]
    )
    assert first == same != second
    assert first["blocks"] == ["input_image"]
    one, two = (
        read({"type": "function_call_output", "call_id": "c", "output": [TEXT, p]})[0]
        for p in (IMAGE, other)
    )
    assert one != two


def test_notes_are_read_by_whoever_prices_and_by_nobody_who_compares() -> None:
    """What is told to a model is no part of what a person or a model said."""
    item = {"role": "user", "content": NOTED}
    assert read(item) == [Message.user("text")]
    assert read(item, as_sent=True) == [Message.user(NOTED)]


def test_arguments_are_priced_as_the_text_that_is_sent() -> None:
    """Nothing is parsed and written again in order to be priced; what is no text is read."""
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{ "a": 1 }'}
    assert read(call) == [Message.tool_request("f", {"a": 1}, "c")]
    assert read(call, as_sent=True) == [Message.tool_request("f", '{ "a": 1 }', "c")]
    shell = {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}}
    assert read(shell) == read(shell, as_sent=True)


def test_what_a_model_just_said_reads_as_it_will_when_it_comes_back() -> None:
    """A reply is openai's models, an input dicts: the same reply is the same either way."""
    call = ResponseFunctionToolCall(
        id="i", call_id="c", name="f", arguments='{"a": 1}', type="function_call"
    )
    text = ResponseOutputText(text="hi", type="output_text", annotations=[])
    said = ResponseOutputMessage(
        id="m", content=[text], role="assistant", status="completed", type="message"
    )
    assert read(said, call) == read(
        said.model_dump(exclude_unset=True), call.model_dump(exclude_unset=True)
    )


def named(hint: Any) -> set[str]:
    """Return the strings that a type hint allows."""
    inner = get_args(hint)
    return {x for x in inner if isinstance(x, str)}.union(*map(named, inner))


KINDS = sorted(
    set().union(
        *(named(get_type_hints(m).get("type")) for m in get_args(ResponseInputItemParam)),
        *(
            named(m.model_fields["type"].annotation)
            for m in get_args(get_args(ResponseOutputItem)[0])
        ),
    )
)
"""Every type of item that the installed openai package knows."""


def test_all_kinds_are_known() -> None:
    """The two unions of openai's package were really read."""
    assert {"message", "function_call", "program", "item_reference", "compaction"} <= set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("as_sent", [True, False])
def test_every_kind_of_item_can_be_read(kind: str, as_sent: bool) -> None:
    """None raises, and none is a call or a result that the pairing of calls does not know."""
    item = {"type": kind, "id": "i", "call_id": "c", "role": "assistant"}
    (message,) = read(item, as_sent=as_sent)
    is_call = kind.endswith("_call")
    is_output = kind.endswith("_call_output")
    if not as_sent:
        assert (activity_of(message) is not None) == (is_call or is_output)


@pytest.mark.parametrize("broken", [None, 7, "text", {}, {"type": 3}, {"type": "function_call"}])
def test_nothing_that_stands_in_a_thread_raises(broken: Any) -> None:
    """What a model or a provider wrote is data."""
    assert len(read(broken)) == 1
    assert len(read({"role": "user", "content": broken})) == 1
    assert len(read({"type": "function_call_output", "call_id": "c", "output": broken})) == 1


def test_a_slice_and_a_shorter_view_are_read_as_the_whole_is() -> None:
    """Sequences of any part of the thread agree."""
    items = [CALL, {"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    thread = NeutralThread(items)
    assert thread[1:] == list(thread)[1:]
    assert thread[-1] == list(thread)[-1]
    assert list(NeutralThread(items, stop=2)) == list(thread)[:2]
    with pytest.raises(IndexError):
        _ = thread[3]


def test_a_thread_that_grew_is_not_read_again_unless_it_changed() -> None:
    """The reading of one step ago helps the next one, where the item is equal."""
    before = NeutralThread([CALL, {"role": "user", "content": "a"}])
    first, second = list(before)
    after = NeutralThread([dict(CALL), {"role": "user", "content": "b"}], before=before)
    assert after[0] is first
    assert after[1] == {**second, "text": "b", NATIVE: {"role": "user", "content": "b"}}

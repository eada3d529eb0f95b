"""LlamaIndex's messages read as neutral ones: what is the same, and what is counted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from llama_index.core.base.llms.types import (
    AudioBlock,
    CacheControl,
    CachePoint,
    ChatMessage,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.llms.llm import ToolSelection

from loopguard_core.message import activity_of
from loopguard_llamaindex._content import result_of
from loopguard_llamaindex._convert import NATIVE, NeutralThread

from .scripted import call, reply

if TYPE_CHECKING:
    from loopguard_core import Message


def read(*messages: ChatMessage, as_sent: bool = False) -> list[Message]:
    """Return the neutral reading of *messages*."""
    return [*NeutralThread(messages, as_sent=as_sent)]


def result(call_id: str | None, text: str) -> ChatMessage:
    """Return a tool's answer."""
    beside = {} if call_id is None else {"tool_call_id": call_id}
    return ChatMessage(role="tool", content=text, additional_kwargs=beside)


@pytest.mark.parametrize(
    ("role", "kind"),
    [
        ("user", "user"),
        ("system", "system"),
        ("developer", "system"),
        ("assistant", "bot"),
        ("chatbot", "bot"),
        ("model", "bot"),
    ],
)
def test_roles(role: str, kind: str) -> None:
    """Each role has its neutral type, and the native message comes along."""
    message = ChatMessage(role=role, content="x")
    (part,) = read(message)
    assert (part.type, part.text) == (kind, "x")
    assert part[NATIVE] is message


def test_a_reply_is_thinking_text_and_calls_in_order() -> None:
    """The parts of one message know that they belong together."""
    parts = read(reply("So.", call("a", "1", x=1), call("b", "2"), thinking="Hm."))
    assert [p.type for p in parts] == ["reasoning", "bot", "activity", "activity"]
    assert {p["group"] for p in parts} == {0}
    assert [p.get("call_id") for p in parts[2:]] == ["1", "2"]


def test_a_reply_that_says_nothing_is_one_message() -> None:
    """So that a thread of empty replies has a length."""
    assert [p.type for p in read(reply(""))] == ["bot"]


def test_texts_are_joined_as_the_framework_joins_them() -> None:
    """By line breaks, as `ChatMessage.content` does."""
    message = ChatMessage(role="assistant", blocks=[TextBlock(text="a"), TextBlock(text="b")])
    assert read(message)[0].text == message.content == "a\nb"


SPELLINGS: dict[str, Any] = {
    "openai-dict": {"id": "1", "function": {"name": "a", "arguments": '{"x": 1}'}},
    "openai-object": SimpleNamespace(
        id="1", function=SimpleNamespace(name="a", arguments='{"x": 1}')
    ),
    "selection": ToolSelection(tool_id="1", tool_name="a", tool_kwargs={"x": 1}),
    "google": SimpleNamespace(id="1", name="a", args={"x": 1}),
    "anthropic": {"id": "1", "name": "a", "input": {"x": 1}},
}


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_calls_in_every_spelling_are_the_same_call(spelling: Any) -> None:
    """Integrations keep calls in blocks or beside the message, as objects of their own."""
    beside = ChatMessage.model_construct(
        role="assistant", blocks=[], additional_kwargs={"tool_calls": [spelling]}
    )
    assert read(beside)[0]["meta"] == read(reply("", call("a", "1", x=1)))[0]["meta"]


def test_arguments_that_are_no_json_stay_text() -> None:
    """A call that was cut off is data, too."""
    block = ToolCallBlock(tool_call_id="1", tool_name="a", tool_kwargs='{"x": ')
    activity = activity_of(read(ChatMessage(role="assistant", blocks=[block]))[0])
    assert activity is not None
    assert activity.arguments == '{"x": '


def test_a_result_has_the_name_and_arguments_of_its_call() -> None:
    """The message stores neither; the nearest earlier call with its id has them."""
    parts = read(
        reply("", call("old", "1", x=1)),
        result("1", "a"),
        reply("", call("new", "1", x=2)),
        result("1", "b"),
        result("2", "c"),
        result(None, "d"),
    )
    activities = [a for p in parts if (a := activity_of(p)) and a.type == "response"]
    assert [(a.name, a.arguments) for a in activities] == [
        ("old", {"x": 1}),
        ("new", {"x": 2}),
        ("", None),
        ("", None),
    ]


def test_notes_are_read_only_where_they_are_priced() -> None:
    """A result with a note behind it is the same result, and costs more."""
    noted = result("1", "text\n\n[loopguard] Look. [/loopguard]")
    compared, sent = (activity_of(read(noted, as_sent=flag)[0]) for flag in (False, True))
    assert compared is not None
    assert sent is not None
    assert (compared.result, sent.result) == ("text", noted.content)


def test_what_is_no_text_differs_where_it_differs() -> None:
    """Two pictures are two results; the same picture twice is one."""
    one, other = ImageBlock(image=b"GIF89a1"), ImageBlock(image=b"GIF89a2")
    assert result_of([TextBlock(text="x"), one]) == result_of([TextBlock(text="x"), one])
    assert result_of([TextBlock(text="x"), one]) != result_of([TextBlock(text="x"), other])
    parts = read(ChatMessage(role="user", blocks=[one, AudioBlock(audio=b"RIFF")]))
    assert parts[0]["blocks"] == ["image", "audio"]


def test_marks_for_the_provider_say_nothing() -> None:
    """A cache point makes no message another one."""
    mark = CachePoint(cache_control=CacheControl(type="ephemeral"))
    marked = ChatMessage(role="user", blocks=[TextBlock(text="x"), mark])
    assert read(marked)[0].get("meta") is None


def test_a_view_knows_its_size_and_pins_without_reading() -> None:
    """Sizes agree with parts, for every kind of message; pins are positions."""
    messages = [
        ChatMessage(role="user", content="x", additional_kwargs={"loopguard_pinned": True}),
        reply("So.", call("a", "1"), thinking="Hm."),
        result("1", "r"),
        reply(""),
        ChatMessage(role="assistant", blocks=[ImageBlock(image=b"GIF89a")]),
        ChatMessage(role="assistant", blocks=[ThinkingBlock(content="Hm.")]),
    ]
    view = NeutralThread(messages)
    assert len(view) == len([*view]) == 1 + 3 + 1 + 1 + 1 + 1
    assert [*view.pins] == [0]
    assert view[-1].type == "reasoning"
    assert [p.type for p in view[1:4]] == ["reasoning", "bot", "activity"]

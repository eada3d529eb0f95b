"""LangChain messages read as neutral ones: what each kind becomes, and that nothing is missed."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import langchain_core.messages as lc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages import content as lc_content

from loopguard_core.guard.guidance import append_guidance
from loopguard_core.message import activity_of
from loopguard_langchain._content import read_content
from loopguard_langchain._convert import NATIVE, NeutralThread, result_of

from .scripted import reply, tool_call

NOTE = "[loopguard] Try something else. [/loopguard]"

MESSAGE_KINDS = {
    "AIMessage": "bot",
    "AIMessageChunk": "bot",
    "HumanMessage": "user",
    "HumanMessageChunk": "user",
    "SystemMessage": "system",
    "SystemMessageChunk": "system",
    "ToolMessage": "activity",
    "ToolMessageChunk": "activity",
    "ChatMessage": "other",
    "ChatMessageChunk": "other",
    "FunctionMessage": "other",
    "FunctionMessageChunk": "other",
    "RemoveMessage": "other",
}
ABSTRACT = {"BaseMessage", "BaseMessageChunk"}

BLOCK_KINDS = {
    "text": "text",
    "refusal": "text",
    "reasoning": "reasoning",
    "tool_call": "elsewhere",
    "tool_call_chunk": "elsewhere",
    "invalid_tool_call": "elsewhere",
    "server_tool_call": "hosted",
    "server_tool_call_chunk": "hosted",
    "server_tool_result": "hosted",
    "image": "blocks",
    "audio": "blocks",
    "video": "blocks",
    "file": "blocks",
    "text-plain": "blocks",
    "non_standard": "blocks",
}
FILLED = {"text": "t", "refusal": "t", "reasoning": "t", "name": "n", "args": {}, "id": "1"}


def make(name: str) -> BaseMessage:
    """Build a message of the class called *name*."""
    extra = {"ToolMessage": {"tool_call_id": "1"}, "ChatMessage": {"role": "critic"}}
    extra["FunctionMessage"] = {"name": "f"}
    if name == "RemoveMessage":
        return RemoveMessage(id="1")
    return getattr(lc, name)(content="x", **extra.get(name.removesuffix("Chunk"), {}))


def neutral(*messages: BaseMessage) -> list[Any]:
    """Convert whole."""
    return list(NeutralThread(messages))


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in lc.__all__
        if isinstance(getattr(lc, name), type) and issubclass(getattr(lc, name), BaseMessage)
    ],
)
def test_every_message_class_of_langchain_is_mapped(name: str) -> None:
    """A class that a new release adds fails here by its name until somebody decides on it."""
    if name not in ABSTRACT:
        assert [m.type for m in neutral(make(name))] == [MESSAGE_KINDS[name]]


def test_every_content_block_type_of_langchain_is_mapped() -> None:
    """A block type that a new release adds fails here by its name."""
    literals = {
        get_args(get_type_hints(block)["type"])[0] for block in get_args(lc_content.ContentBlock)
    }
    for kind in sorted(literals | lc_content.KNOWN_BLOCK_TYPES):
        content = read_content([{"type": kind, **FILLED}])
        found = [k for k in ("text", "reasoning", "hosted", "blocks") if getattr(content, k)]
        assert (found or ["elsewhere"]) == [BLOCK_KINDS[kind]], kind


def test_one_message_gives_reasoning_text_and_each_call_in_that_order() -> None:
    """Every part carries the very native object and says that it belongs to the others."""
    native = reply("Let me look.", tool_call("a", {"x": 1}, "1"), tool_call("b"), reasoning="Hm.")
    parts = neutral(HumanMessage("hi"), native)[1:]
    assert [(p.type, p.text) for p in parts] == [
        ("reasoning", "Hm."),
        ("bot", "Let me look."),
        ("activity", ""),
        ("activity", ""),
    ]
    assert [activity_of(p)[:3] for p in parts[2:]] == [
        ("request", "a", {"x": 1}),
        ("request", "b", {}),
    ]
    assert parts[2]["call_id"] == "1"
    assert all(p[NATIVE] is native and p["group"] == 1 for p in parts)


def test_a_call_without_text_has_no_bot_part_and_an_empty_message_has_one() -> None:
    """Every native message gives at least one part, so that none gets lost."""
    assert [m.type for m in neutral(reply("", tool_call("a")), reply(""))] == ["activity", "bot"]


def test_a_result_carries_its_call() -> None:
    """Name and arguments come from the call with its id."""
    call = reply("", tool_call("a", {"x": 1}, "1"))
    response = neutral(call, ToolMessage("found", tool_call_id="1"))[-1]
    assert activity_of(response) == ("response", "a", {"x": 1}, "found")
    assert response["call_id"] == "1"
    assert "is_error" not in response


def test_an_id_that_is_used_again_means_the_nearest_call_before() -> None:
    """Some providers number the calls of each turn from one."""
    first, second = (reply("", tool_call("a", {"x": x}, "1")) for x in (1, 2))
    answer = ToolMessage("r", tool_call_id="1")
    results = neutral(first, answer, second, answer)
    assert [activity_of(m).arguments for m in results] == [{"x": 1}, {"x": 1}, {"x": 2}, {"x": 2}]


def test_a_result_without_a_call_keeps_the_name_it_has() -> None:
    """The rest of the thread may have been summarised away."""
    orphans = neutral(
        ToolMessage("r", tool_call_id="1", name="a"), ToolMessage("r", tool_call_id="2")
    )
    assert [activity_of(m)[:3] for m in orphans] == [
        ("response", "a", None),
        ("response", "", None),
    ]


def test_a_failed_tool_is_marked_beside_the_identity() -> None:
    """`is_error` does not make two results different."""
    ok, failed = neutral(
        ToolMessage("r", tool_call_id="1"), ToolMessage("r", tool_call_id="1", status="error")
    )
    assert failed["is_error"] is True
    assert ok.meta == failed.meta


def test_a_call_that_could_not_be_parsed_stays_the_text_it_was() -> None:
    """LangChain answers such calls itself; the answer finds the call too."""
    broken = {"name": "a", "args": '{"x": ', "id": "1", "error": "bad", "type": "invalid_tool_call"}
    native = AIMessage("", invalid_tool_calls=[broken])
    request, response = neutral(native, ToolMessage("no", tool_call_id="1", status="error"))
    assert request.meta == {
        "activity": {
            "type": "request",
            "function": {"name": "a", "arguments": '{"x": '},
            "error": "bad",
        }
    }
    assert request["call_id"] == "1"
    assert activity_of(response)[:3] == ("response", "a", '{"x": ')


@pytest.mark.parametrize(
    ("call", "result"),
    [
        (
            {"type": "server_tool_call", "name": "web", "args": {"q": 1}, "id": "s"},
            {"type": "server_tool_result", "tool_call_id": "s", "status": "error", "output": "r"},
        ),
        (
            {"type": "server_tool_use", "name": "web", "input": {"q": 1}, "id": "s"},
            {
                "type": "web_search_tool_result",
                "tool_use_id": "s",
                "content": "r",
                "is_error": True,
            },
        ),
    ],
    ids=["standard", "anthropic"],
)
def test_what_the_provider_executes_is_a_hosted_call(
    call: dict[str, Any], result: dict[str, Any]
) -> None:
    """It is seen as a call and its answer, and marked as nothing a guard could block."""
    text = {"type": "text", "text": "Found."}
    bot, request, response = neutral(AIMessage([call, result, text]))
    assert bot.text == "Found."
    assert activity_of(request)[:3] == ("request", "web", {"q": 1})
    assert activity_of(response) == ("response", "web", {"q": 1}, "r")
    assert response["is_error"] is True
    assert request["hosted"] is response["hosted"] is True
    assert request["call_id"] == response["call_id"] == "s"


@pytest.mark.parametrize(
    "native",
    [
        reply("Hi", reasoning="Hm."),
        AIMessage("Hi", additional_kwargs={"reasoning": {"summary": [{"text": "Hm."}]}}),
        AIMessage([{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "Hi"}]),
        AIMessage([{"type": "reasoning", "summary": [{"text": "Hm."}]}, "Hi"]),
        AIMessage([{"type": "thinking", "thinking": "Hm.", "signature": "s"}, "Hi"]),
        AIMessage([{"type": "reasoning_content", "reasoning_content": {"text": "Hm."}}, "Hi"]),
    ],
    ids=["deepseek", "openai-old", "standard", "openai", "anthropic", "bedrock"],
)
def test_reasoning_is_found_wherever_a_provider_puts_it(native: AIMessage) -> None:
    """Its text is a part of its own, before the reply."""
    assert [(m.type, m.text) for m in neutral(native)] == [("reasoning", "Hm."), ("bot", "Hi")]


@pytest.mark.parametrize(
    "native",
    [
        AIMessage([{"type": "refusal", "refusal": "No."}]),
        AIMessage("", additional_kwargs={"refusal": "No."}),
    ],
    ids=["block", "beside"],
)
def test_a_refusal_is_the_text_of_the_reply(native: AIMessage) -> None:
    """And meta says that it is one."""
    (message,) = neutral(native)
    assert (message.text, message.meta) == ("No.", {"refusal": True})


def image(data: str, block_id: str) -> dict[str, str]:
    """Return an image block; LangChain makes a new id for each."""
    return {"type": "image", "base64": data, "mime_type": "image/png", "id": block_id}


def test_other_content_makes_messages_different_by_its_data_alone() -> None:
    """The same picture under another id is the same; neither picture is copied into `meta`."""
    text = {"type": "text", "text": "See"}
    same, again, other = neutral(
        *(HumanMessage([text, image(data, i)]) for data, i in [("A", "1"), ("A", "2"), ("B", "3")])
    )
    assert same.meta == again.meta != other.meta
    assert (same.text, same["blocks"]) == ("See", ["image"])
    assert "base64" not in str(same.meta)


def test_a_result_with_pictures_differs_where_they_do() -> None:
    """A tool that takes screenshots makes progress as long as the screen changes."""
    first, again, other = (
        result_of(ToolMessage(["Screen:", image(data, i)], tool_call_id="1"))
        for data, i in [("A", "1"), ("A", "2"), ("B", "3")]
    )
    assert first == again != other


@pytest.mark.parametrize(
    "content",
    [
        append_guidance("found", NOTE),
        [{"type": "text", "text": "found"}, {"type": "text", "text": append_guidance("", NOTE)}],
    ],
    ids=["text", "blocks"],
)
def test_a_result_is_compared_without_the_note_behind_it(content: Any) -> None:
    """What a guard appended must not make an equal result look new."""
    assert result_of(ToolMessage(content, tool_call_id="1")) == "found"
    assert activity_of(neutral(ToolMessage(content, tool_call_id="1"))[0]).result == "found"


def test_texts_are_compared_without_notes_too() -> None:
    """A cut reply may carry one."""
    assert neutral(AIMessage(append_guidance("Hi", NOTE)))[0].text == "Hi"


def test_speakers_and_roles_make_messages_different() -> None:
    """Two people who both say ok have not repeated each other."""
    ann, bob = neutral(HumanMessage("ok", name="ann"), HumanMessage("ok", name="bob"))
    assert ann.meta != bob.meta
    assert neutral(ChatMessage("ok", role="critic"))[0].meta == {"role": "critic"}


def test_ids_are_no_part_of_what_makes_messages_the_same() -> None:
    """A loop comes with new message ids and new call ids every time."""
    one, two = (reply("", tool_call("a", {"x": 1}, i)).model_copy(update={"id": i}) for i in "12")
    assert neutral(one)[0].meta == neutral(two)[0].meta


def test_a_pin_is_read_from_additional_kwargs() -> None:
    """Only True pins; all parts of a pinned message are pinned."""
    pinned = AIMessage("x", additional_kwargs={"loopguard_pinned": True, "reasoning_content": "r"})
    assert [m.get("pinned") for m in neutral(pinned)] == [True, True]
    assert "pinned" not in neutral(HumanMessage("x", additional_kwargs={"loopguard_pinned": 1}))[0]


def test_usage_stands_on_the_first_part_alone() -> None:
    """The provider counts a message once, however many parts it has here."""
    usage = {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}
    native = AIMessage("x", usage_metadata=usage, additional_kwargs={"reasoning_content": "r"})
    assert [m.get("usage") for m in neutral(native)] == [usage, None]


@pytest.mark.parametrize(
    "content",
    [None, 7, [None], [[]], [{}], [{"type": 3}], [{"type": "text"}], [{"type": "text", "text": 1}]],
    ids=str,
)
@pytest.mark.parametrize("kind", ["AIMessage", "HumanMessage", "ToolMessage", "ChatMessage"])
def test_unexpected_content_is_no_error(kind: str, content: Any) -> None:
    """What a provider or a tool sends is data; the message keeps its place in the thread."""
    native = make(kind)
    native.content = content
    view = NeutralThread([native])
    assert len(view) == len(list(view)) == 1


def test_reasoning_that_contains_itself_is_no_error() -> None:
    """The walk through nested reasoning is bounded."""
    block: dict[str, Any] = {"type": "reasoning", "summary": []}
    block["summary"].append(block)
    assert len(neutral(AIMessage([block]))) == 1


NATIVES = st.sampled_from(
    [
        HumanMessage("hi"),
        SystemMessage("rules"),
        reply(""),
        reply("text"),
        reply("", tool_call("a", {}, "1"), tool_call("b", {}, "2")),
        reply("text", tool_call("a", {}, "3"), reasoning="r"),
        AIMessage([{"type": "reasoning", "reasoning": ""}, {"type": "tool_use", "id": "1"}]),
        AIMessage([{"type": "server_tool_call", "name": "n", "args": {}, "id": "s"}]),
        AIMessage([image("A", "1")], additional_kwargs={"refusal": "No."}),
        ToolMessage("r", tool_call_id="1"),
        ToolMessage("r", tool_call_id="3"),
    ]
)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.lists(NATIVES, max_size=12), st.data())
def test_a_view_reads_like_the_list_it_stands_for(natives: list[BaseMessage], data: Any) -> None:
    """Length, indices, slices and iteration agree, from either end."""
    view, whole = NeutralThread(natives), neutral(*natives)
    assert len(view) == len(whole)
    assert [view[i] for i in range(-len(whole), len(whole))] == whole + whole
    part = data.draw(st.slices(len(whole))) if whole else slice(None)
    assert view[part] == whole[part]
    with pytest.raises(IndexError):
        view[len(whole)]


def test_reading_the_end_does_not_convert_the_rest() -> None:
    """A step costs what it reads: of a long thread only sizes are looked at."""
    digested = []

    class Image(dict[str, Any]):
        def items(self) -> Any:  # read when its data is digested
            digested.append(self["base64"])
            return super().items()

    natives = [HumanMessage([]) for _ in range(5)]
    for number, native in enumerate(natives):
        native.content = [Image(image(str(number), "1"))]
    view = NeutralThread(natives)
    assert (len(view), digested) == (5, [])
    assert view[-1].type == "user"
    assert digested == ["4"]

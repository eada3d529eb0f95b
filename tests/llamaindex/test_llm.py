"""`GuardedLLM`: every endpoint is passed on, and a reply that goes round ends where it does."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.tools import FunctionTool

from loopguard_core import LoopGuard, Policy
from loopguard_llamaindex import GuardedLLM
from loopguard_llamaindex._reply import WatchedReply
from tests.drivers import Ear

from .harness import CIRCLE, DONE, Reader, model, plain
from .scripted import ScriptedModel, call, reply

HELLO = [ChatMessage(role="user", content="Hello.")]
CIRCLING = reply("It is large. " + CIRCLE)
TOOLS = [FunctionTool.from_defaults(Reader().read, name="read")]


def guarded(*script: Any, **policy: Any) -> GuardedLLM:
    """Return a guarded model that follows a script."""
    return GuardedLLM(llm=model(*script), guard=LoopGuard(policy=Policy(**policy)))


def inner(llm: GuardedLLM) -> ScriptedModel:
    """Return the model inside."""
    assert isinstance(llm.llm, ScriptedModel)
    return llm.llm


async def every_reply(llm: GuardedLLM) -> dict[str, Any]:
    """Ask through every endpoint; return the last thing that each of them gave."""
    replies: dict[str, Any] = {
        "chat": llm.chat(HELLO),
        "achat": await llm.achat(HELLO),
        "chat_with_tools": llm.chat_with_tools(TOOLS, chat_history=HELLO),
        "achat_with_tools": await llm.achat_with_tools(TOOLS, chat_history=HELLO),
        "complete": llm.complete("Hello."),
        "acomplete": await llm.acomplete("Hello."),
        "stream_chat": [*llm.stream_chat(HELLO)][-1],
        "stream_with_tools": [*llm.stream_chat_with_tools(TOOLS, chat_history=HELLO)][-1],
        "stream_complete": [*llm.stream_complete("Hello.")][-1],
    }
    for name, chunks in {
        "astream_chat": await llm.astream_chat(HELLO),
        "astream_with_tools": await llm.astream_chat_with_tools(TOOLS, chat_history=HELLO),
        "astream_complete": await llm.astream_complete("Hello."),
    }.items():
        replies[name] = [chunk async for chunk in chunks][-1]
    return replies


def text_of(said: Any) -> str:
    """Return what a reply says."""
    return (said.message.content or "") if isinstance(said, ChatResponse) else said.text


async def test_every_endpoint_passes_a_healthy_reply_on() -> None:
    """The guard changes nothing about a reply that does not go round."""
    for name, said in (await every_reply(guarded(DONE))).items():
        assert text_of(said) == "Done.", name


async def test_every_endpoint_ends_a_reply_where_it_goes_round() -> None:
    """What was said before stays, and the rest is not read."""
    for name, said in (await every_reply(guarded(CIRCLING))).items():
        assert text_of(said).startswith("It is large."), name
        assert len(text_of(said)) < len(CIRCLE) / 2, name


async def test_a_cut_stream_takes_no_more_from_the_model() -> None:
    """The stream is closed, so a provider stops too."""
    llm = guarded(CIRCLING)
    _ = [chunk async for chunk in await llm.astream_chat(HELLO)]
    assert inner(llm).streamed[-1] < len(CIRCLE) / inner(llm).piece_chars / 2


async def test_thinking_that_goes_round_is_cut() -> None:
    """Thinking is watched like text; a reply that streams says nothing then."""
    llm = guarded(reply("So.", thinking=CIRCLE))
    chunks = [chunk async for chunk in await llm.astream_chat(HELLO)]
    assert text_of(chunks[-1]) == ""
    assert len(chunks) < len(CIRCLE) / 8


@pytest.mark.parametrize("is_signed", [False, True])
def test_what_follows_thinking_that_went_round_is_kept(*, is_signed: bool) -> None:
    """A reply that came at once has its answer; its thinking is shortened, or left out if signed."""
    message = reply("So.", call("look", "c"), thinking=CIRCLE)
    if is_signed:
        message.blocks[0].additional_information = {"signature": "s"}
    said = guarded(message).chat(HELLO).message
    thoughts = [block.content for block in said.blocks if isinstance(block, ThinkingBlock)]
    assert said.content == "So."
    assert [b.tool_name for b in said.blocks if isinstance(b, ToolCallBlock)] == ["look"]
    assert len(thoughts) == (not is_signed)
    assert all(thought and len(thought) < len(CIRCLE) / 4 for thought in thoughts)


async def test_an_unguarded_agent_goes_on_with_what_was_said() -> None:
    """The run ends with the text up to the cut, and the reply's calls are not made."""
    reader = Reader()
    llm = guarded(reply("It is large. " + CIRCLE, call("read", path="a")))
    for streaming in (True, False):
        runner = plain(tools=[reader.tool], streaming=streaming)
        runner.llm = llm
        assert str(await runner.run("Read.")).startswith("It is large.")
    assert reader.ran == 0


async def test_an_observing_guard_lets_everything_through() -> None:
    """It only tells its listeners."""
    ear = Ear()
    llm = GuardedLLM(llm=model(CIRCLING), guard=ear.on(LoopGuard(policy=Policy.observe())))
    assert text_of(llm.chat(HELLO)) == text_of(ChatResponse(message=CIRCLING))
    assert ear.events


def test_it_says_about_itself_what_the_model_says() -> None:
    """Agents ask whether a model can call functions, and how much it takes."""
    llm = guarded(DONE)
    assert llm.metadata == inner(llm).metadata
    assert llm.class_name() == "GuardedLLM"
    response = ChatResponse(message=reply("", call("read", "c1", path="a")))
    assert [c.tool_id for c in llm.get_tool_calls_from_response(response)] == ["c1"]


def test_a_guarded_model_is_not_guarded_twice() -> None:
    """An agent that gets a guarded model keeps it, with its own guard."""
    llm = guarded(DONE)
    assert GuardedLLM.around(llm, LoopGuard()) is llm


def test_what_is_not_passed_on_says_so() -> None:
    """Nobody prepares the inner model's requests but itself."""
    with pytest.raises(NotImplementedError, match="the model inside"):
        guarded(DONE)._prepare_chat_with_tools(TOOLS)


def watched(guard: LoopGuard | None = None) -> WatchedReply:
    """Return the watch of a reply."""
    return WatchedReply((guard or LoopGuard()).start_run().watch_reply())


def chunk(text: str, delta: str | None, *blocks: Any, **beside: Any) -> ChatResponse:
    """Return a chunk of a stream."""
    said: list[Any] = [TextBlock(text=text)] if text else []
    message = ChatMessage(role="assistant", blocks=[*said, *blocks])
    return ChatResponse(message=message, delta=delta, additional_kwargs=beside)


@pytest.mark.parametrize("with_delta", [True, False])
def test_chunks_are_read_with_or_without_a_delta(with_delta: bool) -> None:
    """Integrations leave out the delta, or what was said so far."""
    whole = "It is large. " + CIRCLE
    pieces = [whole[start : start + 8] for start in range(0, len(whole), 8)]
    chunks = [
        chunk("" if with_delta else whole[: 8 * (n + 1)], piece if with_delta else None)
        for n, piece in enumerate(pieces)
    ]
    kept = [*watched().stream(part for part in chunks)]
    assert len(kept) < len(chunks)


def test_arguments_that_go_round_take_their_call_with_them() -> None:
    """A call whose arguments were cut is broken, so it is not passed on."""
    written = '{"text": "' + "I will check the file once more to be sure. " * 200
    pieces = range(40, len(written), 40)
    chunks = [
        chunk("", "", ToolCallBlock(tool_call_id="c", tool_name="write", tool_kwargs=written[:n]))
        for n in pieces
    ]
    kept = [*watched().stream(part for part in chunks)]
    if len(kept) < len(chunks):  # whether arguments are judged is the core's affair
        assert all(not isinstance(block, ToolCallBlock) for block in kept[-1].message.blocks)


def test_a_cut_reply_keeps_what_is_no_text_and_no_call() -> None:
    """Calls in the old spelling go as well; other settings of the message stay."""
    message = reply("It is large. " + CIRCLE).model_copy(
        update={"additional_kwargs": {"tool_calls": [{"id": "c"}], "kept": 1}}
    )
    said = watched().whole(ChatResponse(message=message))
    assert said.message.additional_kwargs == {"kept": 1}

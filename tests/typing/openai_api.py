"""What a user without a framework writes around streams; the type checker has to accept it."""

# ruff: noqa: T201 - user code prints

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import assert_type

from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletionChunk

from loopguard_core import LoopGuard, WatchedStream, guard_astream, guard_stream, watch_client

guard = LoopGuard()


def plain(pieces: Iterator[str]) -> str:
    """Strings need no reader."""
    watch = guard.start_run().watch_reply()
    text = "".join(guard_stream(pieces, watch))
    return text[: watch.keep_chars]


def said(chunk: ChatCompletionChunk) -> Iterator[tuple[str, str | None]]:
    """Name the channels of a chunk."""
    for choice in chunk.choices:
        yield "content", choice.delta.content
        for call in choice.delta.tool_calls or ():
            yield f"tool:{call.index}", call.function.arguments if call.function else None


async def own_kind(chunks: AsyncIterator[ChatCompletionChunk]) -> None:
    """Pieces of any kind keep their type."""
    watch = guard.start_run().watch_reply()
    async with aclosing(guard_astream(chunks, watch, text=said)) as guarded:
        async for chunk in guarded:
            assert_type(chunk, ChatCompletionChunk)
    print(watch.finding)


async def clients() -> None:
    """A watched client has the type of the client, so chunks and events have theirs."""
    client = watch_client(OpenAI(), guard=guard)
    assert_type(client, OpenAI)
    stream = client.chat.completions.create(model="m", messages=[], stream=True)
    for chunk in stream:
        assert_type(chunk, ChatCompletionChunk)
    if isinstance(stream, WatchedStream):
        print(stream.finding, stream.keep_chars)
    async with watch_client(AsyncOpenAI()).responses.stream(model="m", input="Hi") as events:
        async for event in events:
            print(event.type)

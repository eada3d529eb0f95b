"""A watched client is the client in everything but its streams; errors and ends are its own."""

from __future__ import annotations

import asyncio
import copy
from types import MethodType
from typing import TYPE_CHECKING, Any

import openai
import pytest
from openai import AsyncOpenAI, AzureOpenAI, OpenAI
from openai.types.chat import ChatCompletion

from loopguard_core import InvalidInputError, WatchedStream, watch_client
from tests.scenarios import LOOPING_TEXT, REFRAIN

from .clients import CLIENTS, entered, new_client, now, read
from .protocol import call_events, chat_chunk, completion, message_events, response, said

if TYPE_CHECKING:
    from .server import Provider

both = pytest.mark.parametrize("client", CLIENTS)

CHAT: Any = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
STREAMED: Any = {**CHAT, "stream": True}
RESPONSE: Any = {"model": "m", "input": "Hi"}


@pytest.mark.parametrize("kind", [OpenAI, AsyncOpenAI])
def test_it_passes_for_the_client(kind: type[OpenAI | AsyncOpenAI]) -> None:
    """Frameworks ask for the class, and so do the types of a reader of this code."""
    client = kind(api_key="none")
    watched = watch_client(client)
    assert isinstance(watched, kind)
    assert isinstance(watched.chat.completions, type(client.chat.completions))
    assert hasattr(watched, "__aenter__") == hasattr(client, "__aenter__")
    assert hasattr(watched, "__enter__") == hasattr(client, "__enter__")
    assert not hasattr(watched, "no_such_thing")


def test_a_subclass_is_a_client() -> None:
    """The clients of other places where the models run are watched too."""
    azure = AzureOpenAI(
        api_key="none", api_version="1", azure_endpoint="https://example.com", max_retries=4
    )
    assert watch_client(azure).max_retries == 4
    assert isinstance(watch_client(azure), AzureOpenAI)


def test_what_does_not_stream_is_the_clients_own() -> None:
    """Other resources, raw answers and plain attributes are handed out as they are."""
    client = OpenAI(api_key="none")
    watched = watch_client(client)
    assert watched.api_key == "none"
    assert watched.models is client.models
    assert watched.chat.completions.with_raw_response is (client.chat.completions.with_raw_response)
    assert watched.responses.input_items is client.responses.input_items


def test_an_attribute_that_is_set_is_the_clients() -> None:
    """Whoever holds the client sees the change."""
    client = OpenAI(api_key="none")
    watch_client(client).api_key = "other"
    assert client.api_key == "other"


def test_a_copy_of_it_is_watched_and_holds_the_same_client() -> None:
    """The standard library's shallow copy works."""
    client = OpenAI(api_key="none")
    twin = copy.copy(watch_client(client))
    assert isinstance(twin, OpenAI)
    assert twin.models is client.models


@both
def test_what_is_not_streamed_is_answered_as_ever(server: Provider, client: str) -> None:
    """Completions, responses, and the answers of raw calls; a loop in them is not touched."""
    server.answer = completion(LOOPING_TEXT)

    async def answers() -> list[Any]:
        async with entered(watch_client(new_client(client, server))) as watched:
            completions = watched.chat.completions
            plain = await now(completions.create(**CHAT))
            return [plain, await now(completions.with_raw_response.create(**CHAT))]

    plain, raw = asyncio.run(answers())
    assert type(plain) is ChatCompletion
    assert plain.choices[0].message.content == LOOPING_TEXT
    assert raw.parse() == plain
    assert "stream" not in server.requests[0]


@both
def test_a_response_that_is_not_streamed_is_answered_as_ever(server: Provider, client: str) -> None:
    """`create` and `retrieve` alike."""
    server.answer = response("completed")

    async def answers() -> list[Any]:
        async with entered(watch_client(new_client(client, server))) as watched:
            responses = watched.responses
            created = await now(responses.create(**RESPONSE))
            return [created, await now(responses.retrieve("resp_1"))]

    assert [answer.status for answer in asyncio.run(answers())] == ["completed", "completed"]


@pytest.mark.parametrize("change", ["copy", "with_options", "with"])
def test_what_comes_of_a_watched_client_is_watched(server: Provider, change: str) -> None:
    """A client with other options is another client, and watched as well."""
    server.events = said(LOOPING_TEXT)
    with watch_client(new_client("sync", server)) as client:
        derived = client if change == "with" else getattr(client, change)(timeout=5)
        stream = derived.chat.completions.create(**STREAMED)
        list(stream)
        assert stream.finding is not None
        assert derived.timeout == (5 if change != "with" else 10)


def test_the_client_itself_stays_unwatched(server: Provider) -> None:
    """Nothing is patched."""
    server.events = said(LOOPING_TEXT)
    client = new_client("sync", server)
    watch_client(client)
    with client, client.chat.completions.create(**STREAMED) as stream:
        assert not isinstance(stream, WatchedStream)
        assert len(list(stream)) == len(server.events)


def test_a_stream_has_what_the_clients_stream_has(server: Provider) -> None:
    """Its class, its HTTP response, `next`, and iterating in two goes."""
    server.events = said(REFRAIN)
    with watch_client(new_client("sync", server)) as client:
        stream = client.chat.completions.create(**STREAMED)
        assert isinstance(stream, openai.Stream)
        assert isinstance(stream, WatchedStream)
        assert stream.response.status_code == 200
        first = next(stream)
        assert first.choices[0].delta.role == "assistant"
        for _ in stream:
            break
        assert len(list(stream)) == len(server.events) - 2


async def test_an_async_stream_has_what_the_clients_stream_has(server: Provider) -> None:
    """The same of the other client, at a cut too."""
    server.events = said(LOOPING_TEXT)
    async with watch_client(new_client("async", server)) as client:
        stream = await client.chat.completions.create(**STREAMED)
        assert isinstance(stream, openai.AsyncStream)
        async for _ in stream:
            pass
        assert stream.response.is_closed
        with pytest.raises(StopAsyncIteration):
            await anext(stream)


def test_a_cut_closes_the_response_before_the_last_chunk_is_read(server: Provider) -> None:
    """However slow the reader is, the model has stopped."""
    server.events = said(LOOPING_TEXT)
    with watch_client(new_client("sync", server)) as client:
        stream = client.chat.completions.create(**STREAMED)
        while stream.finding is None:
            next(stream)
        assert stream.response.is_closed
        with pytest.raises(StopIteration):
            next(stream)


@both
def test_a_reader_that_stops_early_hangs_up(server: Provider, client: str) -> None:
    """A stream that is left, as a context manager or by `close`, is closed as the client does."""
    server.events, server.endless = [chat_chunk(content="word ")], True

    async def read_one() -> None:
        async with entered(watch_client(new_client(client, server))) as watched:
            answer = await now(watched.chat.completions.create(**STREAMED))
            async with entered(answer) as stream:
                await anext(stream) if client == "async" else next(stream)
            assert await asyncio.to_thread(server.hung_up.wait, 5)

    asyncio.run(read_one())


async def test_a_reader_that_is_cancelled_hangs_up(server: Provider) -> None:
    """Cancellation passes through, and leaving the stream closes it."""
    server.events = [chat_chunk(content=f"{n} ") for n in range(3)]
    server.endless = True
    read_some = asyncio.Event()

    async def read_on() -> None:
        async with (
            watch_client(new_client("async", server)) as client,
            await client.chat.completions.create(**STREAMED) as stream,
        ):
            async for _ in stream:
                read_some.set()

    task = asyncio.create_task(read_on())
    await read_some.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(server.hung_up.wait, 5)


@both
@pytest.mark.parametrize("path", ["chat.completions.create", "chat.completions.stream"])
def test_an_error_in_the_middle_is_the_clients(server: Provider, client: str, path: str) -> None:
    """What came before it came, and the error is the one that the client alone raises."""
    request = STREAMED if path.endswith("create") else CHAT
    server.events, server.breaks_off = said(REFRAIN)[:5], True
    alone = read(client, server, path, watched=False, **request)
    seen = read(client, server, path, **request)
    assert seen.error is not None
    assert (type(seen.error), str(seen.error)) == (type(alone.error), str(alone.error))
    assert seen.shown == alone.shown


@both
def test_an_error_that_the_provider_streams_is_the_clients(server: Provider, client: str) -> None:
    """The protocol's own error event."""
    server.events = [*said(REFRAIN)[:3], {"error": {"message": "overloaded"}}]
    seen = read(client, server, "chat.completions.create", **STREAMED)
    assert isinstance(seen.error, openai.APIError)
    assert len(seen.pieces) == 3


@both
@pytest.mark.parametrize(
    "event",
    [
        {"type": "response.new_kind_of_event", "anything": 1},
        {"type": "response.output_item.done", "output_index": 0, "item": None},
    ],
    ids=["unknown", "empty"],
)
def test_events_that_nobody_knows_pass(
    server: Provider, client: str, event: dict[str, Any]
) -> None:
    """What a provider adds tomorrow, or leaves out, is no error."""
    server.events = [event, *message_events(REFRAIN)]
    seen = read(client, server, "responses.create", **RESPONSE, stream=True)
    assert len(seen.pieces) == len(server.events)
    assert seen.error is None


@both
def test_choices_without_a_delta_pass(server: Provider, client: str) -> None:
    """Some servers send them first or last, with the results of their filters."""
    odd = {**chat_chunk(), "choices": [{"index": 0, "finish_reason": None}]}
    server.events = [odd, {**odd, "choices": None}, *said("Yes.")]
    seen = read(client, server, "chat.completions.create", **STREAMED)
    assert len(seen.pieces) == len(server.events)
    assert seen.error is None


def test_streams_of_one_client_do_not_see_each_other(server: Provider) -> None:
    """The same call in each of twenty requests is no loop of any of them."""
    server.events = call_events('{"path": "a"}')
    with watch_client(new_client("sync", server)) as client:
        for _ in range(20):
            stream = client.responses.create(**RESPONSE, stream=True)
            assert len(list(stream)) == len(server.events)
            assert stream.finding is None


@pytest.mark.parametrize(
    "client", [None, "client", OpenAI, object()], ids=["none", "text", "class", "other"]
)
def test_what_is_no_client_is_refused(client: object) -> None:
    """The error names the argument and what it is."""
    with pytest.raises(InvalidInputError, match="client: expected an OpenAI or AsyncOpenAI"):
        watch_client(client)


def test_a_watched_client_is_refused() -> None:
    """Two guards on one stream would be two verdicts."""
    with pytest.raises(InvalidInputError, match="not yet watched"):
        watch_client(watch_client(OpenAI(api_key="none")))


def test_an_answer_that_is_no_stream_passes() -> None:
    """Who puts something in the place of `create` gets what it gives."""
    client = OpenAI(api_key="none")
    completions: Any = client.chat.completions
    completions.create = lambda **_: "an answer"
    assert watch_client(client).chat.completions.create(**STREAMED) == "an answer"


def test_a_helper_that_cannot_be_watched_is_refused() -> None:
    """A function that was put in its place would stream past the watch, unseen."""
    client = OpenAI(api_key="none")
    assert isinstance(client.responses.stream, MethodType)
    client.responses.stream = lambda **_: None  # type: ignore[assignment]  # a user's patch
    with pytest.raises(InvalidInputError, match="helper `stream` is a method"):
        watch_client(client).responses.stream(**RESPONSE)

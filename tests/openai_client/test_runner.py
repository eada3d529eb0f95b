"""`OpenAIRunner` against a real server: what it asks, what it reads, and when it hangs up."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from loopguard_core import InvalidInputError, watch_client
from loopguard_core.agent.chat import ChatMessage, ToolCall, ToolDefinition
from loopguard_core.agent.runner import (
    REPETITION,
    ChatOptions,
    Chunk,
    EndpointError,
    InputTooLargeError,
    OpenAIRunner,
    OpenAIRunnerConfig,
    StreamIncompleteError,
    TokenReport,
    ToolCallCutError,
)
from loopguard_core.reply import ExactConfig

from .protocol import call_chunk, calls, chat_chunk, finished, said
from .scripted_server import DONE, WAIT, Answer, ScriptedProvider, event, scripted_provider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

NewRunner = Callable[..., OpenAIRunner]

ASK = (ChatMessage(role="user", content="Hi"),)
TOOL = ToolDefinition(name="read", description="Reads.", parameters={"type": "object"})
BLOCK = "North of the old mill road to the stone, then east along the hedge. "
CUT_CALL = (
    "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] "
    "syntax error while parsing value - invalid string: missing closing quote"
)
TOO_LARGE = "the request exceeds the available context size (4096 tokens)"
SOON = {"retry_after_ms": "5"}


@pytest.fixture
def server() -> Iterator[ScriptedProvider]:
    """The provider."""
    with scripted_provider() as provider:
        yield provider


@pytest.fixture
async def new_runner(server: ScriptedProvider) -> AsyncIterator[NewRunner]:
    """Makes runners of the provider; they are closed in the end."""
    made: list[OpenAIRunner] = []

    def new(**config: Any) -> OpenAIRunner:
        made.append(_runner(server, **config))
        return made[-1]

    yield new
    for runner in made:
        await runner.aclose()


def _runner(server: ScriptedProvider, **config: Any) -> OpenAIRunner:
    settings = OpenAIRunnerConfig(**config)
    return OpenAIRunner("m", base_url=server.url, api_key="none", config=settings)


async def _read(runner: OpenAIRunner, *args: Any) -> list[Chunk]:
    return [chunk async for chunk in runner.stream(ASK, *args)]


def _text(chunks: list[Chunk]) -> str:
    return "".join(chunk.content for chunk in chunks)


def _calls(chunks: list[Chunk]) -> list[ToolCall]:
    return [chunk.call for chunk in chunks if chunk.call]


async def _hung_up(server: ScriptedProvider) -> bool:
    return await asyncio.to_thread(server.hung_up.wait, 5)


# --- what is asked


async def test_a_plain_question(server: ScriptedProvider, new_runner: NewRunner) -> None:
    """Model, messages, a stream and its usage are asked for, and nothing else."""
    server.answers.append(Answer.streamed(*said("Hello.")))
    await _read(new_runner())
    assert server.requests == [
        {
            "model": "m",
            "messages": [{"role": "user", "content": "Hi"}],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    ]


async def test_everything_that_can_be_asked(
    server: ScriptedProvider, new_runner: NewRunner
) -> None:
    """Tools, the grammar, stops, the choice and further fields go into the body."""
    server.answers.append(Answer.streamed(*said("Hello.")))
    runner = new_runner(
        include_usage=False, extra_body={"top_k": 1, "seed": 1}, trace_header="X-Trace"
    )
    options = ChatOptions(
        trace_id="thread ä",
        grammar='root ::= "a"',
        stop=("END",),
        tool_choice={"type": "function", "function": {"name": "read"}},
        extra={"temperature": 0, "seed": 2},
    )
    await _read(runner, [TOOL], options)
    body = server.requests[0]
    assert "stream_options" not in body
    assert (body["top_k"], body["seed"], body["temperature"]) == (1, 2, 0)
    assert (body["grammar"], body["stop"]) == ('root ::= "a"', ["END"])
    assert body["tools"] == [TOOL.wire()]
    assert body["tool_choice"]["function"] == {"name": "read"}
    assert server.asked_headers[0]["x-trace"] == "thread%20%C3%A4"


async def test_no_choice_without_tools(server: ScriptedProvider, new_runner: NewRunner) -> None:
    """Some endpoints refuse a choice where there is nothing to choose."""
    server.answers.append(Answer.streamed(*said("Hello.")))
    await _read(new_runner(), [], ChatOptions(tool_choice="required"))
    assert not {"tools", "tool_choice"} & set(server.requests[0])


async def test_lone_surrogates_are_sent_as_what_can_be_sent(
    server: ScriptedProvider, new_runner: NewRunner
) -> None:
    """No endpoint takes half a character; two halves that make one do."""
    server.answers.append(Answer.streamed(*said("Hello.")))
    message = ChatMessage(role="user", content="a\ud83d b\ud83d\ude00")
    assert [chunk async for chunk in new_runner().stream([message])]
    assert server.requests[0]["messages"][0]["content"] == "a\ufffd b😀"


# --- what is read


async def test_text_and_usage(server: ScriptedProvider, new_runner: NewRunner) -> None:
    """Text comes in pieces, the usage with the last event."""
    server.answers.append(Answer.streamed(*said("Hello, how can I help you today?")))
    chunks = await _read(new_runner())
    assert _text(chunks) == "Hello, how can I help you today?"
    assert [chunk.usage for chunk in chunks if chunk.usage] == [
        TokenReport(prompt=1, completion=2, total=3)
    ]
    assert [chunk.stop_reason for chunk in chunks if chunk.done] == ["stop", ""]


async def test_usage_with_the_finish(server: ScriptedProvider, new_runner: NewRunner) -> None:
    """Some servers report with the finish; the cached counts are read from both places."""
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 4},
        "cache_read_input_tokens": 5,
        "cache_creation_input_tokens": 6,
    }
    end = {**chat_chunk(finish="stop"), "usage": usage}
    server.answers.append(Answer.streamed(chat_chunk(content="Hi"), end))
    chunks = await _read(new_runner())
    report = TokenReport(prompt=9, completion=2, cached=4, cache_read=5, cache_creation=6)
    assert chunks[1] == Chunk(done=True, stop_reason="stop", usage=report)


async def test_parallel_calls_in_fragments(server: ScriptedProvider, new_runner: NewRunner) -> None:
    """Fragments are put together by index; calls come at the finish."""
    server.answers.append(Answer.streamed(*calls('{"path": "' + "a" * 40 + '"}', "{}")))
    chunks = await _read(new_runner(), [TOOL])
    assert _calls(chunks) == [
        ToolCall("call_0", "read", '{"path": "' + "a" * 40 + '"}'),
        ToolCall("call_1", "read", "{}"),
    ]


async def test_object_arguments_and_garbage(
    server: ScriptedProvider, new_runner: NewRunner
) -> None:
    """Arguments that are an object are their text; what cannot be read is skipped."""
    function = {"name": "read", "arguments": {"n": 1}}
    call = chat_chunk(tool_calls=[{"index": 0, "id": "c", "function": function}])
    garbage = (
        b"data: {nonsense\n\n",
        b"data: 7\n\n",
        b": alive\n\n",
        b"\xff\xfe\n\n",
        b"data:\n\n",
    )
    server.answers.append(
        Answer((*garbage, event(call), *map(event, finished("tool_calls")), DONE))
    )
    assert _calls(await _read(new_runner())) == [ToolCall("c", "read", '{"n": 1}')]


async def test_pieces_that_end_anywhere(server: ScriptedProvider, new_runner: NewRunner) -> None:
    """Pieces of the transport end within lines and characters; U+2028 ends no line."""
    content = "ä\u2028\u0085😀"
    raw = f'data: {{"choices": [{{"delta": {{"content": "{content}"}}}}]}}\r\n\r\n'.encode() + DONE
    server.answers.append(Answer(tuple(bytes([byte]) for byte in raw)))
    assert _text(await _read(new_runner())) == content


async def test_a_last_line_without_an_end(server: ScriptedProvider, new_runner: NewRunner) -> None:
    """It is read like the others."""
    server.answers.append(Answer((DONE.rstrip(),)))
    assert await _read(new_runner()) == [Chunk(done=True)]


async def test_an_answer_that_is_no_stream(server: ScriptedProvider, new_runner: NewRunner) -> None:
    """A page in the place of an event stream is an error, not an empty reply."""
    server.answers.append(Answer((b"<html>It works!</html>",)))
    (chunk,) = await _read(new_runner())
    assert isinstance(chunk.error, StreamIncompleteError)


# --- the connection


async def test_connections_are_used_again(server: ScriptedProvider, new_runner: NewRunner) -> None:
    """A reply that was read to the end gives its connection back."""
    server.answers.append(Answer.streamed(*said("Hello.")))
    runner = new_runner()
    for _ in range(3):
        await _read(runner)
    assert server.connections == 1


async def test_connections_are_used_again_by_who_has_read_enough(
    server: ScriptedProvider, new_runner: NewRunner
) -> None:
    """A session stops once it knows the end and the usage; what follows is read for it."""
    server.answers.append(Answer.streamed(*said("Hello.")))
    runner = new_runner()
    for _ in range(3):
        async with aclosing(runner.stream(ASK)) as chunks:
            async for chunk in chunks:
                if chunk.usage:
                    break
    assert server.connections == 1


async def test_an_endpoint_that_does_not_end_after_the_last_event(
    server: ScriptedProvider,
    new_runner: NewRunner,
) -> None:
    """The reply is whole; nobody waits for the connection to close."""
    server.answers.append(Answer((*map(event, said("Hello.")), DONE, WAIT)))
    async with asyncio.timeout(5):
        assert _text(await _read(new_runner())) == "Hello."
    assert await _hung_up(server)


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_one_runner_in_several_event_loops(
    server: ScriptedProvider, caplog: pytest.LogCaptureFixture
) -> None:
    """A script may call `asyncio.run` for each turn, and close nothing."""
    server.answers.append(Answer.streamed(*said("Hello.")))
    runner = _runner(server, max_retries=0)

    assert [_text(asyncio.run(_read(runner))) for _ in range(3)] == ["Hello."] * 3
    assert server.connections == 3
    assert [record for record in caplog.records if record.name == "asyncio"] == []
    del runner
    gc.collect()  # what was not closed is reported here and in no other test


@pytest.mark.parametrize("looping", ["content", "arguments"])
async def test_a_reply_that_goes_round_is_hung_up_on(
    server: ScriptedProvider, new_runner: NewRunner, looping: str
) -> None:
    """One last chunk has the finding, half-built calls are dropped, and the server sees it."""
    start = [call_chunk(0, "", name="read")]
    piece = chat_chunk(content=BLOCK) if looping == "content" else call_chunk(0, BLOCK)
    server.answers.append(Answer((*map(event, [*start, *([piece] * 40)]), WAIT)))
    async with asyncio.timeout(5):
        chunks = await _read(new_runner(), [TOOL])
    last = chunks[-1]
    assert (last.done, last.stop_reason) == (True, REPETITION)
    assert last.finding is not None
    where = {"content": "content", "arguments": "tool:read arguments"}
    assert last.finding.where == where[looping]
    assert last.finding.period == len(BLOCK)
    assert _calls(chunks) == []
    assert await _hung_up(server)


async def test_the_watch_can_be_turned_off(server: ScriptedProvider, new_runner: NewRunner) -> None:
    """A text may be meant to go round."""
    server.answers.append(Answer.streamed(*said(BLOCK * 40)))
    chunks = await _read(new_runner(repetition=ExactConfig(off=True)))
    assert _text(chunks) == BLOCK * 40


async def test_closing_the_iterator_hangs_up(
    server: ScriptedProvider, new_runner: NewRunner
) -> None:
    """The server sees it while it still has something to say."""
    server.answers.append(Answer((event(chat_chunk(content="Hi")), WAIT)))
    stream = new_runner().stream(ASK)
    assert (await anext(stream)).content == "Hi"
    await stream.aclose()
    assert await _hung_up(server)


@pytest.mark.parametrize("pieces", [(WAIT,), (event(chat_chunk(content="Hi")), WAIT)])
async def test_cancelling_hangs_up(
    server: ScriptedProvider, new_runner: NewRunner, pieces: tuple[bytes, ...]
) -> None:
    """Before the answer begins, and between two pieces of it."""
    server.answers.append(Answer(pieces))
    task = asyncio.ensure_future(_read(new_runner()))
    await asyncio.to_thread(server.asked.acquire, timeout=5)
    await asyncio.sleep(0.05)  # lets the first piece arrive
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await _hung_up(server)


# --- what fails


async def test_a_dropped_connection(server: ScriptedProvider, new_runner: NewRunner) -> None:
    """Text that came stays; the last chunk is the error, and there is no other end."""
    pieces = (event(chat_chunk(content="Hel")), b'data: {"choi')
    server.answers.append(Answer(pieces, drops=True))
    first, last = await _read(new_runner())
    assert first.content == "Hel"
    assert isinstance(last.error, StreamIncompleteError)
    assert last.error.__cause__ is not None
    assert not last.done
    assert len(server.requests) == 1  # what was said cannot be unsaid by asking again


@pytest.mark.parametrize(
    "said", [[chat_chunk(content="Hel")], [chat_chunk(content="Hel"), {"usage": {}}]]
)
async def test_a_stream_that_ends_without_a_finish(
    server: ScriptedProvider, new_runner: NewRunner, said: list[dict[str, Any]]
) -> None:
    """Where a connection is closed to end a body, a dropped one looks no different."""
    server.answers.append(Answer(tuple(map(event, said))))
    chunks = await _read(new_runner())
    assert _text(chunks) == "Hel"
    assert isinstance(chunks[-1].error, StreamIncompleteError)


async def test_a_connection_that_drops_after_the_finish(
    server: ScriptedProvider, new_runner: NewRunner
) -> None:
    """The reply is whole, and stands."""
    server.answers.append(Answer.streamed(*calls("{}"), drops=True))
    chunks = await _read(new_runner())
    assert _calls(chunks) == [ToolCall("call_0", "read", "{}")]
    assert not any(chunk.error for chunk in chunks)


@pytest.mark.parametrize("drops", [True, False])
async def test_a_stream_that_ends_in_the_middle_of_a_call(
    server: ScriptedProvider, new_runner: NewRunner, drops: bool
) -> None:
    """The call is reported as far as it came, and not given out."""
    pieces = tuple(map(event, [call_chunk(0, "", name="read"), call_chunk(0, '{"path": "a')]))
    server.answers.append(Answer(pieces, drops=drops))
    (chunk,) = await _read(new_runner())
    assert isinstance(chunk.error, StreamIncompleteError)
    assert chunk.partial == (ToolCall("call_0", "read", '{"path": "a'),)


async def test_a_silent_endpoint(server: ScriptedProvider, new_runner: NewRunner) -> None:
    """The time without a byte is bounded."""
    server.answers.append(Answer((event(chat_chunk(content="Hi")), WAIT)))
    _, last = await _read(new_runner(timeout_s=0.1))
    assert isinstance(last.error, StreamIncompleteError)
    assert "Timeout" in str(last.error)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
async def test_what_passes_is_tried_again(
    server: ScriptedProvider, new_runner: NewRunner, status: int
) -> None:
    """The endpoint says when."""
    server.answers.extend([Answer.failed(status, **SOON), Answer.streamed(*said("Hello."))])
    assert _text(await _read(new_runner())) == "Hello."
    assert len(server.requests) == 2


async def test_a_connection_that_fails_is_tried_again(
    server: ScriptedProvider, new_runner: NewRunner
) -> None:
    """As long as nothing was answered."""
    server.answers.extend([Answer(status=0), Answer.streamed(*said("Hello."))])
    assert _text(await _read(new_runner())) == "Hello."
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("status", "error"), [(429, openai.RateLimitError), (500, openai.InternalServerError)]
)
async def test_what_does_not_pass_is_an_error(
    server: ScriptedProvider, new_runner: NewRunner, status: int, error: type[Exception]
) -> None:
    """After the last try the error is the package's own."""
    server.answers.append(Answer.failed(status, **SOON))
    with pytest.raises(error):
        await _read(new_runner())
    assert len(server.requests) == 3


async def test_what_cannot_pass_is_not_tried_again(
    server: ScriptedProvider, new_runner: NewRunner
) -> None:
    """A refused key is refused again."""
    server.answers.append(Answer.failed(401, **SOON))
    with pytest.raises(openai.AuthenticationError):
        await _read(new_runner())
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "message", "error"),
    [
        (500, CUT_CALL, ToolCallCutError),
        (500, TOO_LARGE, InputTooLargeError),
        (400, TOO_LARGE, InputTooLargeError),
        (413, TOO_LARGE, InputTooLargeError),
    ],
)
async def test_what_asking_again_cannot_help(
    server: ScriptedProvider, status: int, message: str, error: type[EndpointError]
) -> None:
    """A cut call and an oversize input are told apart, and asked for once, by any client."""
    server.answers.append(Answer.failed(status, message, **SOON))
    async with AsyncOpenAI(base_url=server.url, api_key="none") as client:
        with pytest.raises(error) as raised:
            await _read(OpenAIRunner("m", client=client))
    assert len(server.requests) == 1
    assert raised.value.status == status
    assert message in raised.value.body
    assert isinstance(raised.value.__cause__, openai.APIStatusError)


async def test_a_refused_request_is_no_cut_call(
    server: ScriptedProvider, new_runner: NewRunner
) -> None:
    """A model that was never asked cut nothing; the request itself is at fault."""
    server.answers.append(Answer.failed(400, CUT_CALL))
    with pytest.raises(openai.BadRequestError):
        await _read(new_runner())


async def test_an_error_within_the_stream(server: ScriptedProvider, new_runner: NewRunner) -> None:
    """It ends the reply, and is told apart like one in the place of a stream."""
    server.answers.append(
        Answer.streamed(call_chunk(0, "{", name="read"), {"error": {"message": CUT_CALL}})
    )
    (chunk,) = await _read(new_runner())
    assert isinstance(chunk.error, ToolCallCutError)
    assert chunk.error.status == 0
    assert chunk.partial == (ToolCall("call_0", "read", "{"),)


async def test_nobody_is_there(server: ScriptedProvider) -> None:
    """A failed connection is the package's own error."""
    url = server.url.replace(str(server.server_address[1]), "9")
    config = OpenAIRunnerConfig(max_retries=0)
    with pytest.raises(openai.APIConnectionError):
        await _read(OpenAIRunner("m", base_url=url, api_key="none", config=config))


# --- the client


async def test_a_ready_client_keeps_its_settings(server: ScriptedProvider) -> None:
    """Its headers are sent, its number of tries holds, and it stays open."""
    server.answers.append(Answer.failed(500, **SOON))
    settings: Any = {"max_retries": 1, "default_headers": {"X-Own": "yes"}}
    async with AsyncOpenAI(base_url=server.url, api_key="key", **settings) as client:
        async with OpenAIRunner("m", client=client) as runner:
            with pytest.raises(openai.InternalServerError):
                await _read(runner)
        assert not client.is_closed()
    assert len(server.requests) == 2
    assert server.asked_headers[0]["x-own"] == "yes"
    assert server.asked_headers[0]["authorization"] == "Bearer key"


async def test_a_watched_client_will_do(server: ScriptedProvider) -> None:
    """The runner watches by itself."""
    server.answers.append(Answer.streamed(*said("Hello.")))
    async with AsyncOpenAI(base_url=server.url, api_key="none") as client:
        assert _text(await _read(OpenAIRunner("m", client=watch_client(client)))) == "Hello."


def test_a_sync_client_is_refused() -> None:
    """The error names the argument."""
    with pytest.raises(InvalidInputError, match="client"):
        OpenAIRunner("m", client=OpenAI(api_key="none"))  # type: ignore[arg-type]  # on purpose


def test_a_missing_key_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not at the first call."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(openai.OpenAIError):
        OpenAIRunner("m", base_url="http://localhost:1/v1")

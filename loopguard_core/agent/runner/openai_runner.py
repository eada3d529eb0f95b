"""`OpenAIRunner`: a model behind any OpenAI-compatible endpoint.

Source: agent specification, sections 8 and 18.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import quote

from loopguard_core.errors import InvalidInputError, checked, missing_extra

from .config import OpenAIRunnerConfig
from .decoder import StreamDecoder
from .errors import StreamIncompleteError
from .lines import LineSplitter
from .protocol import ChatOptions, Chunk
from .request import request_body

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Sequence

    from openai import AsyncOpenAI

    from loopguard_core.agent.chat import ChatMessage, ToolDefinition

__all__ = ["OpenAIRunner"]

_DRAIN_S: Final = 0.1
"""A connection is used again if its answer was read to the end, which comes at once or never."""


class OpenAIRunner:
    """Asks a model over chat completions, streamed.

    Can be used by any number of turns at once, and in one event loop after the other. A grammar
    goes as `grammar`, in GBNF, which llama.cpp's server and its kin take. As a context manager it
    closes its connections at the end.

    Args:
        model: The model's name at the endpoint.
        base_url: Where the endpoint is, such as `http://localhost:8080/v1`; None leaves it to the
            `openai` package, and so to its environment variables.
        api_key: Likewise. A server that wants none takes any.
        client: A ready client in the place of the two, for one event loop. Its settings hold, the
            number of its retries too, and it is never closed here.
        config: The rest.

    Raises:
        ImportError: The extra `agent` is not installed.
        InvalidInputError: *client* is no `AsyncOpenAI`.
        openai.OpenAIError: There is no key.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        client: AsyncOpenAI | None = None,
        config: OpenAIRunnerConfig | None = None,
    ) -> None:
        given: object = model
        if not isinstance(given, str) or not given:
            raise InvalidInputError("model", given, "the name of a model")
        self._model = model
        self._config = checked("config", config, OpenAIRunnerConfig)
        try:
            from .endpoint import Endpoint  # noqa: PLC0415 - other runners need no openai
        except ImportError as error:
            raise missing_extra(error, package="openai", extra="agent") from error
        self._endpoint = Endpoint(
            client,
            base_url=base_url,
            api_key=api_key,
            timeout_s=self._config.timeout_s,
            max_retries=self._config.max_retries,
        )

    async def stream(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolDefinition] = (),
        options: ChatOptions | None = None,
    ) -> AsyncGenerator[Chunk, None]:
        """Ask once, and yield the reply piece by piece.

        Nothing is sent before the first chunk is asked for. Closing the iterator, or cancelling
        its task, closes the connection, unless the reply is whole: then it is used again.

        A stream that breaks off before the reply is whole yields an error chunk with a
        `StreamIncompleteError`, one in which the endpoint reports an error a chunk with an
        `EndpointError`; each has the calls that were open. A reply that goes round ends with its
        finding, and the connection is closed, so that the endpoint stops writing.

        Raises:
            ToolCallCutError: The endpoint could not read the model's tool call, which was cut;
                not tried again.
            InputTooLargeError: The request does not fit the model's context; likewise.
            openai.APIError: All else that fails before the stream begins: 408, 409, 429, 5xx and
                a failed connection once the tries are used up, the rest at once.
        """
        asked = options if options is not None else ChatOptions()
        body = request_body(messages, tools, asked, self._config)
        async with self._endpoint.answer(self._model, body, self._headers(asked)) as answer:
            pieces = answer.iter_bytes()
            decoder = StreamDecoder(self._config.repetition)
            is_empty = True
            try:
                async with aclosing(_decoded(pieces, decoder)) as chunks:
                    async for chunk in chunks:
                        is_empty = False
                        yield chunk
                if is_empty:
                    yield Chunk(error=StreamIncompleteError("it ended before an event came"))
            finally:
                if decoder.is_whole:
                    await _drain(pieces)

    async def aclose(self) -> None:
        """Close the connections of the running event loop; a ready client is left open."""
        await self._endpoint.aclose()

    async def __aenter__(self) -> Self:
        """Return the runner."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close as `aclose` does."""
        await self.aclose()

    def _headers(self, options: ChatOptions) -> dict[str, str]:
        name = self._config.trace_header
        return {name: quote(options.trace_id)} if name and options.trace_id else {}


async def _decoded(
    pieces: AsyncIterator[bytes], decoder: StreamDecoder
) -> AsyncGenerator[Chunk, None]:
    """Yield the chunks of a stream, to its end or to where nothing further can matter."""
    lines = LineSplitter()
    while piece := await _next(pieces):
        if isinstance(piece, StreamIncompleteError):
            if not decoder.is_whole:
                yield decoder.fail(piece)
            return
        for line in lines.feed(piece):
            for chunk in decoder.feed(line):
                yield chunk
        if decoder.over:
            return
    for chunk in [*decoder.feed(lines.finish()), *decoder.finish()]:
        yield chunk
    if not (decoder.is_whole or decoder.over):
        # a connection that is closed to end a body does not show that it was dropped
        yield decoder.fail(StreamIncompleteError("it ended before the reply was finished"))


async def _next(pieces: AsyncIterator[bytes]) -> bytes | StreamIncompleteError:
    """Return the next piece, what broke the connection, or after either end an empty piece."""
    try:
        return await anext(pieces, b"")
    except Exception as error:  # noqa: BLE001 - httpx or httpx2, by the release of openai
        broken = StreamIncompleteError(f"the connection broke, {error!r}")
        broken.__cause__ = error
        return broken


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read what follows a whole reply: its end, if the endpoint keeps to the protocol."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_S):
            while await _next(pieces):
                pass

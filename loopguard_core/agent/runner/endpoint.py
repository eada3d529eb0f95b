"""The one module that uses the `openai` package: a request, tried again, and its open answer.

Used are `AsyncOpenAI`, `with_options`, `max_retries`, `chat.completions.with_streaming_response`
and the errors; the same in openai 1.92 and 3.57. The events are not left to the package's
stream: it raises at one that it cannot read, and its models know no arguments but strings.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from openai import (
    APIConnectionError,
    APIStatusError,
    AsyncOpenAI,
    DefaultAsyncHttpxClient,
)

from loopguard_core.errors import InvalidInputError

from .errors import told_apart
from .retries import backoff_s, wait_s

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from openai import AsyncAPIResponse

__all__ = ["Endpoint"]


class Endpoint:
    """Where requests go.

    A client that is made here is made once for each event loop, for a connection of one loop
    cannot be used in another; those of closed loops are forgotten.

    Args:
        client: A ready client, or None to make one.
        base_url: Of the client that is made; None leaves it to the package.
        api_key: Likewise.
        timeout_s: Seconds without a byte; None leaves it to the client.
        max_retries: Tries after the first; None leaves it to the client.
    """

    def __init__(
        self,
        client: AsyncOpenAI | None,
        *,
        base_url: str | None,
        api_key: str | None,
        timeout_s: float | None,
        max_retries: int | None,
    ) -> None:
        if client is not None and not isinstance(client, AsyncOpenAI):
            raise InvalidInputError("client", client, "an openai.AsyncOpenAI or None")
        self._base_url = base_url
        self._api_key = api_key
        self._made: dict[asyncio.AbstractEventLoop, AsyncOpenAI] = {}
        self._ready = client
        settings = (
            client or self._new_client()
        )  # without a key it fails here and not at the first call
        self._max_retries = settings.max_retries if max_retries is None else max_retries
        self._timeout = settings.timeout if timeout_s is None else timeout_s

    async def aclose(self) -> None:
        """Close the client that was made for the running event loop, if one was."""
        made = self._made.pop(asyncio.get_running_loop(), None)
        if made is not None:
            await made.close()

    @asynccontextmanager
    async def answer(
        self, model: str, body: Mapping[str, object], headers: Mapping[str, str]
    ) -> AsyncIterator[AsyncAPIResponse[Any]]:
        """Ask, and give the answer while its stream is open; leaving closes the connection.

        Raises:
            ToolCallCutError: The endpoint could not read the model's tool call, which was cut.
            InputTooLargeError: The request does not fit the model's context.
            openai.APIError: All else that fails, once no further try is left.
        """
        async with AsyncExitStack() as stack:
            yield await self._entered(stack, model, body, headers)

    async def _entered(
        self,
        stack: AsyncExitStack,
        model: str,
        body: Mapping[str, object],
        headers: Mapping[str, str],
    ) -> AsyncAPIResponse[Any]:
        # The retries are made here, see `retries`.
        client = self._client().with_options(max_retries=0, timeout=self._timeout)
        create = client.chat.completions.with_streaming_response.create
        attempt = 0
        while True:
            request = create(
                model=model,
                messages=cast("Any", body["messages"]),
                stream=True,
                extra_body=body,
                extra_headers=headers,
            )
            try:
                return await stack.enter_async_context(request)
            except APIStatusError as error:
                response = error.response
                failure = told_apart(response.text, response.status_code)
                if failure is not None:
                    raise failure from error
                wait = wait_s(response.status_code, response.headers, attempt)
                if wait is None or attempt == self._max_retries:
                    raise
            except APIConnectionError:
                wait = backoff_s(attempt)
                if attempt == self._max_retries:
                    raise
            await asyncio.sleep(wait)
            attempt += 1

    def _client(self) -> AsyncOpenAI:
        if self._ready is not None:
            return self._ready
        here = asyncio.get_running_loop()
        if here not in self._made:
            self._made = {loop: made for loop, made in self._made.items() if not loop.is_closed()}
            self._made[here] = self._new_client()
        return self._made[here]

    def _new_client(self) -> AsyncOpenAI:
        # The HTTP client that the package makes by itself closes its connections when it is
        # forgotten, which in another loop than theirs is an error that is logged.
        http_client = DefaultAsyncHttpxClient()
        return AsyncOpenAI(base_url=self._base_url, api_key=self._api_key, http_client=http_client)

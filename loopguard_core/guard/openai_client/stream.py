"""What a watched client returns in the place of a stream: `WatchedStream`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from inspect import isawaitable
from typing import TYPE_CHECKING, Protocol, Self, TypeVar, cast

from .proxy import AsyncProxy, Proxy, SyncProxy, stand_in

if TYPE_CHECKING:
    from loopguard_core.guard.verdict import Finding

    from .reading import Reading

__all__ = ["WatchedStream", "watched", "watched_manager"]


class _Stream(Protocol):
    def __next__(self) -> object: ...
    def close(self) -> object: ...


class _AsyncStream(Protocol):
    def __anext__(self) -> Awaitable[object]: ...
    def close(self) -> Awaitable[object]: ...


StreamT = TypeVar("StreamT")


class WatchedStream(Proxy[StreamT]):
    """A stream of an OpenAI client that ends quietly where its reply goes round.

    Made by a client that `watch_client` returned; in everything else it is the client's stream.
    Whatever comes is the client's own, unchanged. The piece that completes a loop is the last; the
    HTTP response is closed before it is handed out, so that nothing more is generated, and neither
    a finish reason nor the usage follows.
    """

    def __init__(
        self, stream: StreamT, reading: Reading, take: Callable[[object], bool] | None = None
    ) -> None:
        super().__init__(stream, {})
        self._reading = reading
        self._take = take or reading.take
        self._is_over = False

    @property
    def finding(self) -> Finding | None:
        """What was found, or None so far."""
        return self._reading.watch.finding

    @property
    def keep_chars(self) -> int | None:
        """How many characters of the content are worth keeping; see `GuardedReply.keep_chars`.

        With several choices, those of the first one that goes round.
        """
        return self._reading.watch.keep_chars


class _SyncStream(WatchedStream[_Stream], SyncProxy[_Stream]):
    def __iter__(self) -> Self:
        return self

    def __next__(self) -> object:
        if self._is_over:
            raise StopIteration
        piece = next(self._inner)
        if self._take(piece):
            self._is_over = True
            self._inner.close()
        return piece


class _AwaitedStream(WatchedStream[_AsyncStream], AsyncProxy[_AsyncStream]):
    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> object:
        if self._is_over:
            raise StopAsyncIteration
        piece = await anext(self._inner)
        if self._take(piece):
            self._is_over = True
            await self._inner.close()
        return piece


def watched_manager(manager: object, reading: Reading) -> Proxy[object]:
    """Let `with` give a stream that has a `finding`.

    Args:
        manager: What a `stream` helper returned. Its stream is made on top of one that *reading*
            reads: the helper's events, and what it accumulates, end where that one does.
        reading: What says why.
    """

    def entered(stream: object) -> object:
        return _watched(stream, reading, _was_read_below)

    return stand_in(manager, {"__enter__": entered})


def watched(answer: object, reading: Reading) -> object:
    """Let *reading* read the stream that a call answers with, now or when it is awaited."""
    if isawaitable(answer):
        return _awaited(answer, reading)
    return _watched(answer, reading)


async def _awaited(answer: Awaitable[object], reading: Reading) -> object:
    return _watched(await answer, reading)


def _watched(
    stream: object, reading: Reading, take: Callable[[object], bool] | None = None
) -> object:
    match stream:
        case AsyncIterator():
            return _AwaitedStream(cast("_AsyncStream", stream), reading, take)
        case Iterator():
            return _SyncStream(cast("_Stream", stream), reading, take)
        case _:
            return stream


def _was_read_below(_piece: object) -> bool:
    return False

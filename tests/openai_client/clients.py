"""The two clients, read the same way: what a user sees of a stream, and how it ended."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from openai import AsyncOpenAI, OpenAI

from loopguard_core import Finding, LoopGuard, watch_client

if TYPE_CHECKING:
    from collections.abc import Callable

    from .server import Provider

__all__ = ["CLIENTS", "Seen", "entered", "new_client", "now", "read"]

CLIENTS: dict[str, type[OpenAI | AsyncOpenAI]] = {"sync": OpenAI, "async": AsyncOpenAI}


@dataclass
class Seen:
    """What came of a stream.

    Args:
        pieces: The chunks or events.
        shown: Their types and fields at the time they came: a helper's snapshots go on changing.
        finding: What the stream says was found; None where it is not watched.
        keep_chars: What it says is worth keeping.
        final: What the helper accumulated, or the error that it raised.
        error: What the stream raised.
    """

    pieces: list[Any] = field(default_factory=list)
    shown: list[tuple[type, str]] = field(default_factory=list)
    finding: Finding | None = None
    keep_chars: int | None = None
    final: Any = None
    error: Exception | None = None

    def take(self, piece: Any) -> None:
        """Take note of what came."""
        self.pieces.append(piece)
        self.shown.append((type(piece), piece.model_dump_json(warnings=False)))


def new_client(kind: str, server: Provider, **options: Any) -> Any:
    """Return a client of *server*, one that does not try again."""
    options = {"api_key": "none", "max_retries": 0, "timeout": 10, **options}
    return CLIENTS[kind](base_url=server.url, **options)


def read(
    kind: str,
    server: Provider,
    path: str,
    guard: LoopGuard | None = None,
    *,
    watched: bool = True,
    final: str = "",
    unread: bool = False,
    **request: Any,
) -> Seen:
    """Read what the method at *path* streams, to its end.

    Args:
        kind: Which client.
        server: The provider.
        path: The method, such as `chat.completions.create`.
        guard: The guard of the watched client.
        watched: False reads the client alone.
        final: A method of the stream, called at the end.
        unread: True leaves reading to that method.
        request: What the method is called with.
    """

    async def read_all() -> Seen:
        client = new_client(kind, server)
        if watched:
            client = watch_client(client, guard=guard)
        async with entered(client):
            call = attrgetter(path)(client)
            async with entered(await now(call(**request))) as stream:
                return await _seen(stream, final, unread=unread)

    return asyncio.run(read_all())


async def _seen(stream: Any, final: str, *, unread: bool) -> Seen:
    seen = Seen()
    try:
        if unread:
            pass
        elif isinstance(stream, AsyncIterator):
            async for piece in stream:
                seen.take(piece)
        else:
            for piece in stream:
                seen.take(piece)
        if final:
            seen.final = await _or_error(getattr(stream, final))
    except Exception as error:  # noqa: BLE001 - compared with what the client alone raises
        seen.error = error
    seen.finding = getattr(stream, "finding", None)
    seen.keep_chars = getattr(stream, "keep_chars", None)
    return seen


async def _or_error(method: Callable[[], Any]) -> Any:
    try:
        return await now(method())
    except RuntimeError as error:
        return error


async def now(value: Any) -> Any:
    """Await what has to be awaited."""
    return await value if inspect.isawaitable(value) else value


@asynccontextmanager
async def entered(manager: Any) -> AsyncIterator[Any]:
    """Enter either kind of context manager."""
    if hasattr(manager, "__aenter__"):
        async with manager as inner:
            yield inner
    else:
        with manager as inner:
            yield inner

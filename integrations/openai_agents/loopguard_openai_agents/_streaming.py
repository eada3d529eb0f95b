"""A reply that streams: its events pass through while its watch reads them."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ._final import finished
from ._said import ReplyReader

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from agents.items import TResponseStreamEvent

    from loopguard_core import GuardedReply

    from ._said import Said

__all__ = ["StreamReader"]


class StreamReader:
    """Reads one streamed reply.

    Args:
        watch: The watch of this reply.
    """

    def __init__(self, watch: GuardedReply) -> None:
        self._reader = ReplyReader(watch)
        self.said: Said | None = None
        """The reply, once it is over; None if it ended without being complete."""
        self.last: TResponseStreamEvent | None = None
        """The event that completed it."""

    async def events(
        self, source: AsyncIterator[TResponseStreamEvent]
    ) -> AsyncGenerator[TResponseStreamEvent, None]:
        """Yield what *source* streams, but for the event that completes it.

        A reply that goes round is left where it is, and its message is finished with what is
        worth keeping of it.
        """
        async with _closed_behind(source):
            async for event in source:
                said = self._reader.takes(event)
                self.said = said or self.said
                if said is None:
                    yield event
                elif said.cut:
                    break
                else:
                    self.last = event
        if self.said is not None and self.said.kept is not None:
            yield finished(self.said.kept, 0)


@asynccontextmanager
async def _closed_behind(source: AsyncIterator[TResponseStreamEvent]) -> AsyncIterator[None]:
    """Close *source* if it can be closed: a provider's connection must not wait for the collector."""
    try:
        yield
    finally:
        close = getattr(source, "aclose", None)
        if close is not None:
            await close()

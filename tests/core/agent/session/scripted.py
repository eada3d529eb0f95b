"""A model that says what it is told to, and sessions around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from loopguard_core.agent.chat import ChatMessage, ToolCall, ToolDefinition
from loopguard_core.agent.runner import ChatOptions, Chunk
from loopguard_core.agent.session import Session
from loopguard_core.agent.store import MemoryStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

Said: TypeAlias = str | ToolCall | Chunk | Exception
"""A piece of a reply."""


def call(name: str, arguments: str = "{}", call_id: str = "") -> ToolCall:
    """Return a call; without an id the session makes one."""
    return ToolCall(call_id, name, arguments)


class Scripted:
    """Plays one reply for each model call; the last one again and again.

    Args:
        replies: Each is a piece or a list of pieces.
    """

    def __init__(self, *replies: Said | list[Said]) -> None:
        self._replies = replies
        self.sent: list[list[ChatMessage]] = []
        self.tools: list[Sequence[ToolDefinition]] = []
        self.options: list[ChatOptions | None] = []

    async def stream(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolDefinition] = (),
        options: ChatOptions | None = None,
    ) -> AsyncIterator[Chunk]:
        """Play the next reply."""
        reply = self._replies[min(len(self.sent), len(self._replies) - 1)]
        self.sent.append(list(messages))
        self.tools.append(tools)
        self.options.append(options)
        for piece in reply if isinstance(reply, list) else [reply]:
            match piece:
                case str():
                    yield Chunk(content=piece)
                case ToolCall():
                    yield Chunk(call=piece)
                case Exception():
                    raise piece
                case _:
                    yield piece
        yield Chunk(done=True)

    def last(self) -> str:
        """Return the content of the newest message of the newest call."""
        return self.sent[-1][-1].content


def session(*replies: Said | list[Said], **options: Any) -> Session:
    """Return a session in memory whose model plays *replies* and whose tools answer `ok`."""
    given: dict[str, Any] = {
        "session_id": "s",
        "store": MemoryStore(),
        "runner": Scripted(*replies),
        "dispatch": lambda _: "ok",
    }
    return Session(**given | options)


async def stored(some: Session) -> list[tuple[str, str]]:
    """Return the kind and content of what is in the context."""
    return [(str(entry.kind), entry.content) for entry in await some.store.context("s")]

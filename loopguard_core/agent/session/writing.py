"""What a turn adds to the store: each entry with an id and its own reading of the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_core.agent.entries import Entry, EntryKind, EntryUsage, new_id

from .stages import stage

if TYPE_CHECKING:
    from loopguard_core.agent.chat import ToolCall
    from loopguard_core.agent.errors import Stage

    from .clock import SessionClock
    from .options import SessionOptions

__all__ = ["Writer"]


class Writer:
    """Appends the entries of a session.

    Args:
        options: Has the store and the session's id.
        clock: The session's.
    """

    def __init__(self, options: SessionOptions, clock: SessionClock) -> None:
        self._options = options
        self._clock = clock

    async def reply(self, text: str, usage: EntryUsage | None = None) -> None:
        """Keep what the model said."""
        await self._append("persist_reply", kind=EntryKind.ASSISTANT, content=text, usage=usage)

    async def call(self, call: ToolCall) -> None:
        """Keep a call, with the arguments it has here."""
        await self._append(
            "persist_tool_call",
            kind=EntryKind.TOOL_CALL,
            content=call.arguments,
            tool_call_id=call.id,
            tool_name=call.name,
        )

    async def result(self, call: ToolCall, result: str) -> None:
        """Keep what a call brought."""
        await self._append(
            "persist_tool_result",
            kind=EntryKind.TOOL_RESULT,
            content=result,
            tool_call_id=call.id,
            tool_name=call.name,
        )

    async def notice(self, at: Stage, tag: str, text: str) -> None:
        """Keep what the model is told; *at* is the stage whose work it belongs to."""
        await self._append(at, kind=EntryKind.NOTIFICATION, content=text, tag=tag)

    async def _append(self, at: Stage, **fields: object) -> None:
        entry = Entry.model_validate({"id": new_id(), "created_at": self._clock(), **fields})
        with stage(at):
            await self._options.store.append(self._options.session_id, entry)

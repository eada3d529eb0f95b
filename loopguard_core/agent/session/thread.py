"""A session's entries as the guard reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_core.agent.entries import Entry, EntryKind
from loopguard_core.agent.json_text import read_json
from loopguard_core.message import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["EntryThread", "arguments_of"]


def arguments_of(text: str) -> object:
    """Return the arguments of a call as values; a text that is no JSON as it is."""
    try:
        return read_json(text)
    except ValueError:
        return text


class EntryThread:
    """Makes one message of each entry, once: what stays in the context stays the same object."""

    def __init__(self) -> None:
        self._messages: dict[str, Message] = {}

    def of(self, entries: Sequence[Entry]) -> list[Message]:
        """Return the messages of *entries*, which are in their order."""
        calls: dict[str, Entry] = {}
        kept: dict[str, Message] = {}
        for entry in entries:
            if entry.kind == EntryKind.TOOL_CALL:
                calls[entry.tool_call_id] = entry
            known = self._messages.get(entry.id)
            kept[entry.id] = known if known is not None else _message(entry, calls)
        self._messages = kept
        return list(kept.values())


def _message(entry: Entry, calls: dict[str, Entry]) -> Message:
    match entry.kind:
        case EntryKind.USER:
            return Message.user(entry.content)
        case EntryKind.ASSISTANT:
            return Message.bot(entry.content)
        case EntryKind.TOOL_CALL:
            arguments = arguments_of(entry.content)
            return Message.tool_request(entry.tool_name, arguments, entry.tool_call_id)
        case EntryKind.TOOL_RESULT:
            call = calls.get(entry.tool_call_id)
            arguments = arguments_of(call.content) if call is not None else None
            name = call.tool_name if call is not None else entry.tool_name
            return Message.tool_response(name, arguments, entry.content, entry.tool_call_id)
        case _:
            return Message.system(entry.content)

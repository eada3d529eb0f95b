"""LlamaIndex's messages as neutral ones; nothing here decides anything, and nothing raises.

One native message becomes one or more neutral ones: reasoning, text, each call. All of them carry
the very native object under `NATIVE`, so the way back is never a conversion. Parts are made when
they are read, and a view that is kept grows with its history: what is old is not read again.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, overload

from llama_index.core.llms import MessageRole
from typing_extensions import override

from loopguard_core import Message
from loopguard_core.guard.guidance import without_guidance

from ._content import read_message, result_of
from ._pairs import ASSISTANTS, TOOLS, answered_by, with_ids

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage

    from ._content import Content, Requested

__all__ = ["COMPACTED", "NATIVE", "PINNED", "NeutralThread", "is_compacted", "reply_parts"]

NATIVE: Final = "llamaindex"
"""The key under which a neutral message carries the message it was made from."""

PINNED: Final = "loopguard_pinned"
"""Set to True in a message's `additional_kwargs`, it keeps the message from being trimmed."""

COMPACTED: Final = "loopguard_compacted"
"""True in the `additional_kwargs` of a message that stands for earlier ones, as their summary."""

_SYSTEMS: Final = (MessageRole.SYSTEM, MessageRole.DEVELOPER)


class NeutralThread(Sequence[Message]):
    """The neutral reading of a list of LlamaIndex messages, converted where it is read.

    Args:
        messages: The thread, oldest first.
        as_sent: True reads texts and results as a model gets them, to be priced. By default
            they are read to be compared: without the notes that a guard appended, and with a
            stand-in for each picture in a result that differs where the picture does.
    """

    def __init__(self, messages: Sequence[ChatMessage], *, as_sent: bool = False) -> None:
        self.as_sent = as_sent
        self._natives: list[ChatMessage] = []
        self._stops: list[int] = []
        self._pins: list[int] = []
        self.extend(messages)

    def extend(self, messages: Sequence[ChatMessage]) -> None:
        """Add messages at the end."""
        for native in messages:
            start = len(self)
            stop = start + _size(native)
            if _is_pinned(native) or is_compacted(native):
                self._pins += range(start, stop)
            self._natives.append(native)
            self._stops.append(stop)

    @property
    def natives(self) -> Sequence[ChatMessage]:
        """The messages it was made from."""
        return self._natives

    @property
    def pins(self) -> Sequence[int]:
        """The positions of what is not trimmed: pinned messages, and the summary of a fold."""
        return self._pins

    @override
    def __len__(self) -> int:
        return self._stops[-1] if self._stops else 0

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    @override
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        if isinstance(index, slice):
            return [self[position] for position in range(len(self))[index]]
        position = range(len(self))[index]
        native = self.native_at(position)
        return self._parts(native)[position - self._stops[native]]

    @override
    def __iter__(self) -> Iterator[Message]:
        for native in range(len(self._natives)):
            yield from self._parts(native)

    def native_at(self, position: int) -> int:
        """Return the index of the native message that the part at *position* belongs to."""
        return bisect_right(self._stops, position)

    def _parts(self, index: int) -> list[Message]:
        """Convert the native message at *index*; its parts know that they belong together."""
        native = self._natives[index]
        parts = self._convert(native, index)
        for part in parts:
            part[NATIVE] = native
            part["group"] = index
            if _is_pinned(native):
                part["pinned"] = True
            if is_compacted(native):
                part["compacted"] = True
        return parts

    def _convert(self, native: ChatMessage, index: int) -> list[Message]:
        content = read_message(native)
        if not self.as_sent:
            content.text = without_guidance(content.text)
        if native.role in ASSISTANTS:
            calls = with_ids(content.calls, index)
            return reply_parts(content, [*map(_as_text, calls)] if self.as_sent else calls)
        if native.role in TOOLS:
            return [self._response(native, content, index)]
        kind = "system" if native.role in _SYSTEMS else "user"
        return [_with_blocks(Message(type=kind, text=content.text), content)]

    def _response(self, native: ChatMessage, content: Content, index: int) -> Message:
        call_id, call = answered_by(self._natives, index)
        name = call.name if call else str(native.additional_kwargs.get("name") or "")
        message = Message.tool_response(
            name,
            call.arguments if call else None,
            content.text if self.as_sent else result_of(native.blocks),
            call_id,
        )
        return _priced(message, content)


def reply_parts(content: Content, calls: Sequence[Requested]) -> list[Message]:
    """Return the neutral messages of a model's reply; one that says nothing has one all the same.

    Args:
        content: The reply.
        calls: The calls it makes, which stand elsewhere in some protocols.
    """
    parts: list[Message] = []
    if content.reasoning:
        parts.append(Message.reasoning(content.reasoning))
    if content.text or content.others or not (parts or calls):
        parts.append(_with_blocks(Message.bot(content.text), content))
    return parts + [Message.tool_request(c.name, c.arguments, c.call_id) for c in calls]


def _as_text(call: Requested) -> Requested:
    """Return a call with its arguments as a model gets them."""
    text = call.arguments
    if not isinstance(text, str):
        text = json.dumps(text, default=str, ensure_ascii=False)
    return call._replace(arguments=text)


def _size(native: ChatMessage) -> int:
    """Return how many parts a message has."""
    if native.role not in ASSISTANTS:
        return 1
    content = read_message(native)
    others = bool(content.reasoning) + len(content.calls)
    return others + bool(content.text or content.others or not others)


def _with_blocks(message: Message, content: Content) -> Message:
    if content.others:
        message["meta"] = {"blocks": content.identity}
    return _priced(message, content)


def _priced(message: Message, content: Content) -> Message:
    """Name the types of content that is not text, for whoever prices the message."""
    if content.others:
        message["blocks"] = content.kinds
    return message


def _is_pinned(native: ChatMessage) -> bool:
    return native.additional_kwargs.get(PINNED) is True


def is_compacted(native: ChatMessage) -> bool:
    """Return True if *native* is the summary of a fold."""
    return native.additional_kwargs.get(COMPACTED) is True

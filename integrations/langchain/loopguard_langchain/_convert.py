"""LangChain's messages as neutral ones; nothing here decides anything, and nothing raises.

One native message becomes one or more neutral ones: reasoning, text, each call. All of them carry
the very native object under `NATIVE`, so the way back is never a conversion. The number of parts
of a message is cheap to know, its parts are made when they are read: a thread that grows is not
converted anew at every step.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, overload

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from typing_extensions import override

from loopguard_core import Message
from loopguard_core.guard.guidance import without_guidance

from ._assistant import assistant_parts, assistant_size
from ._content import read_content
from ._results import result_of

if TYPE_CHECKING:
    from ._content import Content

__all__ = ["COMPACTED", "NATIVE", "PINNED", "NeutralThread", "result_of"]

NATIVE: Final = "langchain"
"""The key under which a neutral message carries the message it was made from."""

PINNED: Final = "loopguard_pinned"
"""Set to True in a message's `additional_kwargs`, it keeps the message from being trimmed."""

COMPACTED: Final = "loopguard_compacted"
"""In a message's `additional_kwargs`, it marks the summary of a fold, and counts the folds."""


class NeutralThread(Sequence[Message]):
    """The neutral reading of a list of LangChain messages, converted where it is read.

    Args:
        messages: The thread, oldest first. It must not change while this view is in use.
        as_sent: True reads texts and results as a model gets them, to be priced. By default
            they are read to be compared: without the notes that a guard appended, and with a
            stand-in for each picture in a result that differs where the picture does.
    """

    def __init__(self, messages: Sequence[BaseMessage], *, as_sent: bool = False) -> None:
        self._natives = messages
        self._as_sent = as_sent
        self._stops = list(itertools.accumulate(map(self._size, messages)))

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
            return self._slice(range(len(self))[index])
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

    def pinned(self) -> Iterator[int]:
        """Iterate over the positions of pinned messages, without converting anything."""
        starts = [0, *self._stops]
        for native, start, stop in zip(self._natives, starts, self._stops, strict=False):
            if _is_pinned(native):
                yield from range(start, stop)

    def _slice(self, positions: range) -> list[Message]:
        """Convert each native message of a slice once."""
        if not positions:
            return []
        first, last = sorted((self.native_at(positions[0]), self.native_at(positions[-1])))
        parts = [part for native in range(first, last + 1) for part in self._parts(native)]
        offset = self._stops[first - 1] if first else 0
        return [parts[position - offset] for position in positions]

    def _size(self, native: BaseMessage) -> int:
        return assistant_size(native, self._read(native)) if isinstance(native, AIMessage) else 1

    def _read(self, native: BaseMessage) -> Content:
        content = read_content(native.content)
        if not self._as_sent:
            content.text = without_guidance(content.text)
        return content

    def _parts(self, index: int) -> list[Message]:
        """Convert the native message at *index*; its parts know that they belong together."""
        native = self._natives[index]
        parts = self._convert(native, index)
        for part in parts:
            part[NATIVE] = native
            part["group"] = index
            if _is_pinned(native):
                part["pinned"] = True
            if COMPACTED in native.additional_kwargs:
                part["compacted"] = True
        return parts

    def _convert(self, native: BaseMessage, index: int) -> list[Message]:
        content = self._read(native)
        match native:
            case AIMessage():
                return assistant_parts(native, content, _text("bot", native, content))
            case ToolMessage():
                return [self._response(native, content, index)]
            case HumanMessage():
                return [_text("user", native, content)]
            case SystemMessage():
                return [_text("system", native, content)]
            case _:
                return [_text("other", native, content)]

    def _response(self, native: ToolMessage, content: Content, index: int) -> Message:
        name, arguments = self._call(native.tool_call_id, index) or (native.name or "", None)
        message = Message.tool_response(
            name,
            arguments,
            content.text if self._as_sent else result_of(native),
            native.tool_call_id,
            is_error=native.status == "error",
        )
        return _with_blocks(message, content)

    def _call(self, call_id: str, before: int) -> tuple[str, object] | None:
        """Find the nearest earlier call with *call_id*: providers reuse ids in later turns."""
        for index in range(before - 1, -1, -1):
            native = self._natives[index]
            if isinstance(native, AIMessage):
                for call in (*native.tool_calls, *native.invalid_tool_calls):
                    if call.get("id") == call_id:
                        return call.get("name") or "", call.get("args")
        return None


def _text(kind: str, native: BaseMessage, content: Content) -> Message:
    message = Message(type=kind, text=content.text)
    meta: dict[str, object] = {}
    if native.name:
        meta["name"] = native.name
    if isinstance(native, ChatMessage):
        meta["role"] = native.role
    if content.blocks:
        meta["blocks"] = content.identity
    if meta:
        message["meta"] = meta
    return _with_blocks(message, content)


def _with_blocks(message: Message, content: Content) -> Message:
    """Name the types of content that is not text, for whoever prices the message."""
    if content.blocks:
        message["blocks"] = content.kinds
    return message


def _is_pinned(native: BaseMessage) -> bool:
    return native.additional_kwargs.get(PINNED) is True

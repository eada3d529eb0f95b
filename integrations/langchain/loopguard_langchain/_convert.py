"""LangChain's messages as neutral ones; nothing here decides anything, and nothing raises.

One native message becomes one or more neutral ones: reasoning, text, each call. All of them carry
the very native object under `NATIVE`, so the way back is never a conversion. The number of parts
of a message is cheap to know, its parts are made when they are read: a thread that grows is not
converted anew at every step.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, overload

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    InvalidToolCall,
    SystemMessage,
    ToolMessage,
)
from typing_extensions import override

from loopguard_core import Message
from loopguard_core.guard.guidance import append_guidance, without_guidance

from ._content import Content, HostedCall, HostedResult, read_content, reasoning_beside

__all__ = ["NATIVE", "PINNED", "NeutralThread", "result_of", "with_note"]

NATIVE: Final = "langchain"
"""The key under which a neutral message carries the message it was made from."""

PINNED: Final = "loopguard_pinned"
"""Set to True in a message's `additional_kwargs`, it keeps the message from being trimmed."""


class NeutralThread(Sequence[Message]):
    """The neutral reading of a list of LangChain messages, converted where it is read.

    Args:
        messages: The thread, oldest first. It must not change while this view is in use.
    """

    def __init__(self, messages: Sequence[BaseMessage]) -> None:
        self._natives = messages
        self._stops = list(itertools.accumulate(map(_size, messages)))

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
        native = bisect_right(self._stops, position)
        return self._parts(native)[position - self._stops[native]]

    @override
    def __iter__(self) -> Iterator[Message]:
        for native in range(len(self._natives)):
            yield from self._parts(native)

    def _slice(self, positions: range) -> list[Message]:
        """Convert each native message of a slice once."""
        if not positions:
            return []
        first, last = sorted((positions[0], positions[-1]))
        start, stop = bisect_right(self._stops, first), bisect_right(self._stops, last) + 1
        offset = self._stops[start] - _size(self._natives[start])
        parts = [part for native in range(start, stop) for part in self._parts(native)]
        return [parts[position - offset] for position in positions]

    def _parts(self, index: int) -> list[Message]:
        """Convert the native message at *index*; its parts know that they belong together."""
        native = self._natives[index]
        parts = self._convert(native, index)
        for part in parts:
            part[NATIVE] = native
            part["group"] = index
            if _extra(native).get(PINNED) is True:
                part["pinned"] = True
        return parts

    def _convert(self, native: BaseMessage, index: int) -> list[Message]:
        match native:
            case AIMessage():
                return _assistant(native)
            case ToolMessage():
                return [self._response(native, index)]
            case HumanMessage():
                return [_text("user", native)]
            case SystemMessage():
                return [_text("system", native)]
            case _:
                return [_text("other", native)]

    def _response(self, native: ToolMessage, index: int) -> Message:
        name, arguments = self._call(native.tool_call_id, index) or (native.name or "", None)
        content = read_content(native.content)
        return _with_blocks(
            Message.tool_response(
                name,
                arguments,
                _result(content),
                native.tool_call_id,
                is_error=native.status == "error",
            ),
            content,
        )

    def _call(self, call_id: str, before: int) -> tuple[str, object] | None:
        """Find the nearest earlier call with *call_id*: providers reuse ids in later turns."""
        for index in range(before - 1, -1, -1):
            native = self._natives[index]
            if isinstance(native, AIMessage):
                for call in (*native.tool_calls, *native.invalid_tool_calls):
                    if call.get("id") == call_id:
                        return call.get("name") or "", call.get("args")
        return None


def result_of(message: ToolMessage) -> object:
    """Return what a tool answered, without the notes that a guard appended to it.

    Text comes back as a string; an answer with other content as a list of its texts and of
    short stand-ins, which differ where the content differs.
    """
    return _result(read_content(message.content))


def _result(content: Content) -> object:
    text = without_guidance(content.text)
    return [text, *content.identity] if content.blocks else text


def _size(native: BaseMessage) -> int:
    """Return how many parts `_assistant` and its like make of *native*, without making them."""
    if not isinstance(native, AIMessage):
        return 1
    content = read_content(native.content)
    calls = len(native.tool_calls) + len(native.invalid_tool_calls) + len(content.hosted)
    others = calls + bool(_reasoning(native, content))
    return others + _says_something(native, content, alone=not others)


def _assistant(native: AIMessage) -> list[Message]:
    content = read_content(native.content)
    parts: list[Message] = []
    if reasoning := _reasoning(native, content):
        parts.append(Message.reasoning(without_guidance(reasoning)))
    calls = [*map(_hosted, content.hosted), *_requests(native)]
    if _says_something(native, content, alone=not parts and not calls):
        parts.append(_bot(native, content))
    parts += calls
    if native.usage_metadata:
        parts[0]["usage"] = dict(native.usage_metadata)
    return parts


def _says_something(native: AIMessage, content: Content, *, alone: bool) -> bool:
    """Return True if *native* has a bot part; a message without any other part always has one."""
    return alone or bool(content.text or content.blocks or _refusal(native))


def _bot(native: AIMessage, content: Content) -> Message:
    message = _text("bot", native)
    if refusal := _refusal(native):
        message["text"] = f"{message.text}{refusal}"
    if refusal or content.refused:
        message["meta"] = {**(message.meta or {}), "refusal": True}
    return message


def _requests(native: AIMessage) -> Iterator[Message]:
    for call in native.tool_calls:
        yield Message.tool_request(call.get("name") or "", call.get("args"), call.get("id"))
    for broken in native.invalid_tool_calls:
        yield _broken_request(broken)


def _broken_request(call: InvalidToolCall) -> Message:
    """Build a call whose arguments could not be parsed: they stay the text that was written."""
    function = {"name": call.get("name") or "", "arguments": call.get("args")}
    activity = {"type": "request", "function": function, "error": call.get("error")}
    message = Message(type="activity", text="", meta={"activity": activity})
    if (call_id := call.get("id")) is not None:
        message["call_id"] = call_id
    return message


def _hosted(block: HostedCall | HostedResult) -> Message:
    """Build a call, or its answer, that the provider executed itself."""
    if isinstance(block, HostedCall):
        message = Message.tool_request(block.name, block.arguments, block.call_id)
    else:
        message = Message.tool_response(
            block.name, block.arguments, block.result, block.call_id, is_error=block.is_error
        )
    message["hosted"] = True
    return message


def _text(kind: str, native: BaseMessage) -> Message:
    content = read_content(native.content)
    message = Message(type=kind, text=without_guidance(content.text))
    meta: dict[str, object] = {}
    if native.name:
        meta["name"] = native.name
    if isinstance(native, ChatMessage):
        meta["role"] = native.role
    if content.blocks:
        meta["blocks"] = list(content.identity)
    if meta:
        message["meta"] = meta
    return _with_blocks(message, content)


def _with_blocks(message: Message, content: Content) -> Message:
    """Name the types of content that is not text, for whoever prices the message."""
    if content.blocks:
        message["blocks"] = tuple(content.kinds)
    return message


def _reasoning(native: AIMessage, content: Content) -> str:
    return content.reasoning or reasoning_beside(_extra(native))


def _refusal(native: AIMessage) -> str:
    refusal = _extra(native).get("refusal")
    return refusal if isinstance(refusal, str) else ""


def _extra(native: BaseMessage) -> Mapping[object, object]:
    return native.additional_kwargs


def with_note(
    content: str | list[str | dict[Any, Any]], note: str
) -> str | list[str | dict[Any, Any]]:
    """Return the content of a tool's answer with *note* behind it; `result_of` reads past it."""
    if isinstance(content, str):
        return append_guidance(content, note)
    return [*content, {"type": "text", "text": append_guidance("", note)}]

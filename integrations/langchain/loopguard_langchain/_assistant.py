"""What a model's message says, part by part: reasoning, text, calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_core import Message

from ._content import Content, HostedCall, HostedResult, reasoning_beside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langchain_core.messages import AIMessage, InvalidToolCall

__all__ = ["assistant_parts", "assistant_size"]


def assistant_size(native: AIMessage, content: Content) -> int:
    """Return how many parts `assistant_parts` makes, without making them."""
    calls = len(native.tool_calls) + len(native.invalid_tool_calls) + len(content.hosted)
    others = calls + bool(_reasoning(native, content))
    return others + _says_something(native, content, alone=not others)


def assistant_parts(native: AIMessage, content: Content, bot: Message) -> list[Message]:
    """Return the neutral messages of a model's message, in the order in which they come.

    Args:
        native: The message.
        content: Its content.
        bot: Its text as a neutral message, which is a part only if it says something.
    """
    parts: list[Message] = []
    if reasoning := _reasoning(native, content):
        parts.append(Message.reasoning(reasoning))
    calls = [*map(_hosted, content.hosted), *_requests(native)]
    if _says_something(native, content, alone=not parts and not calls):
        parts.append(_with_refusal(bot, native, content))
    parts += calls
    if native.usage_metadata:
        parts[0]["usage"] = dict(native.usage_metadata)
    return parts


def _says_something(native: AIMessage, content: Content, *, alone: bool) -> bool:
    """Return True if there is a bot part; a message without any other part always has one."""
    return alone or bool(content.text or content.blocks or _refusal(native))


def _with_refusal(bot: Message, native: AIMessage, content: Content) -> Message:
    refusal = _refusal(native)
    if refusal or content.refused:
        bot["text"] = f"{bot.text}{refusal}"
        bot["meta"] = {**(bot.meta or {}), "refusal": True}
    return bot


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


def _reasoning(native: AIMessage, content: Content) -> str:
    return content.reasoning or reasoning_beside(native.additional_kwargs)


def _refusal(native: AIMessage) -> str:
    refusal = native.additional_kwargs.get("refusal")
    return refusal if isinstance(refusal, str) else ""

"""The body of a request: what a model call asks, as the OpenAI protocol spells it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from loopguard_core.agent.chat import ChatMessage, ToolCall, ToolDefinition

    from .config import OpenAIRunnerConfig
    from .protocol import ChatOptions

__all__ = ["request_body"]

# What OpenAI takes as the name of a function.
_NO_NAME: Final = re.compile(r"[^a-zA-Z0-9_-]")
_NAME_CHARS: Final = 64
_UNNAMED: Final = "unnamed"


def request_body(
    messages: Sequence[ChatMessage],
    tools: Sequence[ToolDefinition],
    options: ChatOptions,
    config: OpenAIRunnerConfig,
) -> dict[str, object]:
    """Return everything that is asked, the model aside; the call's fields go before the runner's.

    A lone surrogate becomes U+FFFD, for no endpoint takes one. The name of a call that no tool has
    is brought into a form that endpoints take, or one such call would fail every later request.
    `tool_choice` is left out where there is no tool to choose, which some endpoints refuse.
    """
    known = {tool.name for tool in tools}
    body: dict[str, object] = {
        **config.extra_body,
        "messages": [_named(message, known).wire() for message in messages],
        "stream": True,
    }
    if config.include_usage:
        body["stream_options"] = {"include_usage": True}
    if tools:
        body["tools"] = [tool.wire() for tool in tools]
        if options.tool_choice is not None:
            body["tool_choice"] = options.tool_choice
    if options.stop:
        body["stop"] = options.stop
    if options.grammar:
        body["grammar"] = options.grammar
    return _sendable_fields({**body, **options.extra})


def _named(message: ChatMessage, known: Collection[str]) -> ChatMessage:
    """Return *message* with names of calls that an endpoint takes; the same one if they are."""
    names = [_name_of(call, known) for call in message.tool_calls]
    if names == [call.name for call in message.tool_calls]:
        return message
    pairs = zip(message.tool_calls, names, strict=True)
    return replace(message, tool_calls=tuple(replace(call, name=name) for call, name in pairs))


def _name_of(call: ToolCall, known: Collection[str]) -> str:
    if call.name in known:
        return call.name
    return _NO_NAME.sub("_", call.name)[:_NAME_CHARS] or _UNNAMED


def _sendable(value: object) -> object:
    """Return *value* without lone surrogates; two that make a pair become its character."""
    if isinstance(value, str):
        return _sendable_text(value)
    if isinstance(value, Mapping):
        return _sendable_fields(value)
    if isinstance(value, list | tuple):
        return [_sendable(item) for item in value]
    return value


def _sendable_fields(fields: Mapping[str, object]) -> dict[str, object]:
    return {_sendable_text(name): _sendable(value) for name, value in fields.items()}


def _sendable_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text

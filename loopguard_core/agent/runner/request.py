"""The body of a request: what a model call asks, as the OpenAI protocol spells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loopguard_core.agent.chat import ChatMessage, ToolDefinition

    from .config import OpenAIRunnerConfig
    from .protocol import ChatOptions

__all__ = ["request_body"]


def request_body(
    messages: Sequence[ChatMessage],
    tools: Sequence[ToolDefinition],
    options: ChatOptions,
    config: OpenAIRunnerConfig,
) -> dict[str, object]:
    """Return everything that is asked, the model aside; the call's fields go before the runner's.

    A lone surrogate becomes U+FFFD, for no endpoint takes one. `tool_choice` is left out where
    there is no tool to choose, which some endpoints refuse.
    """
    body: dict[str, object] = {
        **config.extra_body,
        "messages": [message.wire() for message in messages],
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

"""One streaming model call: what it is given, and what comes back piece by piece.

Source: agent specification, sections 1, 16 and 18.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from loopguard_core.agent.chat import ChatMessage, ToolCall, ToolDefinition
from loopguard_core.reply import ExactFinding

__all__ = ["REPETITION", "ChatOptions", "Chunk", "LLMRunner", "TokenReport"]

REPETITION: Final = "repetition"
"""The stop reason of a reply that was cut because it went round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenReport:
    """What an endpoint says a call cost, as its `usage` spells it.

    Args:
        prompt: Tokens of the prompt, cached ones included.
        completion: Tokens of the reply.
        total: Of both, as the endpoint counted them.
        cached: The nested count of cached prompt tokens (`prompt_tokens_details`).
        cache_read: The flat count of tokens read from a cache (`cache_read_input_tokens`).
        cache_creation: The flat count of tokens written to a cache.
    """

    prompt: int = 0
    completion: int = 0
    total: int = 0
    cached: int = 0
    cache_read: int = 0
    cache_creation: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One piece of a streamed reply.

    Args:
        content: Text.
        call: A complete tool call, whose arguments need not be fit.
        done: The reply is over; a usage report may still follow.
        error: The stream failed; nothing follows.
        usage: What the call cost.
        partial: Calls that were open when the stream failed; only beside an error.
        stop_reason: Why the reply ended, as the endpoint said, or `REPETITION`.
        finding: What went round, with `REPETITION` alone.
    """

    content: str = ""
    call: ToolCall | None = None
    done: bool = False
    error: Exception | None = None
    usage: TokenReport | None = None
    partial: tuple[ToolCall, ...] = ()
    stop_reason: str = ""
    finding: ExactFinding | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """What is asked of one model call beyond messages and tools.

    Args:
        trace_id: The thread, for whoever follows requests.
        grammar: A GBNF grammar for servers that take one; empty for none.
        stop: Texts that end a reply.
        tool_choice: As the OpenAI protocol spells it: `auto`, `none`, `required`, a tool's name
            in its object form, or None to say nothing.
        extra: Further fields of the request body, such as `temperature`.
    """

    trace_id: str = ""
    grammar: str = ""
    stop: tuple[str, ...] = ()
    tool_choice: str | Mapping[str, object] | None = None
    extra: Mapping[str, object] = field(default_factory=dict)


class LLMRunner(Protocol):
    """Asks a model once. What it raises, and an error chunk, fail the call alike."""

    def stream(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolDefinition] = (),
        options: ChatOptions | None = None,
    ) -> AsyncIterator[Chunk]:
        """Return the reply, piece by piece; closing the iterator closes the connection."""
        ...

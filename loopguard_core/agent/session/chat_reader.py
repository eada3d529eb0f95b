"""One model call: what is asked, and the stream read to its end.

Source: agent specification, section 6, "Chat".
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

from loopguard_core.agent.budget import byte_length
from loopguard_core.agent.entries import new_id
from loopguard_core.agent.heredoc import (
    close_heredoc,
    heredoc_grammar,
    parse_heredoc,
)
from loopguard_core.agent.tracing import span

from .reading import Reading, Reply
from .stages import stage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from loopguard_core.agent.chat import ChatMessage, ToolDefinition
    from loopguard_core.agent.runner import ChatOptions, Chunk
    from loopguard_core.agent.tracing import Span
    from loopguard_core.guard import GuardedReply

    from .options import SessionOptions

__all__ = ["ChatReader"]


class ChatReader:
    """Asks the model of a session.

    Args:
        options: The session's.
    """

    def __init__(self, options: SessionOptions) -> None:
        self._options = options
        self._tools = () if options.is_heredoc else tuple(options.tools)
        self._chat = replace(options.chat_opts, trace_id=options.thread_id)
        if options.is_heredoc:
            # a tool that has to be called leaves no room for an answer in prose
            allows_prose = not options.forced_terminal_tool
            grammar = heredoc_grammar(options.tools, allow_prose=allows_prose)
            self._chat = replace(self._chat, grammar=grammar, stop=(), tool_choice=None)

    async def ask(
        self, messages: Sequence[ChatMessage], watch: GuardedReply | None = None
    ) -> Reply:
        """Ask with the session's tools.

        Args:
            messages: What the model is sent.
            watch: Reads along and may cut the reply; None for no guard.

        Raises:
            TurnError: The call or its stream failed, at the stage `chat`; what came is lost.
        """
        return await self._traced(messages, self._tools, self._chat, watch)

    async def ask_without_tools(self, messages: Sequence[ChatMessage]) -> Reply:
        """Ask for an answer in words; calls that come all the same are not looked at.

        Raises:
            TurnError: As for `ask`.
        """
        options = replace(self._chat, grammar="", tool_choice=None)
        return await self._traced(messages, (), options, None)

    async def _traced(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolDefinition],
        chat: ChatOptions,
        watch: GuardedReply | None,
    ) -> Reply:
        options = self._options
        with span(
            options.tracer,
            f"{options.span_prefix}.streamChat",
            thread_id=options.thread_id,
            session_id=options.session_id,
            n_messages=len(messages),
        ) as traced:
            reply = Reply()
            try:
                chunks = _chunks(options.runner.stream, messages, tools, chat)
                reply = await self._read(chunks, watch)
            finally:
                _describe(traced, reply)
            return reply

    async def _read(self, chunks: AsyncGenerator[Chunk, None], watch: GuardedReply | None) -> Reply:
        started = perf_counter()
        reading = Reading(self._options.on_assistant_token, watch)
        async with aclosing(chunks):
            async for chunk in chunks:
                await reading.take(chunk)
                if reading.is_over:
                    break
        latency_ms = round((perf_counter() - started) * 1_000)
        reply = replace(reading.reply(), latency_ms=latency_ms)
        is_read = self._options.is_heredoc and reply.cut is None
        return _with_heredoc_calls(reply) if is_read else reply


def _with_heredoc_calls(reply: Reply) -> Reply:
    """Take the text of *reply* apart; native calls beside it are discarded."""
    parsed = parse_heredoc(close_heredoc(reply.text), new_id=new_id)
    if parsed.error is not None:
        return replace(reply, text=parsed.prose.strip(), calls=(), fault=parsed.error)
    return replace(reply, text=parsed.prose, calls=parsed.calls)


async def _chunks(
    stream: Callable[..., AsyncIterator[Chunk]],
    messages: Sequence[ChatMessage],
    tools: Sequence[ToolDefinition],
    options: ChatOptions,
) -> AsyncGenerator[Chunk, None]:
    """Ask, and yield what comes until the consumer has enough; then the connection is closed.

    Raises:
        TurnError: The call, its stream, or an error chunk in it.
    """
    with stage("chat"):
        chunks = aiter(stream(messages, tools, options))
    try:
        while (chunk := await _next(chunks)) is not None:
            yield chunk
    finally:
        if isinstance(chunks, AsyncGenerator):
            await chunks.aclose()


async def _next(chunks: AsyncIterator[Chunk]) -> Chunk | None:
    with stage("chat"):
        chunk = await anext(chunks, None)
        if chunk is not None and chunk.error is not None:
            raise chunk.error
        return chunk


def _describe(traced: Span, reply: Reply) -> None:
    """Add to the span of a chat what came of it; of one that failed nothing did."""
    traced.set("n_tool_calls", len(reply.calls)).set("response_chars", byte_length(reply.text))
    if (report := reply.report) is None:
        return
    traced.set("prompt_tokens", report.prompt).set("completion_tokens", report.completion)
    traced.set("total_tokens", report.total)
    if report.cache_read > 0:
        traced.set("cache_read_input_tokens", report.cache_read)
    if report.cache_creation > 0:
        traced.set("cache_creation_input_tokens", report.cache_creation)

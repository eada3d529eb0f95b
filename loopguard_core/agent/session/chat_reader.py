"""One model call: what is asked, and the stream read to its end.

Source: agent specification, section 6, "Chat".
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING

from loopguard_core.agent.budget import byte_length
from loopguard_core.agent.chat import ToolCall
from loopguard_core.agent.entries import new_id
from loopguard_core.agent.heredoc import (
    HeredocFault,
    close_heredoc,
    heredoc_grammar,
    parse_heredoc,
)
from loopguard_core.agent.runner import REPETITION, TokenReport
from loopguard_core.agent.tracing import span
from loopguard_core.guard.verdict import Action

from .awaiting import settled
from .cut import GuardCut, RepetitionCut
from .stages import stage
from .thread import arguments_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from loopguard_core.agent.chat import ChatMessage, ToolDefinition
    from loopguard_core.agent.runner import ChatOptions, Chunk
    from loopguard_core.agent.tracing import Span
    from loopguard_core.guard import GuardedReply, Verdict

    from .options import OnToken, SessionOptions

__all__ = ["ChatReader", "Reply", "with_ids"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came of one model call.

    Args:
        text: The prose, whole even if the reply was cut.
        calls: Each with an id; none where the reply was cut or could not be read.
        report: What the endpoint says it cost; None if it said nothing.
        latency_ms: From the request to the end of the stream.
        cut: Why the reply was cut; None if it was not.
        fault: Why its calls cannot be read; None if they can.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    report: TokenReport | None = None
    latency_ms: int = 0
    cut: RepetitionCut | GuardCut | None = None
    fault: HeredocFault | None = None


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
            grammar = heredoc_grammar(options.tools)
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
        reading = _Reading(self._options.on_assistant_token, watch)
        async with aclosing(chunks):
            async for chunk in chunks:
                await reading.take(chunk)
                if reading.is_over:
                    break
        latency_ms = round((perf_counter() - started) * 1_000)
        reply = replace(reading.reply(), latency_ms=latency_ms)
        is_read = self._options.is_heredoc and reply.cut is None
        return _with_heredoc_calls(reply) if is_read else reply


class _Reading:
    """What came of a stream so far.

    Args:
        on_token: Is given each text as it comes.
        watch: Reads along and may cut the reply; None for no guard.
    """

    def __init__(self, on_token: OnToken | None, watch: GuardedReply | None) -> None:
        self._on_token = on_token
        self._watch = watch
        self._texts: list[str] = []
        self._calls: list[ToolCall] = []
        self._report: TokenReport | None = None
        self._cut: RepetitionCut | GuardCut | None = None
        self._done = False

    @property
    def is_over(self) -> bool:
        """True once nothing that follows is of use.

        Without a report the stream is read to its end: some endpoints send it last.
        """
        return isinstance(self._cut, GuardCut) or (self._done and self._report is not None)

    async def take(self, chunk: Chunk) -> None:
        """Take the next piece."""
        if chunk.content:
            await self._take_text(chunk.content)
        if chunk.call is not None:
            self._take_call(chunk.call)
        if chunk.usage is not None:
            self._report = chunk.usage
        if chunk.finding is not None and chunk.stop_reason == REPETITION:
            self._cut = RepetitionCut(chunk.finding)
        self._done = self._done or chunk.done

    def reply(self) -> Reply:
        """Return what came; the calls of a reply that was cut are dropped."""
        calls = () if self._cut is not None else with_ids(self._calls)
        return Reply(text="".join(self._texts), calls=calls, report=self._report, cut=self._cut)

    async def _take_text(self, text: str) -> None:
        self._texts.append(text)
        if self._on_token is not None:
            await settled(self._on_token(text))
        if self._watch is not None:
            self._judge(self._watch.feed(text))

    def _take_call(self, call: ToolCall) -> None:
        self._calls.append(call)
        if self._watch is not None:
            self._judge(self._watch.feed_call(call.name, arguments_of(call.arguments)))

    def _judge(self, verdict: Verdict) -> None:
        if self._watch is not None and verdict.action is Action.HALT:
            self._cut = GuardCut(self._watch.finding, self._watch.keep_chars)


def with_ids(calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    """Return the calls, each with an id of its own where it has none (quirk Q05)."""
    return tuple(call if call.id else replace(call, id=new_id()) for call in calls)


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

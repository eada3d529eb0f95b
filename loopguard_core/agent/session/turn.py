"""One turn: round after round of context, model and tools, until the model has nothing to call.

Source: agent specification, section 6.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from loopguard_core.agent.chat import ChatMessage
from loopguard_core.agent.entries import in_order
from loopguard_core.agent.errors import MaxTurnsError, TurnError, TurnStoppedError
from loopguard_core.agent.shaping import reporting_compactions, sending_beside
from loopguard_core.agent.tracing import span
from loopguard_core.guard.guidance import answer_instruction, halt_text
from loopguard_core.tokens import written

from .awaiting import settled
from .chat_reader import ChatReader
from .exchange import ToolRunner
from .notices import TOOL_LOOP
from .prompt import system_text
from .reading import Reply, with_ids
from .record import TurnRecord
from .repeats import Repeats
from .shown import with_results_cut
from .spoiled import SpoiledReplies
from .stages import stage
from .watching import Halted
from .writing import Writer

if TYPE_CHECKING:
    from loopguard_core.agent.entries import CompactionInfo, Entry
    from loopguard_core.agent.render import ContextBuilder
    from loopguard_core.guard import Verdict

    from .options import SessionOptions
    from .result import TurnResult
    from .state import SessionState

__all__ = ["Turn"]


class Turn:
    """One turn of a session.

    Args:
        options: The session's.
        build: Builds each context.
        state: What outlives the turn; it is changed.
    """

    def __init__(self, options: SessionOptions, build: ContextBuilder, state: SessionState) -> None:
        self._options = options
        self._build = build
        self._state = state
        self._system = system_text(options)
        # in heredoc the system text describes the tools
        sent = () if options.is_heredoc else options.tools
        self._tool_texts = [written(tool.wire()) for tool in sent]
        self._chat = ChatReader(options)
        self._writer = Writer(options, state.clock)
        self._record = TurnRecord(options, state, self._writer)
        self._tools = ToolRunner(options, state.watch, self._writer, self._record.slots)
        self._repeats = Repeats(options.repeat_limit)
        self._spoiled = SpoiledReplies(options, state.watch, self._writer)

    async def run(self) -> TurnResult:
        """Go round until the turn ends.

        Raises:
            TurnError: It failed; what it had come to is in the error's `result`.
        """
        options = self._options
        try:
            with span(
                options.tracer,
                f"{options.span_prefix}.Turn",
                thread_id=options.thread_id,
                session_id=options.session_id,
            ):
                await self._run()
        except TurnError as error:
            error.result = self._record.result
            raise
        return self._record.result

    async def _run(self) -> None:
        await self._begin()
        try:
            for _ in range(self._options.round_limit):
                if await self._round():
                    return
        except Halted as halted:
            await self._halt(halted.verdict)
            return
        raise MaxTurnsError(self._options.round_limit, self._tools.missing_tool)

    async def _begin(self) -> None:
        """Take note, once, of what the store holds from before."""
        if not self._state.has_begun:
            entries = await self._entries()
            self._state.clock.follow(entries)
            self._state.watch.begin(entries)
            self._state.has_begun = True

    async def _round(self) -> bool:
        """Ask the model once and do what it says; return True if the turn is over."""
        await self._claim("claim_pending")
        await self._prepare()
        messages = await self._context()
        reply = await self._chat.ask(messages, self._state.watch.watch_reply())
        calls = reply.calls
        if self._options.on_tool_calls is not None:
            calls = with_ids(await settled(self._options.on_tool_calls(calls)))
        await self._record.count(reply)
        await self._record.keep(reply)
        if await self._spoiled.note(reply):
            return False
        if not calls:
            return await self._claim("recheck_pending") == 0
        exchange = await self._tools.run(calls)
        if exchange.closed:
            self._record.result = replace(self._record.result, closed=True)
            return True
        if notice := self._repeats.notice(exchange):
            await self._writer.notice("persist_tool_result", TOOL_LOOP, notice)
        return False

    async def _claim(self, at: Literal["claim_pending", "recheck_pending"]) -> int:
        """Take what arrived into the context; return how much that was."""
        options = self._options
        with stage(at):
            return await options.store.claim_pending(options.session_id, self._state.clock())

    async def _prepare(self) -> None:
        with stage("prepare_notifications"):
            if self._options.preparer is not None:
                await settled(self._options.preparer(self._options.session_id))

    async def _entries(self) -> list[Entry]:
        with stage("build_context"):
            return in_order(await self._options.store.context(self._options.session_id))

    async def _context(self) -> list[ChatMessage]:
        """Build what the model is sent, and take note of what it costs."""
        messages = await self._built()
        told = await self._state.watch.look(self._entries)
        if told:
            messages.append(ChatMessage(role="user", content=told))
        self._record.price(messages)
        return messages

    async def _built(self) -> list[ChatMessage]:
        """Build the context; what was folded for it is told, also when building failed."""
        folds: list[CompactionInfo] = []
        try:
            with (
                stage("build_context"),
                reporting_compactions(folds.append),
                sending_beside(self._tool_texts),
            ):
                built = await self._build(self._options.session_id, self._system)
        finally:
            await self._record.folded(folds)
        limit = self._options.max_tool_result_chars
        return with_results_cut(built, limit, self._tools.newest_call)

    async def _halt(self, verdict: Verdict) -> None:
        """End a turn that the guard halted, as its policy says.

        Raises:
            TurnStoppedError: The policy asks for it.
        """
        self._record.result = replace(self._record.result, stopped_by=verdict)
        on_halt = self._options.guard.policy.on_halt if self._options.guard else "end"
        if on_halt == "raise":
            raise TurnStoppedError(verdict)
        reply = await self._last_answer(verdict) if on_halt == "answer" else Reply()
        if not reply.text:
            reply = replace(reply, text=halt_text(verdict))
        await self._record.keep(reply)

    async def _last_answer(self, verdict: Verdict) -> Reply:
        """Ask once more, without tools, for an answer from what is known."""
        messages = await self._built()
        told = ChatMessage(role="user", content=answer_instruction(verdict))
        reply = await self._chat.ask_without_tools([*messages, told])
        await self._record.count(reply)
        return reply

"""One step of a guarded agent: what came back, one or more model calls, what they ask for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from llama_index.core.agent.workflow import AgentOutput, ToolCallResult
from llama_index.core.llms import ChatMessage, MessageRole
from llama_index.core.tools import AsyncBaseTool, ToolOutput
from llama_index.core.workflow import Context

from loopguard_core import Action, LoopDetected, Message, Policy, Verdict
from loopguard_core.guard.guidance import (
    answer_instruction,
    halt_text,
    unexecuted_text,
    verdict_record,
)
from loopguard_core.guard.handoffs import handoff_result, said_with_handoff

from ._asking import question_id
from ._content import Requested
from ._convert import reply_parts
from ._drafts import Draft
from ._log import kept
from ._reply import CutReply, WatchedReply
from ._state import RunState

if TYPE_CHECKING:
    from llama_index.core.llms.llm import ToolSelection


__all__ = ["AgentStep", "Ask", "Finalize"]

_HANDOFF: Final = "handoff"
"""The tool by which an `AgentWorkflow` passes a run on (llama-index-core 0.14.25)."""

Ask: TypeAlias = Callable[[WatchedReply, Sequence[AsyncBaseTool]], Awaitable[AgentOutput]]
"""Lets the agent make its own step, with a watch on the reply and with these tools."""

Finalize: TypeAlias = Callable[[AgentOutput], Awaitable[AgentOutput]]
"""Lets the agent put what it has written into memory."""


@dataclass(slots=True)
class AgentStep:
    """What happens in one `take_step` of a guarded agent.

    Args:
        name: The agent.
        policy: Says how blocked calls are answered and how a halted run ends.
        state: The run; it is changed.
        draft: What the agent has written in this run.
        ctx: Where events go.
        ask: Asks the model, as the unguarded agent would.
        finalize: Ends the agent's run, as the unguarded agent would.
        askable: The tools that ask a person before a blocked call runs.
    """

    name: str
    policy: Policy
    state: RunState
    draft: Draft
    ctx: Context
    ask: Ask
    finalize: Finalize
    askable: frozenset[str] = frozenset()
    _behind: dict[str, str] = field(default_factory=dict)
    _extra: list[ChatMessage] = field(default_factory=list)

    async def take(self, tools: Sequence[AsyncBaseTool]) -> AgentOutput:
        """Observe results, judge, ask the model, judge what it wants; end the run if need be.

        Where every call of a reply is blocked the model is asked again at once: for the
        framework, a step without calls is the end of the run.
        """
        verdict = self._observe_results()
        while verdict.action is not Action.HALT:
            verdict = self._check_thread()
            if verdict.action is Action.HALT:
                break
            self._tell(verdict.guidance)
            reply = await self._reply(tools)
            if isinstance(reply, Verdict):
                verdict = reply
                break
            calls = reply.tool_calls
            verdicts = self._check(calls)
            halting = next((v for v in verdicts if v.action is Action.HALT), None)
            if halting is not None:
                await self._close(calls, verdicts, halting)
                verdict = halting
                break
            self.state.said = said_with_handoff(reply.response.content or "")
            reply.tool_calls = await self._refuse(calls, verdicts)
            if reply.tool_calls or not calls:
                return reply
            self._behind, self._extra = {}, []  # what was told is told once
        return await self._halt(verdict)

    def _observe_results(self) -> Verdict:
        """Give the newest results to the run, in the order of their calls."""
        state, verdict = self.state, Verdict()
        asked = dict.fromkeys(state.allowed, True)
        for call_id, name, arguments, returned, is_error in state.results:
            result = handoff_result(returned, state.said) if name == _HANDOFF else returned
            question = question_id(name, arguments) if asked else ""
            if question in asked:
                if asked[question]:
                    state.run.allow_call(name, arguments)
                    asked[question] = False
                state.run.check_call(name, arguments, call_id)
            state.log.add(
                Message.tool_response(name, arguments, kept(result), call_id, is_error=is_error)
            )
            if verdict.action is Action.HALT:
                continue
            verdict = state.run.observe_result(
                name, arguments, result, call_id=call_id, is_error=is_error
            )
            if verdict.guidance and verdict.action is not Action.HALT:
                self._behind[call_id] = verdict.guidance
        state.forget_calls()
        return verdict

    def _check_thread(self) -> Verdict:
        verdict = self.state.run.check_thread(self.state.log)
        self.state.log.forget()
        return verdict

    async def _reply(self, tools: Sequence[AsyncBaseTool]) -> AgentOutput | Verdict:
        """Ask the model until it replies without going round; the verdict if that ends the run."""
        run, log = self.state.run, self.state.log
        said: list[str] = []
        while True:
            reply = self._watched()
            try:
                output = await self.ask(reply, tools)
            except CutReply:
                verdict = run.reply_cut()
                if reply.kept_text:
                    said.append(reply.kept_text)
                    log.add(Message.bot(reply.kept_text))
                    self._extra.append(_said(reply.kept_text))
                if verdict.action is Action.HALT:
                    await self.draft.keep(said, before_last=False)
                    return verdict
                self._tell(verdict.guidance)
                continue
            run.reply_done()
            if said:
                await self.draft.keep(said, before_last=True)
            content = await self.draft.said(output)
            content.reasoning = content.reasoning or reply.thought
            parts = reply_parts(content, [_requested(call) for call in output.tool_calls])
            log.extend(parts) if content.others else log.add(*parts)
            return output

    def _check(self, calls: Sequence[ToolSelection]) -> list[Verdict]:
        """Judge all calls of a reply, in their order, before any of them runs."""
        run = self.state.run
        return [run.check_call(c.tool_name, c.tool_kwargs, c.tool_id) for c in calls]

    async def _refuse(
        self, calls: Sequence[ToolSelection], verdicts: Sequence[Verdict]
    ) -> list[ToolSelection]:
        """Answer blocked calls; return those that go on, to run or to be asked about."""
        going: list[ToolSelection] = []
        for call, verdict in zip(calls, verdicts, strict=True):
            if verdict.action is not Action.BLOCK:
                going.append(call)
            elif call.tool_name in self.askable:
                self.state.blocked[_question(call)] = verdict.guidance
                going.append(call)
            else:
                await self._answer(call, verdict.guidance)
        if self.state.blocked:
            allowed = [c for c, v in zip(calls, verdicts, strict=True) if v.action < Action.BLOCK]
            self.state.free = dict(Counter(map(_question, allowed)))
        self.state.calls = [[c.tool_id, c.tool_name, c.tool_kwargs] for c in going]
        return going

    async def _close(
        self, calls: Sequence[ToolSelection], verdicts: Sequence[Verdict], halting: Verdict
    ) -> None:
        """Answer every call of the reply that ends the run."""
        for call, verdict in zip(calls, verdicts, strict=True):
            why = verdict.guidance if verdict is halting else unexecuted_text(halting)
            await self._answer(call, why)

    async def _answer(self, call: ToolSelection, why: str) -> None:
        """Answer a call that is not executed: in the draft, in the log, and to who listens."""
        name, arguments, call_id = call.tool_name, call.tool_kwargs, call.tool_id
        await self.draft.answer(call_id, why)
        self.state.log.add(Message.tool_response(name, arguments, why, call_id, is_error=True))
        output = ToolOutput(name, content=why, raw_input=arguments, is_error=True)
        self.ctx.write_event_to_stream(
            ToolCallResult(
                tool_name=name,
                tool_kwargs=arguments,
                tool_id=call_id,
                tool_output=output,
                return_direct=False,
            )
        )

    async def _halt(self, verdict: Verdict) -> AgentOutput:
        """End the run as the policy says, with a history that is whole."""
        if self.policy.on_halt == "answer":
            output = await self._last_answer(verdict)
        else:
            output = await self._last_words(halt_text(verdict))
        output["loopguard"] = verdict_record(verdict)
        self.state.log.add(Message.bot(output.response.content or ""))
        if self.policy.on_halt == "raise":
            await self.finalize(output)
            raise LoopDetected(verdict)
        return output

    async def _last_answer(self, verdict: Verdict) -> AgentOutput:
        """Ask the model once more, without tools; fall back to our own words."""
        self._tell(answer_instruction(verdict))
        reply = self._watched()
        try:
            output = await self.ask(reply, [])
        except CutReply:
            return await self._last_words(reply.kept_text or halt_text(verdict))
        if output.tool_calls:
            await self.draft.withdraw()  # it called a tool that it was not offered
        if output.tool_calls or output.retry_messages:
            return await self._last_words(halt_text(verdict))
        return output

    async def _last_words(self, text: str) -> AgentOutput:
        await self.draft.close(text)
        return AgentOutput(response=_said(text), current_agent_name=self.name)

    def _watched(self) -> WatchedReply:
        watch = self.state.run.watch_reply(self.state.log)
        return WatchedReply(watch, raises=True, behind=self._behind, extra=self._extra)

    def _tell(self, guidance: str) -> None:
        """Let the model read *guidance*: in what is sent, never in what is stored."""
        if guidance:
            self._extra.append(ChatMessage(role=MessageRole.USER, content=guidance))


def _said(text: str) -> ChatMessage:
    return ChatMessage(role=MessageRole.ASSISTANT, content=text)


def _question(call: ToolSelection) -> str:
    return question_id(call.tool_name, call.tool_kwargs)


def _requested(call: ToolSelection) -> Requested:
    return Requested(call.tool_id, call.tool_name, call.tool_kwargs)

"""One reply's calls and their results: kept, checked, run, kept again.

Source: agent specification, section 6, steps 13 to 15, and section 7.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from loopguard_core.agent.arguments import gate_arguments
from loopguard_core.agent.chat import ToolCall
from loopguard_core.agent.dispatch import AbortTurn, run_tool, session_closed
from loopguard_core.agent.errors import TurnError
from loopguard_core.guard.guidance import append_guidance, unexecuted_text
from loopguard_core.guard.verdict import ALLOWED, Action, Verdict

from .awaiting import settled
from .notices import ABORTED, NO_TOOLS, error_result, unknown_tool
from .watching import Halted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard_core.agent.transclusion import Slots

    from .options import SessionOptions
    from .watching import Watch
    from .writing import Writer

__all__ = ["Exchange", "ToolRunner"]

_LOGGER: Final = logging.getLogger("loopguard")


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one reply called and what came back.

    Args:
        calls: As the model wrote them.
        results: As they are stored, without what the guard adds.
        closed: True if one of them closed the session.
    """

    calls: tuple[ToolCall, ...]
    results: tuple[str, ...]
    closed: bool


@dataclass(slots=True)
class _Planned:
    """A call on its way.

    Args:
        call: With the arguments that are stored: repaired, or what stands in for refused ones.
        refusal: What answers it if its arguments cannot be used; empty if they can.
        verdict: What the guard says of it.
    """

    call: ToolCall
    refusal: str
    verdict: Verdict = ALLOWED


@dataclass(frozen=True, slots=True)
class _Answer:
    """What came of one call: raw text, and whether it is an error or ends the session."""

    text: str
    is_error: bool = False
    closed: bool = False


class ToolRunner:
    """Runs the calls of one turn.

    Args:
        options: The session's.
        watch: The session's guard.
        writer: Keeps calls and results.
        slots: Captures every result of the turn.
    """

    def __init__(self, options: SessionOptions, watch: Watch, writer: Writer, slots: Slots) -> None:
        self._options = options
        self._watch = watch
        self._writer = writer
        self._slots = slots
        self._forced_was_called = False
        self.newest_call: ToolCall | None = None

    @property
    def missing_tool(self) -> str:
        """The tool that has to be called and was not; empty for none."""
        return "" if self._forced_was_called else self._options.forced_terminal_tool

    async def run(self, calls: Sequence[ToolCall]) -> Exchange:
        """Keep the calls, run what may run, and keep every result.

        Raises:
            Halted: The guard ends the turn.
            TurnError: The store failed, or a dispatcher aborted the turn.
        """
        batch = [_planned(call) for call in calls]
        for planned in batch:
            await self._writer.call(planned.call)
        await self._judge(batch)
        answers = [await self._answered(batch, at) for at in range(len(batch))]
        results = tuple(answer.text for answer in answers)
        return Exchange(tuple(calls), results, any(answer.closed for answer in answers))

    async def _judge(self, batch: Sequence[_Planned]) -> None:
        """Check every call before any runs; a halt answers them all."""
        for planned in batch:
            self._note_forced(planned.call)
            planned.verdict = self._watch.check(planned.call)
            if planned.verdict.action is Action.HALT:
                await self._halt(batch, planned.verdict, halting=planned)

    def _note_forced(self, call: ToolCall) -> None:
        if call.name == self._options.forced_terminal_tool:
            self._forced_was_called = True

    async def _answered(self, batch: Sequence[_Planned], at: int) -> _Answer:
        """Answer the call at *at* and keep the result."""
        planned = batch[at]
        try:
            answer = await self._answer(planned)
        except AbortTurn as abort:
            await self._writer.result(planned.call, error_result(abort))
            for other in batch[at + 1 :]:
                await self._writer.result(other.call, ABORTED)
            raise TurnError("dispatch", abort) from abort
        if planned.verdict.action is Action.BLOCK:  # ours, and no result of a tool
            await self._writer.result(planned.call, answer.text)
            return answer
        self._slots.capture(answer.text)
        self.newest_call = planned.call
        stored = self._encoded(answer.text)
        verdict = self._watch.observe(planned.call, answer.text, is_error=answer.is_error)
        await self._writer.result(planned.call, append_guidance(stored, verdict.guidance))
        if verdict.action is Action.HALT:
            await self._halt(batch[at + 1 :], verdict)
        return replace(answer, text=stored)

    def _encoded(self, result: str) -> str:
        """Return a result as it is stored; the tool has run, so a failing encoder loses nothing."""
        encode = self._options.encode_tool_result
        if encode is None:
            return result
        try:
            return encode(result)
        except Exception:  # an encoder of the host's own
            _LOGGER.exception("a tool result is stored as it came: its encoder failed")
            return result

    async def _answer(self, planned: _Planned) -> _Answer:
        """Refuse, block or run one call.

        Raises:
            AbortTurn: The dispatcher says so.
        """
        if await self._is_blocked(planned):
            return _Answer(planned.verdict.guidance, is_error=True)
        dispatch, refusal = self._options.dispatch, self._refusal(planned)
        if refusal or dispatch is None:
            return _Answer(refusal or NO_TOOLS, is_error=True)
        try:
            return _Answer(await run_tool(dispatch, planned.call))
        except AbortTurn:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is an answer
            signal = session_closed(error)
            if signal is not None:
                return _Answer(signal.result, closed=True)
            return _Answer(error_result(error), is_error=True)

    def _refusal(self, planned: _Planned) -> str:
        """Return why a call cannot be run; empty if it can."""
        name, offered = planned.call.name, [tool.name for tool in self._options.tools]
        if planned.refusal or not offered or name in offered:
            return planned.refusal
        return unknown_tool(name, offered)

    async def _is_blocked(self, planned: _Planned) -> bool:
        """Return True if the guard blocks the call and nobody allows it."""
        if planned.verdict.action is not Action.BLOCK:
            return False
        ask = self._options.on_blocked_call
        if ask is None or not await settled(ask(planned.call, planned.verdict)):
            return True
        self._watch.allow(planned.call)
        planned.verdict = ALLOWED
        return False

    async def _halt(
        self, batch: Sequence[_Planned], verdict: Verdict, halting: _Planned | None = None
    ) -> None:
        """Answer what is open, so that the history stays whole, and end the turn.

        Raises:
            Halted: Always.
        """
        for planned in batch:
            why = verdict.guidance if planned is halting else unexecuted_text(verdict)
            await self._writer.result(planned.call, why)
        raise Halted(verdict)


def _planned(call: ToolCall) -> _Planned:
    gated = gate_arguments(call.arguments)
    return _Planned(replace(call, arguments=gated.stored), gated.refusal)

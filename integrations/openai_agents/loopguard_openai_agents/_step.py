"""One model call of a guarded run, as a generator that asks for replies and gets them.

It yields what the model is to be asked and is sent what it said, so that the streamed and the
plain call drive the same decisions.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from openai.types.responses import Response, ResponseOutputMessage

from loopguard_core import Action, Verdict
from loopguard_core.guard.guidance import answer_instruction, halt_text, unexecuted_text

from ._closing import closed, local_call, without
from ._final import Final
from ._halt import AgentLoopDetected, FinalMessage, message
from ._notes import user_note
from ._request import Asked
from ._said import Said
from ._tools import is_guarded

if TYPE_CHECKING:
    from agents import ModelResponse, TResponseInputItem

    from ._items import Call
    from ._live import LiveRun
    from ._request import Request

__all__ = ["ModelStep", "Steps"]


Steps: TypeAlias = Generator[Asked, Said, Final]


class ModelStep:
    """What happens around one call of the model.

    Args:
        live: The run that the call belongs to.
        request: The request as it came.
    """

    def __init__(self, live: LiveRun, request: Request) -> None:
        self._live = live
        self._on_halt = live.guard.policy.on_halt
        self._request = request
        self._natives: list[ModelResponse | Response] = []
        self._kept: list[Any] = []

    def steps(self) -> Steps:
        """Judge what came back, ask the model, judge what it said."""
        items = self._request.input
        while True:
            verdict = self._live.begin_step(items)
            if verdict.action is Action.HALT:
                return (yield from self._halt((), verdict))
            self._ask_with(self._live.with_notes(items))
            said, verdict = yield from self._reply()
            if verdict.action is Action.HALT:
                return (yield from self._halt((), verdict))
            judged = self._live.judge(said.output)
            if judged.halt is not None:
                return (yield from self._halt(said.output, judged.halt))
            refused = [call for call in judged.refused if not self._runner_refuses(call[0])]
            if not refused:
                return self._final(said.output)
            stopped = self._stop(said.output, {c.call_id: v.guidance for c, v in refused})
            if stopped is not None:
                return stopped
            items = self._request.input

    def _reply(self) -> Generator[Asked, Said, tuple[Said, Verdict]]:
        """Ask until a reply is not cut, or until one more cut has to end the run."""
        while True:
            said = yield Asked(self._request, self._live.watch())
            if said.native is not None:
                self._natives.append(said.native)
            if not said.cut:
                self._live.run.reply_done()
                return said, Verdict()
            verdict = self._live.run.reply_cut()
            kept = [] if said.kept is None else [said.kept]
            self._kept += kept
            if verdict.action is Action.HALT:
                return said, verdict
            again = (*closed(kept, {}, only_answers=False), user_note(verdict.guidance))
            self._ask_with([*self._request.input, *again])

    def _stop(self, output: Sequence[Any], reasons: dict[str | None, str]) -> Final | None:
        """Take calls out of a reply that the runner would execute, as hand-offs; tell the model.

        Returns:
            What is left of the reply; None if that is nothing to go on with: then the model is to
            be asked again, with `reasons` as the answers to its calls.
        """
        rest = without(output, reasons)
        if any(map(local_call, rest)):
            stopped = [item for item in output if item not in rest]
            self._live.send_later(
                *closed(stopped, reasons, only_answers=self._request.is_on_server)
            )
            return self._final(rest)
        self._kept += rest
        self._ask_with(self._after(output, reasons))
        return None

    def _runner_refuses(self, call: Call) -> bool:
        """Return True if the runner has a guarded tool for *call*, which will not execute it."""
        return any(tool.name == call.name and is_guarded(tool) for tool in self._request.tools)

    def _halt(self, said: Sequence[Any], verdict: Verdict) -> Steps:
        """End the run as the policy says; the calls of the last reply are not made any more."""
        if self._on_halt == "raise":
            raise AgentLoopDetected(verdict)
        # A conversation that the server keeps can only end with its open calls answered, and a
        # value of an output type can only come from the model.
        only_answers = self._request.is_on_server or not self._request.wants_text
        self._kept += without(said, {call.call_id for call in map(local_call, said) if call})
        answers = self._on_halt == "answer" or only_answers
        final = (yield from self._last_answer(said, verdict)) if answers else None
        if not self._request.takes(final):
            raise AgentLoopDetected(verdict)
        if final is None:
            ours = message(halt_text(verdict))
            return self._final([FinalMessage.of(ours, verdict)], unheard=ours)
        return self._final([FinalMessage.of(final, verdict)])

    def _last_answer(
        self, said: Sequence[Any], verdict: Verdict
    ) -> Generator[Asked, Said, ResponseOutputMessage | None]:
        """Ask the model once more, without tools; None if it does not answer."""
        reasons = {c.call_id: unexecuted_text(verdict) for c in map(local_call, said) if c}
        halting = self._live.halt[1] if self._live.halt else None
        if halting is not None and halting.call_id in reasons:
            reasons[halting.call_id] = verdict.guidance
        self._ask_with([*self._after(said, reasons), user_note(answer_instruction(verdict))])
        settings = replace(self._request.model_settings, tool_choice=None, parallel_tool_calls=None)
        request = replace(self._request, tools=[], handoffs=[], model_settings=settings)
        last = yield Asked(request, self._live.run.watch_reply())
        if last.native is not None:
            self._natives.append(last.native)
        if any(map(local_call, last.output)):
            return None  # it called a tool that it was not offered
        spoken = [item for item in last.output if isinstance(item, ResponseOutputMessage)]
        return spoken[-1] if spoken else last.kept

    def _after(
        self, said: Sequence[Any], reasons: dict[str | None, str]
    ) -> list[TResponseInputItem]:
        """Return the input that follows a reply whose calls were not executed."""
        if not self._request.is_on_server or not said:
            return [*self._request.input, *closed(said, reasons, only_answers=False)]
        if self._request.previous_response_id is not None:
            newest = self._natives[-1]
            reply_id = newest.id if isinstance(newest, Response) else newest.response_id
            self._request = replace(self._request, previous_response_id=reply_id)
        return closed(said, reasons, only_answers=True)

    def _ask_with(self, items: list[TResponseInputItem]) -> None:
        self._request = replace(self._request, input=items)

    def _final(self, output: Sequence[Any], unheard: ResponseOutputMessage | None = None) -> Final:
        output = [*self._kept, *output]
        natives = self._natives
        same = len(natives) == 1 and not self._kept and output == list(natives[0].output)
        self._live.judged = True
        return Final(output, natives, unheard, as_it_came=same)

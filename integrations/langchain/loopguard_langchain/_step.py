"""One model call of a guarded agent, as a generator that asks for replies and gets them.

The generator yields what the model is to be asked and is sent what it said, so that the sync and
the async hook drive the same decisions. It keeps nothing: state comes in and goes out as a record,
and a retried model call starts from the same state again.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from langchain.agents.middleware import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)
from langgraph.types import Command

from loopguard_core import Action, LoopDetected, Verdict
from loopguard_core.guard.guidance import (
    answer_instruction,
    halt_text,
    unexecuted_text,
    verdict_record,
)

from ._asking import refused
from ._convert import NeutralThread
from ._results import result_of, with_note
from ._state import newest_batch, record_of
from ._streaming import CutReply, ReplyWatcher

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage, ToolCall

    from loopguard_core import GuardedRun, Policy

__all__ = ["ModelStep", "Said", "Steps"]

Said: TypeAlias = ModelResponse[Any] | CutReply
Steps: TypeAlias = Generator[ModelRequest[Any], Said, ExtendedModelResponse[Any]]

_REASON = "loopguard"


class ModelStep:
    """What happens around one call of the model.

    Args:
        policy: Says how blocked calls are answered and how a halted run ends.
        run: The run, as the state has it; it is changed.
        turn: What to keep beside the run.
        request: The request as it came.
    """

    def __init__(
        self, policy: Policy, run: GuardedRun, turn: str | None, request: ModelRequest[Any]
    ) -> None:
        self._policy = policy
        self._run = run
        self._turn = turn
        self._request = request
        self._messages: Sequence[BaseMessage] = request.state["messages"]

    def steps(self) -> Steps:
        """Observe what came back, judge, ask the model, judge what it said."""
        thread = NeutralThread(self._messages)
        verdict = self._observe_results()
        if verdict.action is not Action.HALT:
            verdict = self._run.check_thread(thread)
        if verdict.action is Action.HALT:
            return (yield from self._halt([], verdict))
        self._tell(verdict.guidance)
        kept: list[AIMessage] = []
        while True:
            history = NeutralThread([*self._messages, *kept]) if kept else thread
            watcher = ReplyWatcher(self._run.watch_reply(history))
            said = yield watcher.watched(self._request)
            if not isinstance(said, CutReply) and not watcher.was_cut(said.result):
                break
            verdict = self._run.reply_cut()
            kept += self._keep(watcher.kept_text())
            if verdict.action is Action.HALT:
                return (yield from self._halt(kept, verdict))
            self._tell(verdict.guidance)
        self._run.reply_done()
        return (yield from self._judge_calls(kept, said))

    def _observe_results(self) -> Verdict:
        """Give the newest results to the run; a nudge goes behind the result it is about."""
        verdict = Verdict()
        calls, answers = newest_batch(self._messages)
        for call in calls:
            answer = answers.get(call["id"] or "")
            if answer is None:
                continue
            verdict = self._run.observe_result(
                call["name"],
                call["args"],
                result_of(answer),
                call_id=call["id"],
                is_error=answer.status == "error",
            )
            if verdict.action is Action.HALT:
                break
            self._tell(verdict.guidance, behind=answer)
        return verdict

    def _judge_calls(self, kept: list[AIMessage], said: ModelResponse[Any]) -> Steps:
        """Check all calls of a reply, in their order, before any of them runs."""
        messages: list[BaseMessage] = [*kept, *said.result]
        calls, answers = newest_batch(messages)
        refusals: list[ToolMessage] = []
        for call in calls:
            if call["id"] in answers:
                continue  # answered already, as structured output is
            verdict = self._run.check_call(call["name"], call["args"], call["id"])
            if verdict.action is Action.HALT:
                return (yield from self._halt(messages, verdict, halting=call))
            if verdict.action is Action.BLOCK and self._policy.on_block == "tell":
                refusals.append(refused(call, verdict.guidance))
        return self._response([*messages, *refusals], said.structured_response)

    def _halt(
        self, said: Sequence[BaseMessage], verdict: Verdict, halting: ToolCall | None = None
    ) -> Steps:
        """End the run as the policy says, every open call answered."""
        if self._policy.on_halt == "raise":
            raise LoopDetected(verdict)
        calls, answers = newest_batch(said)
        closed = [
            *said,
            *(
                refused(call, verdict.guidance if call is halting else unexecuted_text(verdict))
                for call in calls
                if call["id"] not in answers
            ),
        ]
        structured = None
        if self._policy.on_halt == "answer":
            final, structured = yield from self._last_answer(closed, verdict)
        else:
            final = [AIMessage(halt_text(verdict))]
        final[-1] = _with_reason(final[-1], verdict)
        return self._response([*closed, *final], structured, end=True)

    def _last_answer(
        self, closed: Sequence[BaseMessage], verdict: Verdict
    ) -> Generator[ModelRequest[Any], Said, tuple[list[BaseMessage], Any]]:
        """Ask the model once more, without tools; fall back to our own words."""
        instruction = HumanMessage(answer_instruction(verdict))
        watcher = ReplyWatcher(self._run.watch_reply())
        self._send(*closed, instruction)
        said = yield watcher.watched(self._request.override(tools=[], tool_choice=None))
        if isinstance(said, CutReply) or watcher.was_cut(said.result):
            return [*self._keep(watcher.kept_text())] or [AIMessage(halt_text(verdict))], None
        calls, answers = newest_batch(said.result)
        if all(call["id"] in answers for call in calls):
            return list(said.result), said.structured_response
        return [AIMessage(halt_text(verdict))], None  # it called a tool that it was not offered

    def _tell(self, guidance: str, behind: ToolMessage | None = None) -> None:
        """Let the model read *guidance*: in what is sent, never in what is stored."""
        if not guidance:
            return
        messages = list(self._request.messages)
        place = next((i for i, message in enumerate(messages) if message is behind), None)
        if behind is None or place is None:
            self._send(HumanMessage(guidance))
            return
        content = with_note(behind.content, guidance)
        messages[place] = behind.model_copy(update={"content": content})
        self._request = self._request.override(messages=messages)

    def _keep(self, text: str) -> list[AIMessage]:
        """Keep what a cut reply said, in the thread and in what the next try is sent."""
        if not text.strip():
            return []
        message = AIMessage(text)
        self._send(message)
        return [message]

    def _send(self, *messages: BaseMessage) -> None:
        """Send more messages behind those of the request."""
        sent = cast("list[AnyMessage]", [*self._request.messages, *messages])
        self._request = self._request.override(messages=sent)

    def _response(
        self, messages: list[BaseMessage], structured: object, *, end: bool = False
    ) -> ExtendedModelResponse[Any]:
        update: dict[str, Any] = {"loopguard": record_of(self._run, self._turn)}
        if end:
            update["jump_to"] = "end"
        return ExtendedModelResponse(ModelResponse(messages, structured), Command(update=update))


def _with_reason(message: BaseMessage, verdict: Verdict) -> BaseMessage:
    """Return a copy of the last message of a stopped run that carries the machine's reason."""
    metadata = {**message.response_metadata, _REASON: verdict_record(verdict)}
    return message.model_copy(update={"response_metadata": metadata})

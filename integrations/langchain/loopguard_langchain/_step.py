"""One step of a guarded agent: what happens around one call of the model.

A generator, like those of `_replies`, so that the sync and the async hook drive the same
decisions. It keeps nothing: state comes in and goes out as a record, and a model call that is
retried starts from the same state again.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, TypeAlias

from langchain.agents.middleware import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, ToolMessage
from langgraph.types import Command

from loopguard_core import Action, LoopDetected, Verdict
from loopguard_core.guard.guidance import halt_text, unexecuted_text, verdict_record

from ._asking import refused
from ._batch import head_of, newest_batch
from ._judging import Judging
from ._replies import Replies, Reply
from ._results import result_of
from ._sent import Sent
from ._state import saved_verdict, verdict_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import ToolCall

    from loopguard_core import GuardedRun, Policy

    from ._state import GuardRecord

__all__ = ["ModelStep", "Steps"]

Steps: TypeAlias = Generator[ModelRequest[Any], Reply, ExtendedModelResponse[Any]]

_REASON = "loopguard"


class ModelStep:
    """What happens around one call of the model.

    Args:
        policy: Says how blocked calls are answered and how a halted run ends.
        run: The run, as the state has it; it is changed.
        record: What the state has; None where `before_agent` did not run.
        request: The request as it came.
    """

    def __init__(
        self,
        policy: Policy,
        run: GuardedRun,
        record: GuardRecord | None,
        request: ModelRequest[Any],
    ) -> None:
        self._policy = policy
        self._run = run
        self._record = record
        self._history: Sequence[BaseMessage] = request.state["messages"]
        self._turn = record["turn"] if record else None
        self._head = head_of(request.state)
        self._sent = Sent(request)
        self._replies = Replies(run, self._sent, self._history)
        self._judging = Judging(policy, run, self._sent)
        self._removed: list[ToolMessage] = []

    def steps(self) -> Steps:
        """Observe what came back, judge, ask the model, judge what it said.

        Where every call of a reply was refused there is nothing to wait for, and the model is
        asked again at once. (Before langchain 1.4 there is no other way: an agent without
        `after_model` hooks cannot go from the model to the model.)

        Raises:
            LoopDetected: The policy wants an exception, or the run was ended before and goes on.
        """
        self._go_on()
        while True:
            verdict = self._judging.results(self._history, self._turn)
            if verdict.action is not Action.HALT:
                verdict = self._run.check_thread(self._replies.thread())
            if verdict.action is Action.HALT:
                return (yield from self._halt(verdict))
            self._sent.tell(verdict.guidance)
            reply = yield from self._replies.next()
            if isinstance(reply, Verdict):
                return (yield from self._halt(reply))
            verdict, call = self._judging.calls(reply)
            if verdict.action is Action.HALT:
                return (yield from self._halt(verdict, call, reply.structured_response))
            if verdict.action is not Action.BLOCK or self._something_follows(reply):
                return self._response(reply.structured_response)
            self._close(verdict.guidance)
            self._sent.forget_told()

    def _go_on(self) -> None:
        """Go on from what the state has."""
        if self._record is None:
            return
        if (ended := verdict_in(self._record)) is not None:
            raise LoopDetected(ended)
        if self._record["head"] != self._head:
            self._run.context_compacted()
        # A person who was asked by other middleware may have answered a call that was refused:
        # providers take one answer to a call.
        superseded = newest_batch(self._history, self._turn).superseded
        self._removed = [answer for answer in superseded if not result_of(answer)]
        if self._removed:
            self._sent.leave_out(self._removed)

    def _something_follows(self, reply: Reply) -> bool:
        """Return True if the graph has somewhere to go from a reply with blocked calls."""
        open_calls = newest_batch(self._sent.stored).open_calls
        return bool(open_calls) or reply.structured_response is not None

    def _close(self, why: str) -> None:
        """Answer every call of the newest reply that nothing else will answer."""
        for call in newest_batch(self._sent.stored).dangling_calls:
            self._sent.add(refused(call, why))

    def _halt(
        self, verdict: Verdict, halting: ToolCall | None = None, structured: object = None
    ) -> Steps:
        """End the run as the policy says, every open call answered."""
        if self._policy.on_halt == "raise":
            raise LoopDetected(verdict)
        if halting is not None:
            self._sent.add(refused(halting, verdict.guidance))
        self._close(unexecuted_text(verdict))
        answer = ModelResponse([AIMessage(halt_text(verdict))], structured)
        if self._policy.on_halt == "answer":
            answer = (yield from self._replies.last(verdict)) or answer
        *others, final = answer.result
        self._sent.add(*others, _with_reason(final, verdict))
        return self._response(answer.structured_response, ended=verdict)

    def _response(
        self, structured: object, ended: Verdict | None = None
    ) -> ExtendedModelResponse[Any]:
        """Return what the step leaves behind: messages, the run, and where it goes from here."""
        record: GuardRecord = {
            "run": self._run.snapshot(),
            "turn": self._turn,
            "head": self._head,
        }
        update: dict[str, Any] = {"loopguard": record}
        if self._judging.blocked:
            record["blocked"] = self._judging.blocked
        if self._removed:
            update["messages"] = [RemoveMessage(id=answer.id or "") for answer in self._removed]
        if ended is not None:
            record["halted"] = saved_verdict(ended)
            update["jump_to"] = "end"
        response = ModelResponse(self._sent.stored, structured)
        return ExtendedModelResponse(response, Command(update=update))


def _with_reason(message: BaseMessage, verdict: Verdict) -> BaseMessage:
    """Return a copy of the last message of a stopped run that carries the machine's reason."""
    metadata = {**message.response_metadata, _REASON: verdict_record(verdict)}
    return message.model_copy(update={"response_metadata": metadata})

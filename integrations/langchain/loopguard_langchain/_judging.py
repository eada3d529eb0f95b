"""What a step gives to the run, and what it does about single calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_core import Action, Verdict

from ._asking import refused
from ._batch import newest_batch
from ._results import result_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import BaseMessage, ToolCall

    from loopguard_core import GuardedRun, Policy

    from ._replies import Reply
    from ._sent import Sent
    from ._state import BlockedCall

__all__ = ["Judging"]


class Judging:
    """Shows results and calls to the run, tells the model of nudges, refuses blocked calls.

    Args:
        policy: Says whether a blocked call is answered, or a person asked.
        run: The run; it is changed.
        sent: What the model is sent.

    Attributes:
        blocked: The calls that a person is to be asked about.
    """

    def __init__(self, policy: Policy, run: GuardedRun, sent: Sent) -> None:
        self._policy = policy
        self._run = run
        self._sent = sent
        self.blocked: list[BlockedCall] = []

    def results(self, history: Sequence[BaseMessage], turn: str | None) -> Verdict:
        """Give the newest results to the run; a nudge goes behind the result it is about.

        Args:
            history: The thread before the step.
            turn: The id of the message that began the turn; older results are no evidence.

        Returns:
            The verdict that ends the run, or one that allows.
        """
        batch = newest_batch([*history, *self._sent.stored], turn)
        for call in batch.calls:
            answer = batch.answers.get(call["id"] or "")
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
                return verdict
            self._sent.tell(verdict.guidance, behind=answer)
        return Verdict()

    def calls(self, reply: Reply) -> tuple[Verdict, ToolCall | None]:
        """Check all calls of a reply, in their order, before any of them runs.

        Returns:
            The verdict that ends the run and the call it is about; else the latest one that
            blocked a call, or one that allows.
        """
        latest: tuple[Verdict, ToolCall | None] = Verdict(), None
        for call in newest_batch(reply.result).open_calls:  # structured output has its answer
            verdict = self._run.check_call(call["name"], call["args"], call["id"])
            if verdict.action is Action.HALT:
                return verdict, call
            if verdict.action is Action.BLOCK:
                self._block(call, verdict)
                latest = verdict, call
        return latest

    def _block(self, call: ToolCall, verdict: Verdict) -> None:
        if self._policy.on_block == "tell":
            self._sent.add(refused(call, verdict.guidance))
            return
        reason = " ".join(finding.message for finding in verdict.findings)
        self.blocked.append(
            {"call_id": call["id"] or "", "reason": reason, "guidance": verdict.guidance}
        )

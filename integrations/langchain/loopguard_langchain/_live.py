"""One run as a callback handler sees it: the calls that were asked for, and those under way."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from uuid import UUID

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from loopguard_core import GuardedReply, GuardedRun, Verdict

from ._results import outcome_of

if TYPE_CHECKING:
    from collections.abc import Iterable


__all__ = ["LiveRun", "OpenCall"]

# Forms that a model fills in are asked for and never answered, and a run may have any number.
_MOST_ASKED: Final = 256


@dataclass(slots=True, eq=False)
class OpenCall:
    """A call whose result has not come back.

    Args:
        name: The tool, as the model wrote it.
        arguments: Its arguments, likewise.
        call_id: The provider's id; None where there is none.
        batch: The calls of the same message, this one included; they are judged together.
        verdict: What was said about it; None before it was judged.
    """

    name: str
    arguments: object
    call_id: str | None
    batch: Sequence[OpenCall] = ()
    verdict: Verdict | None = None


@dataclass(slots=True, eq=False)
class LiveRun:
    """One guarded run while it lives.

    Args:
        root: The id of the outermost run.
        run: Its state; guarded by `lock`, as parallel tools report from their own threads.
        halted: The verdict that ended it, in case something goes on all the same.
        untold: A nudge that nobody has been given.
        running: The call of each tool that runs.
        replies: The watch of each reply that streams.
    """

    root: UUID
    run: GuardedRun
    lock: threading.Lock = field(default_factory=threading.Lock)
    halted: Verdict | None = None
    untold: str = ""
    running: dict[UUID, OpenCall] = field(default_factory=dict)
    replies: dict[UUID, GuardedReply] = field(default_factory=dict)
    _asked: deque[OpenCall] = field(default_factory=lambda: deque(maxlen=_MOST_ASKED))

    def ask(self, calls: Iterable[OpenCall]) -> None:
        """Take note of the calls of a reply; nothing is judged before a tool runs.

        A call may also be a form that the model fills in, which no tool ever answers.
        """
        batch = list(calls)
        for call in batch:
            call.batch = batch
        self._asked += batch

    def started(self, name: str, arguments: object, call_id: str | None) -> OpenCall:
        """Return the call that a tool starts on: one that the model asked for, or a new one."""
        for call in self._asked:
            known = call.call_id == call_id if call_id else call.arguments == arguments
            if known and call.name == name:
                self._asked.remove(call)
                return call
        return OpenCall(name, arguments, call_id)

    def judge(self, call: OpenCall) -> Verdict:
        """Judge *call*, and with it its whole batch in order, as none of them has run yet."""
        for member in call.batch:
            if member.verdict is None:
                member.verdict = self._check(member)
        if call.verdict is None:
            call.verdict = self._check(call)
        return call.verdict

    def settle(self, thread: Sequence[BaseMessage]) -> Verdict:
        """Judge the calls of the latest reply in *thread* that were answered without a tool.

        No tool starts on a call of a tool that does not exist, or whose arguments could not be
        parsed: only the answer in the thread shows that it was made.

        Returns:
            The strongest verdict; one that allows if there is no such call.
        """
        verdicts = []
        for call, answer in self._answers(thread):
            self._asked.remove(call)
            if answer is not None:
                outcome = outcome_of(answer, call.call_id)
                verdicts += [self.judge(call), self.observe(call, *outcome)]
        return max(verdicts, key=lambda verdict: verdict.action, default=Verdict())

    def observe(self, call: OpenCall, result: object, is_error: bool) -> Verdict:
        """Take the result of *call*."""
        return self.run.observe_result(
            call.name, call.arguments, result, call_id=call.call_id, is_error=is_error
        )

    def _answers(self, thread: Sequence[BaseMessage]) -> list[tuple[OpenCall, ToolMessage | None]]:
        answers: dict[str, ToolMessage] = {}
        for message in reversed(thread):
            if isinstance(message, ToolMessage):
                answers[message.tool_call_id] = message
            elif isinstance(message, AIMessage):
                made = {c.get("id") for c in (*message.tool_calls, *message.invalid_tool_calls)}
                asked = [call for call in self._asked if call.call_id in made]
                return [(call, answers.get(call.call_id or "")) for call in asked]
        return []

    def _check(self, call: OpenCall) -> Verdict:
        return self.run.check_call(call.name, call.arguments, call.call_id)

"""`GuardedRun`: one run's state, and the verdicts on what happens in it."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from loopguard_core.message import as_messages, type_of
from loopguard_core.thread import ThreadWatch
from loopguard_core.tool_loop import (
    ToolLoopConfig,
    ToolLoopDetector,
    call_fingerprint,
    result_fingerprint,
)

from .calls import CallLedger, OpenCall
from .escalation import Escalation, Totals
from .evidence import cycle_finding, decision_finding, unanswered_finding
from .guidance import without_guidance
from .listener import EventKind, VerdictEvent, notify
from .reading import MessageReading
from .reply import GuardedReply
from .snapshot import RunSnapshot, naming
from .verdict import ALLOWED, Action, Finding, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .config import LoopGuard

__all__ = ["GuardedRun"]

# It counts calls whatever came back, so a new result does not speak against it.
_BLIND_TO_RESULTS = "tool_loop.generic_repeat"


class GuardedRun:
    """One run's state: what was called, what came back, what the model was told.

    Made by `LoopGuard.start_run`. Small, bounded, saved as JSON; not thread-safe, so an
    adapter serialises access. Nothing here raises because of what a model or a tool said.
    """

    def __init__(self, guard: LoopGuard, run_id: str | None = None) -> None:
        policy = guard.policy
        self._guard = guard
        self._policy = policy
        self._run_id = run_id or uuid.uuid4().hex
        self._skipped_calls = policy.disabled_in("tool_loop")
        self._skipped_threads = policy.disabled_in("thread")
        self._watch = ThreadWatch(options=guard.thread, reading=MessageReading(policy))
        self._tool_loop = ToolLoopDetector(guard.tool_loop)
        self._calls = CallLedger()
        self._escalation = Escalation(policy)
        self._step = 0
        self._threads_checked = False
        self._results_since_step = False
        self._thread_verdict = ALLOWED

    @property
    def run_id(self) -> str:
        """The id that events carry."""
        return self._run_id

    @property
    def totals(self) -> Totals:
        """A copy of what happened so far; a new turn does not reset it."""
        return replace(self._escalation.standing.totals)

    def begin_turn(self, history: Sequence[Mapping[str, object]] = ()) -> None:
        """Take note that a person spoke: what was called before is no evidence any more.

        Tool-loop history, nudges and rows of blocks and cuts start over; totals stay. An
        interrupt, a crash or a resumed run is no new turn.

        Args:
            history: The thread before the person's message, for a run that has not seen it: it
                is taken note of without being judged. Empty where `check_thread` saw it.
        """
        if history:
            self._watch.follow(as_messages(history, field="history"))
        self._watch.begin_turn()
        self._tool_loop.reset()
        self._calls.clear()
        self._escalation.begin_turn()
        self._thread_verdict = ALLOWED

    def check_thread(self, messages: Sequence[Mapping[str, object]]) -> Verdict:
        """Judge the thread before a model call.

        Args:
            messages: The whole thread, oldest first. The part that is new since the last call
                is found by itself, also after the head was trimmed or summarised; only that
                part is read. The same thread again gives the same verdict and does not count.

        Returns:
            ALLOW, NUDGE or HALT.

        Raises:
            InvalidInputError: *messages* is no sequence, or holds something that is no mapping.
        """
        start = self._watch.follow(as_messages(messages))
        if start == len(messages) and self._threads_checked:
            return self._thread_verdict
        cycle = self._watch.find(skip=self._skipped_threads, newest=len(messages) - start)
        if cycle is not None:
            self._thread_verdict = self._escalation.judge(cycle_finding(cycle), self._step)
        else:
            self._thread_verdict = ALLOWED
            if not any(type_of(message) == "activity" for message in messages[start:]):
                self._escalation.end_episode()  # the model spoke, called nothing, repeated nothing
        self._threads_checked = True
        self._next_step()
        return self._sent("thread", "", None, self._thread_verdict)

    def check_call(self, name: str, arguments: object, call_id: str | None = None) -> Verdict:
        """Judge a call before its tool runs; check all calls of a batch before any of them runs.

        Args:
            name: The tool, as the model wrote it; it need not exist.
            arguments: Its arguments, any value.
            call_id: The provider's id. The same id with the same call again gives the same
                verdict within a model step and does not count; in a later step it counts.

        Returns:
            ALLOW, BLOCK or HALT. A warning comes with this call's result.
        """
        rule = self._policy.rule(name)
        if rule.exempt:
            return ALLOWED
        if self._results_since_step and not self._threads_checked:
            self._next_step()  # nobody shows us the thread, so results are what separates steps
        fingerprint = call_fingerprint(name, rule.kept_arguments(arguments))
        earlier = self._calls.earlier_verdict(call_id, fingerprint)
        if earlier is not None:
            return earlier
        self._escalation.standing.totals.calls += 1
        finding = self._find_in_call(name, fingerprint, rule.tool_loop)
        warned = finding is not None and self._policy.action(finding.severity) is Action.NUDGE
        verdict = ALLOWED
        if finding is not None and not warned:
            verdict = self._escalation.judge(finding, self._step)
        self._calls.record(OpenCall(call_id, fingerprint, finding if warned else None), verdict)
        return self._sent("call", name, call_id, verdict)

    def observe_result(
        self,
        name: str,
        arguments: object,
        result: object,
        *,
        call_id: str | None = None,
        is_error: bool = False,
    ) -> Verdict:
        """Take the result of a call that really ran.

        Args:
            name: The tool.
            arguments: What it ran with, any value.
            result: What came back, any value; the whole of it is compared, nothing is kept.
                A note that loopguard appended to a text is not part of it.
            call_id: The provider's id, as given to `check_call`.
            is_error: True if the tool failed.

        Returns:
            ALLOW, NUDGE or HALT. The result of a call that was blocked is ignored.
        """
        rule = self._policy.rule(name)
        if rule.exempt:
            return ALLOWED
        fingerprint = call_fingerprint(name, rule.kept_arguments(arguments))
        call = self._calls.answer(call_id, fingerprint)
        if call is None and self._was_refused(call_id, fingerprint):
            return ALLOWED
        self._results_since_step = True
        is_new = self._note_outcome(name, fingerprint, result, is_error=is_error)
        warning = call.warning if call is not None else None
        if warning is None or (is_new and warning.detector != _BLIND_TO_RESULTS):
            return ALLOWED
        return self._sent("result", name, call_id, self._escalation.judge(warning, self._step))

    def watch_reply(self, history: Sequence[Mapping[str, object]] = ()) -> GuardedReply:
        """Start watching one reply while it streams.

        Args:
            history: The thread before the reply. The detectors that exist so far judge a reply
                by itself and do not read it.
        """
        as_messages(history, field="history")
        return GuardedReply(self._guard, self._run_id)

    def reply_cut(self) -> Verdict:
        """Take note that the adapter cut a reply; the model is told, or the run ends.

        Returns:
            NUDGE, whose guidance asks for another try, or HALT at the cut that is one too many.
        """
        return self._sent("reply", "", None, self._escalation.judge_cut())

    def reply_done(self) -> None:
        """Take note that a reply ended by itself: the row of cuts is over."""
        self._escalation.end_cuts()

    def context_compacted(self) -> None:
        """Take note that history was summarised or trimmed.

        A model that lost its history and starts the same calls over is found sooner from now on.
        """
        self._tool_loop.arm_post_compaction()

    def allow_call(self, name: str, arguments: object) -> None:
        """Take note that a person allowed a blocked call: its count starts over."""
        fingerprint = call_fingerprint(name, self._policy.rule(name).kept_arguments(arguments))
        self._tool_loop.reset_fingerprint(fingerprint)
        self._calls.forget(fingerprint)
        self._escalation.something_new()

    def snapshot(self) -> dict[str, object]:
        """Return the state as JSON values, for `LoopGuard.resume`; at any time."""
        record = RunSnapshot(
            run_id=self._run_id,
            step=self._step,
            threads_checked=self._threads_checked,
            results_since_step=self._results_since_step,
            thread_verdict=self._thread_verdict,
            calls=self._calls,
            standing=self._escalation.standing,
            thread=self._watch.snapshot(),
            tool_loop=self._tool_loop.snapshot(),
        )
        return record.model_dump(mode="json")

    @classmethod
    def restore(cls, guard: LoopGuard, snapshot: Mapping[str, object]) -> Self:
        """Build the run that *snapshot* saved; see `LoopGuard.resume`."""
        record = RunSnapshot.read(snapshot)
        run = cls(guard, record.run_id)
        with naming("snapshot.thread"):
            run._watch = ThreadWatch.restore(
                record.thread, options=guard.thread, reading=MessageReading(guard.policy)
            )
        with naming("snapshot.tool_loop"):
            run._tool_loop = ToolLoopDetector.restore(record.tool_loop, guard.tool_loop)
        run._calls = record.calls
        run._escalation = Escalation(guard.policy, record.standing)
        run._step = record.step
        run._threads_checked = record.threads_checked
        run._results_since_step = record.results_since_step
        run._thread_verdict = record.thread_verdict
        return run

    def _find_in_call(
        self, name: str, fingerprint: str, thresholds: ToolLoopConfig | None
    ) -> Finding | None:
        waiting = self._calls.waiting(fingerprint)
        if waiting >= self._policy.max_unanswered_calls and "unanswered" not in self._skipped_calls:
            return unanswered_finding(name, waiting + 1)
        decision = self._tool_loop.check_fingerprint(
            name, fingerprint, attempts=waiting, skip=self._skipped_calls, config=thresholds
        )
        return decision_finding(name, decision) if decision.stuck else None

    def _note_outcome(self, name: str, fingerprint: str, result: object, *, is_error: bool) -> bool:
        """Give a result to the detectors; return True if this call never gave it before."""
        if isinstance(result, str):
            result = without_guidance(result)
        limits = self._tool_loop.config
        outcome = result_fingerprint(
            name,
            result,
            is_error=is_error,
            max_bytes=limits.max_result_bytes,
            cleaned_tools=limits.cleaned_tools,
        )
        is_new = not self._tool_loop.has_seen(fingerprint, outcome)
        self._tool_loop.observe_outcome(fingerprint, outcome)
        if is_new:
            self._escalation.something_new()
        return is_new

    def _was_refused(self, call_id: str | None, fingerprint: str) -> bool:
        verdict = self._calls.earlier_verdict(call_id, fingerprint)
        return verdict is not None and verdict.action >= Action.BLOCK

    def _next_step(self) -> None:
        self._step += 1
        self._results_since_step = False
        self._calls.next_step()

    def _sent(self, kind: EventKind, name: str, call_id: str | None, verdict: Verdict) -> Verdict:
        """Tell the listeners of *verdict* if it has findings, and hand it on."""
        if verdict.findings and self._guard.listeners:
            event = VerdictEvent(self._run_id, kind, name, call_id, verdict)
            notify(self._guard.listeners, event)
        return verdict

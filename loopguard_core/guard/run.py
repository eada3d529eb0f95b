"""`GuardedRun`: one run's state, and the verdicts on what happens in it."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from loopguard_core.converge import Monitor
from loopguard_core.errors import InvalidInputError
from loopguard_core.message import as_messages, type_of
from loopguard_core.tool_loop import ToolLoopDetector

from .calls import OpenCall
from .escalation import Escalation, Totals
from .evidence import converge_finding
from .followed_thread import FollowedThread
from .listener import EventKind, VerdictEvent, notify
from .policy import BLIND_TO_RESULTS
from .reply import GuardedReply
from .snapshot import RunSnapshot, naming
from .tool_calls import ToolCalls
from .verdict import ALLOWED, Action, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loopguard_core.converge import ConvergeVerdict

    from .config import LoopGuard

__all__ = ["GuardedRun"]


class GuardedRun:
    """One run's state: what was called, what came back, what the model was told.

    Made by `LoopGuard.start_run`. Small, bounded, saved as JSON; not thread-safe, so an
    adapter serialises access. Nothing here raises because of what a model or a tool said.
    """

    def __init__(self, guard: LoopGuard, run_id: str | None = None) -> None:
        policy = guard.policy
        self._guard = guard
        self._policy = policy
        if run_id is not None and not isinstance(run_id, str):
            raise InvalidInputError("run_id", run_id, "a string or None")
        self._run_id = run_id or uuid.uuid4().hex
        self._monitor = Monitor(guard.converge)
        self._thread = FollowedThread(policy, guard.thread, self._monitor)
        self._calls = ToolCalls(policy, guard.tool_loop, self._monitor)
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

    @property
    def cuts_replies(self) -> bool:
        """True if the policy cuts a reply that goes round; if not, none has to be streamed."""
        return self._policy.on_cut is Action.HALT

    def begin_turn(self, history: Sequence[Mapping[str, object]] = ()) -> None:
        """Take note that a person spoke: what was called before is no evidence any more.

        Tool-loop history, nudges and rows of blocks and cuts start over; totals stay. An
        interrupt, a crash or a resumed run is no new turn.

        Args:
            history: The thread before the person's message, for a run that has not seen it: it
                is taken note of without being judged. Empty where `check_thread` saw it.
        """
        self._thread.begin_turn(history)
        self._calls.begin_turn()
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
        new = self._thread.follow(messages)
        if not new and self._threads_checked:
            return self._thread_verdict
        findings = self._thread.find(new)
        if findings:
            self._thread_verdict = self._escalation.judge(findings, self._step)
        else:
            self._thread_verdict = ALLOWED
            if not any(type_of(message) == "activity" for message in new):
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
        if self._calls.is_exempt(name):
            return ALLOWED
        if self._results_since_step and not self._threads_checked:
            self._next_step()  # nobody shows us the thread, so results are what separates steps
        fingerprint = self._calls.fingerprint(name, arguments)
        earlier = self._calls.ledger.earlier_verdict(call_id, fingerprint)
        if earlier is not None:
            return earlier
        self._escalation.standing.totals.calls += 1
        findings = self._calls.attempt(name, fingerprint)
        warned = bool(findings) and self._escalation.action(findings) is Action.NUDGE
        verdict = ALLOWED
        if findings and not warned:
            verdict = self._escalation.judge(findings, self._step, refuses=True)
        call = OpenCall(call_id, fingerprint, findings if warned else ())
        self._calls.ledger.record(call, verdict)
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
        if self._calls.is_exempt(name):
            return ALLOWED
        fingerprint = self._calls.fingerprint(name, arguments)
        call = self._calls.ledger.answer(call_id, fingerprint)
        if call is None and self._calls.ledger.was_refused(call_id, fingerprint):
            return ALLOWED
        self._results_since_step = True
        is_new = self._calls.note_outcome(name, fingerprint, result, is_error=is_error)
        warnings = call.warnings if call is not None else ()
        if is_new:
            self._escalation.something_new()
        if is_new and warnings:
            warnings = tuple(w for w in warnings if w.detector in BLIND_TO_RESULTS)
        if not warnings:
            return ALLOWED
        return self._sent("result", name, call_id, self._escalation.judge(warnings, self._step))

    def watch_reply(self, history: Sequence[Mapping[str, object]] = ()) -> GuardedReply:
        """Start watching one reply while it streams.

        Args:
            history: The thread before the reply. What the model said and did since a person last
                spoke raises the counts of what the reply says again. Empty judges the reply by
                itself.
        """
        return GuardedReply(self._guard, self._run_id, as_messages(history, field="history"))

    def reply_cut(self) -> Verdict:
        """Take note that the adapter cut a reply; the model is told, or the run ends.

        Returns:
            NUDGE, whose guidance asks for another try, or HALT at the cut that is one too many.
        """
        return self._sent("reply", "", None, self._escalation.judge_cut())

    def reply_done(self) -> None:
        """Take note that a reply ended by itself: the row of cuts is over."""
        self._escalation.end_cuts()

    def observe_iteration(self, state_hash: str) -> Verdict:
        """Take note that an iteration of the host's own loop begins.

        Args:
            state_hash: A digest of the loop's state, such as `fingerprint.digest(state)`.

        Returns:
            ALLOW, NUDGE, or HALT once the state has stood still for too many iterations.

        Raises:
            InvalidInputError: *state_hash* is no string.
        """
        return self._converged("iteration", self._monitor.observe_iteration(state_hash))

    def observe_depth(self, depth: int) -> Verdict:
        """Take note of how deep the present agent was spawned; the root's depth is usually 0.

        Returns:
            ALLOW, NUDGE, or HALT beyond `ConvergeConfig.max_depth`, which is no limit by default.

        Raises:
            InvalidInputError: *depth* is no int.
        """
        return self._converged("depth", self._monitor.observe_depth(depth))

    def context_compacted(self) -> None:
        """Take note that history was summarised or trimmed.

        A model that lost its history and starts the same calls over is found sooner from now on.
        """
        self._calls.detector.arm_post_compaction()

    def allow_call(self, name: str, arguments: object) -> None:
        """Take note that a person allowed a blocked call: its count starts over."""
        self._calls.forget(name, self._calls.fingerprint(name, arguments))
        self._escalation.something_new()

    def snapshot(self) -> dict[str, object]:
        """Return the state as JSON values, for `LoopGuard.resume`; at any time."""
        record = RunSnapshot(
            run_id=self._run_id,
            step=self._step,
            threads_checked=self._threads_checked,
            results_since_step=self._results_since_step,
            thread_verdict=self._thread_verdict,
            calls=self._calls.ledger,
            standing=self._escalation.standing,
            thread=self._thread.snapshot(),
            tool_loop=self._calls.detector.snapshot(),
            converge=self._monitor.snapshot(),
        )
        return record.model_dump(mode="json")

    @classmethod
    def restore(cls, guard: LoopGuard, snapshot: Mapping[str, object]) -> Self:
        """Build the run that *snapshot* saved; see `LoopGuard.resume`."""
        record = RunSnapshot.read(snapshot)
        run = cls(guard, record.run_id)
        with naming("snapshot.converge"):
            monitor = run._monitor = run._calls.monitor = Monitor.restore(
                record.converge, guard.converge
            )
        with naming("snapshot.thread"):
            run._thread = FollowedThread(guard.policy, guard.thread, monitor, record.thread)
        with naming("snapshot.tool_loop"):
            run._calls.detector = ToolLoopDetector.restore(record.tool_loop, guard.tool_loop)
        run._calls.ledger = record.calls
        run._escalation = Escalation(guard.policy, record.standing)
        run._step = record.step
        run._threads_checked = record.threads_checked
        run._results_since_step = record.results_since_step
        run._thread_verdict = record.thread_verdict
        return run

    def _converged(self, kind: EventKind, seen: ConvergeVerdict) -> Verdict:
        finding = converge_finding(seen)
        if finding is None or not self._policy.is_enabled(finding.detector):
            return ALLOWED
        return self._sent(kind, "", None, self._escalation.judge((finding,), self._step))

    def _next_step(self) -> None:
        self._step += 1
        self._results_since_step = False
        self._calls.ledger.next_step()

    def _sent(self, kind: EventKind, name: str, call_id: str | None, verdict: Verdict) -> Verdict:
        """Tell the listeners of *verdict* if it has findings, and hand it on."""
        if verdict.findings and self._guard.listeners:
            event = VerdictEvent(self._run_id, kind, name, call_id, verdict)
            notify(self._guard.listeners, event)
        return verdict

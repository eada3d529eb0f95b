"""The thread of one run: what is new in it, and what the detectors say of that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_core.fingerprint import digest
from loopguard_core.message import as_messages
from loopguard_core.thread import ThreadWatch

from .evidence import converge_finding, cycle_finding
from .reading import ActivityReading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loopguard_core.converge import Monitor
    from loopguard_core.thread import CycleOptions

    from .policy import Policy
    from .verdict import Finding

__all__ = ["FollowedThread"]


class FollowedThread:
    """Finds a thread that goes round, in what is new since the last look.

    Args:
        policy: Its rules say what is left out, and which detectors are off.
        options: Thresholds of the heuristics.
        monitor: Counts iterations, where each model call is one.
        snapshot: What `snapshot` returned, to go on from there; None starts with nothing seen.
    """

    def __init__(
        self,
        policy: Policy,
        options: CycleOptions,
        monitor: Monitor,
        snapshot: Mapping[str, object] | None = None,
    ) -> None:
        reading = ActivityReading(policy)
        self._policy = policy
        self._monitor = monitor
        self._skipped = policy.disabled_in("thread")
        if snapshot is None:
            self._watch = ThreadWatch(options=options, reading=reading)
        else:
            self._watch = ThreadWatch.restore(snapshot, options, reading=reading)

    def begin_turn(self, history: Sequence[Mapping[str, object]]) -> None:
        """Let the next message begin a turn; *history* is taken note of without being judged."""
        if history:
            self._watch.follow(as_messages(history, field="history"))
        self._watch.begin_turn()

    def follow(self, messages: Sequence[Mapping[str, object]]) -> Sequence[Mapping[str, object]]:
        """Take the whole thread and return the messages that are new in it."""
        return messages[self._watch.follow(messages) :]

    def find(self, new: Sequence[Mapping[str, object]]) -> tuple[Finding, ...]:
        """Return what the thread shows, if the latest evidence is among the *new* messages."""
        cycle = self._watch.find(skip=self._skipped, newest=len(new))
        found = [cycle_finding(cycle) if cycle is not None else None]
        if self._policy.model_call_is_iteration:
            state = digest([[m.get("type"), m.get("text"), m.get("meta")] for m in new])
            found.append(converge_finding(self._monitor.observe_iteration(state)))
        return tuple(f for f in found if f is not None and self._policy.is_enabled(f.detector))

    def snapshot(self) -> dict[str, object]:
        """Return what was seen, as JSON values."""
        return self._watch.snapshot()

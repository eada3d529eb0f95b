"""The detector: one run's finished calls in, a decision on each attempt out."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Literal, Self

from pydantic import BaseModel, ConfigDict, NonNegativeInt

from loopguard_core.errors import InvalidInputError, checked

from .config import ToolLoopConfig
from .decision import UNDECIDED, Decision
from .fingerprints import call_fingerprint, result_fingerprint
from .heuristics import decide, read
from .history import CallHistory, FinishedCall

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["ToolLoopDetector"]


class _Snapshot(BaseModel):
    """What a saved detector looks like."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1]
    history: tuple[FinishedCall, ...]
    watched: tuple[FinishedCall, ...]
    remaining: NonNegativeInt


class ToolLoopDetector:
    """Finds one run's calls that repeat and give nothing new.

    Give each attempt to `check` before it runs, and each call that really ran to
    `observe_result`; a call that was refused, for whatever reason, to neither. Calls and results
    are kept as digests, at most `config.window` in the history and `config.post_compaction_watch`
    in the watch list. Safe for concurrent use: one lock makes each operation atomic.
    Source: tool-loop specification, sections 3 and 4.

    Args:
        config: The settings; None takes the defaults.
    """

    __slots__ = ("_config", "_history", "_lock", "_remaining", "_watched")

    def __init__(self, config: ToolLoopConfig | None = None) -> None:
        self._config = checked("config", config, ToolLoopConfig)
        self._lock = threading.Lock()
        self._history = CallHistory(self._config.window)
        self._watched = CallHistory(self._config.post_compaction_watch)
        self._remaining = 0

    @property
    def config(self) -> ToolLoopConfig:
        """The settings in force."""
        return self._config

    def check(self, tool: str, args: object) -> Decision:
        """Judge a call, with arguments of any kind, that is about to run; changes nothing.

        Returns:
            The decision of the first heuristic that fires, in the order of `DetectorName`.
        """
        if not self._config.enabled:
            return UNDECIDED
        return self.check_fingerprint(tool, call_fingerprint(tool, args))

    def check_fingerprint(
        self,
        tool: str,
        fingerprint: str,
        *,
        attempts: int = 0,
        skip: Collection[str] = (),
        config: ToolLoopConfig | None = None,
    ) -> Decision:
        """Judge a call by its fingerprint, for a caller that has it already.

        Args:
            tool: The tool's name, for the message.
            fingerprint: Of the call, from `call_fingerprint`.
            attempts: How many equal calls were checked before and have no result yet. Each
                counts as an attempt of generic-repeat, and, once the call has finished before,
                of no-progress and the breaker.
            skip: Names of heuristics to pass over; those after them are still tried.
            config: Thresholds for this check alone, such as those of one tool. What is
                remembered stays the same, so its `window` and its comparison of results have no
                effect. The decision is empty if it, or the detector itself, is not enabled.

        Raises:
            InvalidInputError: *attempts* is negative.
        """
        if attempts < 0:
            raise InvalidInputError("attempts", attempts, "zero or a positive number")
        limits = config or self._config
        if not (self._config.enabled and limits.enabled):
            return UNDECIDED
        with self._lock:
            if attempts + 1 < limits.generic_warn and not self._knows(fingerprint):
                return Decision(fingerprint=fingerprint)  # most calls of healthy work are new
            readings = read(fingerprint, self._history, self._watched, limits, attempts + 1)
        return decide(tool, fingerprint, readings, skip)

    def observe_result(
        self, tool: str, args: object, result: object, *, is_error: bool = False
    ) -> None:
        """Remember a call that ran, and what it gave; see `result_fingerprint`."""
        config = self._config
        if not config.enabled:
            return
        outcome = result_fingerprint(
            tool,
            result,
            is_error=is_error,
            max_bytes=config.max_result_bytes,
            cleaned_tools=config.cleaned_tools,
        )
        self.observe_outcome(call_fingerprint(tool, args), outcome)

    def observe_outcome(self, fingerprint: str, outcome: str) -> bool:
        """Remember a finished call by its fingerprints, for a caller that has them already.

        Returns:
            True if the history held no such call with this outcome before. Nothing is remembered,
            and so everything is new, while the detector is off, or if one of the two is empty.
        """
        if not (self._config.enabled and fingerprint and outcome):
            return True
        with self._lock:
            is_new = self._history.add(fingerprint, outcome)
            if self._remaining > 0:
                self._watched.add(fingerprint, outcome)
                self._remaining -= 1
        return is_new

    def has_seen(self, fingerprint: str, outcome: str) -> bool:
        """Return True if the history holds a call with *fingerprint* that gave *outcome*."""
        with self._lock:
            return self._history.has(fingerprint, outcome)

    def arm_post_compaction(self) -> None:
        """Take note that the model's history was compacted: watch the calls that follow.

        Starts the watch list over; the history stays. The list is consulted for the rest of the
        run, also when it is full. Nothing happens while the detector is off.
        """
        if not self._config.enabled:
            return
        with self._lock:
            self._watched.clear()
            self._remaining = self._config.post_compaction_watch

    def reset(self) -> None:
        """Forget everything, and stop watching; also while the detector is off."""
        with self._lock:
            self._history.clear()
            self._watched.clear()
            self._remaining = 0

    def reset_fingerprint(self, fingerprint: str) -> None:
        """Forget the calls with *fingerprint*, as when a person allowed one that was refused.

        How many calls are still to be watched does not change. An empty fingerprint does
        nothing. Works also while the detector is off.
        """
        with self._lock:
            self._history.forget(fingerprint)
            self._watched.forget(fingerprint)

    def snapshot(self) -> dict[str, object]:
        """Return the state as JSON values, with a `version`; settings are not in it.

        Written as JSON it has at most 140 characters for each remembered call and 80 besides:
        below 6 kB at the default settings.
        """
        with self._lock:
            return {
                "version": 1,
                "history": [list(call) for call in self._history],
                "watched": [list(call) for call in self._watched],
                "remaining": self._remaining,
            }

    @classmethod
    def restore(cls, snapshot: Mapping[str, object], config: ToolLoopConfig | None = None) -> Self:
        """Return a detector that goes on where the one that gave *snapshot* stood.

        With the same settings every later decision is the same. With others, those hold from
        now on, and what exceeds them is forgotten, oldest first.

        Raises:
            pydantic.ValidationError: *snapshot* was not made by `snapshot`, or by another version.
        """
        saved = _Snapshot.model_validate(snapshot)
        detector = cls(config)
        window, watch = detector.config.window, detector.config.post_compaction_watch
        detector._history = CallHistory(window, saved.history)
        detector._watched = CallHistory(watch, saved.watched)
        detector._remaining = min(saved.remaining, watch - len(detector._watched))
        return detector

    def _knows(self, fingerprint: str) -> bool:
        return self._history.knows(fingerprint) or self._watched.knows(fingerprint)

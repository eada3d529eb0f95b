"""The calls of one run: what is attempted, what came back, and what the detectors say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_core.tool_loop import ToolLoopDetector, call_fingerprint, result_fingerprint

from .calls import CallLedger
from .evidence import converge_finding, decision_finding, unanswered_finding
from .guidance import without_guidance

if TYPE_CHECKING:
    from loopguard_core.converge import Monitor
    from loopguard_core.tool_loop import ToolLoopConfig

    from .policy import Policy
    from .verdict import Finding

__all__ = ["ToolCalls"]


class ToolCalls:
    """Finds calls that bring nothing new. Exempt tools are not shown to it.

    Args:
        policy: Its rules say what makes two calls the same, and which detectors are off.
        config: Thresholds of the tool-loop detectors.
        monitor: Counts equal calls whatever they bring, where that detector is on.
    """

    def __init__(
        self,
        policy: Policy,
        config: ToolLoopConfig,
        monitor: Monitor,
    ) -> None:
        self._rules = dict(policy.tools)
        self._max_unanswered = policy.max_unanswered_calls
        self._skipped = policy.disabled_in("tool_loop")
        self._oscillation = policy.is_enabled("converge.oscillation")
        self.detector = ToolLoopDetector(config)
        self.ledger = CallLedger()
        self.monitor = monitor

    def begin_turn(self) -> None:
        """Forget what was called and what waits for its result."""
        self.detector.reset()
        self.ledger.clear()

    def is_exempt(self, name: str) -> bool:
        """Return True if a rule leaves the tool out of every detector."""
        rule = self._rules.get(name)
        return rule is not None and rule.exempt

    def fingerprint(self, name: str, arguments: object) -> str:
        """Return the fingerprint of a call, without the arguments that its rule ignores."""
        rule = self._rules.get(name)
        return call_fingerprint(name, rule.kept_arguments(arguments) if rule else arguments)

    def attempt(self, name: str, fingerprint: str) -> tuple[Finding, ...]:
        """Take a call that the model wants to make; return what speaks against it."""
        found = self._find_loop(name, fingerprint)
        if self._oscillation:
            repeated = converge_finding(self.monitor.observe_tool_call(name, fingerprint))
            return tuple(filter(None, (found, repeated)))
        return () if found is None else (found,)

    def note_outcome(self, name: str, fingerprint: str, result: object, *, is_error: bool) -> bool:
        """Take what a call brought; return True if this call never brought it before."""
        if isinstance(result, str):
            result = without_guidance(result)
        config = self.detector.config
        outcome = result_fingerprint(
            name,
            result,
            is_error=is_error,
            max_bytes=config.max_result_bytes,
            cleaned_tools=config.cleaned_tools,
        )
        return self.detector.observe_outcome(fingerprint, outcome)

    def forget(self, name: str, fingerprint: str) -> None:
        """Let every count of a call start over."""
        self.monitor.forget_tool_call(name, fingerprint)
        self.detector.reset_fingerprint(fingerprint)
        self.ledger.forget(fingerprint)

    def _find_loop(self, name: str, fingerprint: str) -> Finding | None:
        waiting = self.ledger.waiting(fingerprint)
        if waiting >= self._max_unanswered and "unanswered" not in self._skipped:
            return unanswered_finding(name, waiting + 1)
        rule = self._rules.get(name)
        decision = self.detector.check_fingerprint(
            name,
            fingerprint,
            attempts=waiting,
            skip=self._skipped,
            config=rule.tool_loop if rule else None,
        )
        return decision_finding(name, decision) if decision.stuck else None

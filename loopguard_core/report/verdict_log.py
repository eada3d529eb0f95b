"""The verdicts on one saved run, as they come in."""

from __future__ import annotations

from typing import Final

from loopguard_core.guard import Action, Finding, Verdict

from .row import ActionName, ScanFinding

__all__ = ["VerdictLog"]

_NAMES: Final[dict[Action, ActionName]] = {
    Action.ALLOW: "allow",
    Action.NUDGE: "nudge",
    Action.BLOCK: "block",
    Action.HALT: "halt",
}


class VerdictLog:
    """Collects what was found, the strongest action, and where the guard first stepped in.

    Attributes:
        findings: What was found, in order.
        stopped_at: The index of the message at which the first block or halt was given; None
            without one.
        unread_chars: How much of that message was still to come.
    """

    def __init__(self) -> None:
        self.findings: list[ScanFinding] = []
        self.stopped_at: int | None = None
        self.unread_chars = 0
        self._strongest = Action.ALLOW
        self._counts: dict[tuple[str, ...], int] = {}

    @property
    def action(self) -> ActionName:
        """The strongest action so far."""
        return _NAMES[self._strongest]

    def begin_turn(self) -> None:
        """Let what was listed in the turn before be listed again."""
        self._counts.clear()

    def note(self, verdict: Verdict, at: int, *, unread_chars: int = 0) -> None:
        """Take a verdict.

        Args:
            verdict: What the guard said.
            at: The index of the message that was the newest one then.
            unread_chars: How many characters of it were still to come.
        """
        for finding in verdict.findings:
            if self._is_new(finding):
                self.findings.append(_scan_finding(finding, at))
        self._strongest = max(self._strongest, verdict.action)
        if self.stopped_at is None and verdict.action >= Action.BLOCK:
            self.stopped_at, self.unread_chars = at, unread_chars

    def _is_new(self, finding: Finding) -> bool:
        """Tell a new episode from one that goes on: in one episode a count never falls."""
        key = (finding.detector, finding.severity, *finding.evidence)
        before = self._counts.get(key)
        self._counts[key] = finding.count
        return before is None or finding.count < before


def _scan_finding(finding: Finding, at: int) -> ScanFinding:
    return ScanFinding(
        detector=finding.detector,
        severity=finding.severity,
        count=finding.count,
        message=finding.message,
        at_message=at,
    )

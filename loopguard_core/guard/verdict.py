"""What was seen, and what is to be done about it: `Finding`, `Verdict`, `LoopDetected`."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Literal, TypeAlias

from loopguard_core.errors import LoopguardError

__all__ = ["ALLOWED", "Action", "Finding", "LoopDetected", "Severity", "Verdict"]

Severity: TypeAlias = Literal["warn", "critical", "terminal", "cut"]
"""How bad a finding is; the policy says what each one leads to."""


class Action(enum.IntEnum):
    """What an adapter does about a verdict, from the mildest to the strongest."""

    ALLOW = 0
    """Go on."""
    NUDGE = 1
    """Go on, and tell the model."""
    BLOCK = 2
    """Do not execute this call; its result is the guidance."""
    HALT = 3
    """End the run; in a reply that streams, end the reply."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a detector saw.

    Args:
        detector: A stable id, prefixed by its package, such as `tool_loop.no_progress`.
        severity: `warn`, `critical`, `terminal`, or `cut` for a reply that goes round.
        count: How often it was seen, the present time included.
        message: One sentence for a person.
        evidence: Short strings that show it, such as the tool or the repeated phrase.
    """

    detector: str
    severity: Severity
    count: int
    message: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be done, why, and what the model reads about it.

    Args:
        action: What the adapter does.
        findings: What led to it; under `Policy.observe()` they come with ALLOW.
        guidance: Text for the model; empty when there is nothing to say, also for a NUDGE
            whose episode the model has already been told about.
    """

    action: Action = Action.ALLOW
    findings: tuple[Finding, ...] = ()
    guidance: str = ""

    @property
    def reason(self) -> str:
        """The detector id of the finding that decided, or an empty string without one."""
        return self.findings[0].detector if self.findings else ""


ALLOWED = Verdict()
"""Nothing was found."""


class LoopDetected(LoopguardError):  # noqa: N818 - the name is the public contract
    """A run was stopped, and the policy or the place it was stopped at wants an exception.

    Attributes:
        verdict: The HALT verdict, with its findings.
    """

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        super().__init__("; ".join(f.message for f in verdict.findings) or "the run was stopped")

"""From findings to verdicts: the policy's actions, and what repeated disregard leads to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from .guidance import block_text, cut_text, nudge_text
from .verdict import Action, Finding, Verdict

if TYPE_CHECKING:
    from .policy import Policy

__all__ = ["Escalation", "Standing", "Totals"]

_NO_STEP: Final = -1

Findings: TypeAlias = tuple[Finding, ...]


@dataclass(slots=True)
class Totals:
    """What happened in a run so far; a new turn does not reset it.

    Args:
        calls: Calls that were checked, exempt tools and repeated checks left out.
        nudges: Warnings that the model was told about, or would have been within an episode.
        blocks: Calls that were not executed.
        cuts: Replies that were cut.
        halts: Verdicts that ended the run.
    """

    calls: int = 0
    nudges: int = 0
    blocks: int = 0
    cuts: int = 0
    halts: int = 0


@dataclass(slots=True)
class Standing:
    """How a run stands with its policy: the counters that make a verdict stronger.

    Args:
        sightings: Warnings in the present episode, at most one for each model step.
        sighted_step: The model step of the latest one; -1 outside an episode.
        blocks_in_row: Calls refused since something new came back.
        blocked_step: The model step of the latest refusal; -1 without one.
        cuts_in_row: Replies cut since one ended by itself.
        totals: What never starts over.
    """

    sightings: int = 0
    sighted_step: int = _NO_STEP
    blocks_in_row: int = 0
    blocked_step: int = _NO_STEP
    cuts_in_row: int = 0
    totals: Totals = field(default_factory=Totals)


class Escalation:
    """Turns findings into verdicts by the policy and by what the model made of earlier ones.

    An *episode* lasts from a first warning until something new comes back. Within it the model
    is told once. What is seen before the model speaks again is one sighting, whichever
    detectors see it; a sighting after the model was told and spoke again is a nudge unheeded.
    """

    def __init__(self, policy: Policy, standing: Standing | None = None) -> None:
        self._policy = policy
        self.standing = standing or Standing()

    def begin_turn(self) -> None:
        """Start every count over but the totals."""
        self.standing = Standing(totals=self.standing.totals)

    def something_new(self) -> None:
        """End the episode and the row of blocks."""
        self.end_episode()
        self.standing.blocks_in_row = 0

    def end_episode(self) -> None:
        """Forget the warnings so far; the next one is told again."""
        self.standing.sightings = 0
        self.standing.sighted_step = _NO_STEP

    def end_cuts(self) -> None:
        """A reply ended by itself: the row of cuts is over."""
        self.standing.cuts_in_row = 0

    def action(self, findings: Findings) -> Action:
        """Return the strongest action that *findings* lead to, before any escalation."""
        return max(self._policy.action(finding.severity) for finding in findings)

    def judge(self, findings: Findings, step: int, *, refuses: bool = False) -> Verdict:
        """Return the verdict on what was found about the thread or about a call.

        Args:
            findings: At least one. In the verdict the one that decides comes first.
            step: The number of the model step they belong to.
            refuses: True if a HALT also is the answer to a call that does not run.
        """
        action = self.action(findings)
        findings = tuple(sorted(findings, key=lambda f: -self._policy.action(f.severity)))
        match action:
            case Action.ALLOW:
                return Verdict(Action.ALLOW, findings)
            case Action.NUDGE:
                return self._nudge(findings, step)
            case Action.BLOCK:
                return self._block(findings, step)
            case Action.HALT:
                return self._halt(findings, refuses=refuses)

    def judge_cut(self) -> Verdict:
        """Return the verdict on one more reply that was cut."""
        standing = self.standing
        standing.cuts_in_row += 1
        standing.totals.cuts += 1
        finding = Finding(
            "reply.cut", "cut", standing.cuts_in_row, _cuts_sentence(standing.cuts_in_row)
        )
        if standing.cuts_in_row >= self._policy.max_cuts_in_row:
            return self._halt((finding,))
        return Verdict(Action.NUDGE, (finding,), cut_text((finding,)))

    def _nudge(self, findings: Findings, step: int) -> Verdict:
        standing = self.standing
        if standing.sightings and step == standing.sighted_step:
            return Verdict(Action.NUDGE, findings)
        standing.sightings += 1
        standing.sighted_step = step
        if standing.sightings > self._policy.max_unheeded_nudges:
            return self._halt(findings)
        standing.totals.nudges += 1
        told = standing.sightings > 1
        return Verdict(Action.NUDGE, findings, "" if told else nudge_text(findings))

    def _block(self, findings: Findings, step: int) -> Verdict:
        standing = self.standing
        # A batch of many equal calls is one mistake: the model could not heed the first refusal
        # before it made the next call.
        if findings[0].detector != "tool_loop.unanswered" or step != standing.blocked_step:
            standing.blocks_in_row += 1
        standing.blocked_step = step
        if standing.blocks_in_row >= self._policy.max_blocks_in_row:
            return self._halt(findings, refuses=True)
        standing.totals.blocks += 1
        return Verdict(Action.BLOCK, findings, block_text(findings))

    def _halt(self, findings: Findings, *, refuses: bool = False) -> Verdict:
        self.standing.totals.halts += 1
        return Verdict(Action.HALT, findings, block_text(findings) if refuses else "")


def _cuts_sentence(count: int) -> str:
    if count == 1:
        return "A reply went round in circles."
    return f"{count} replies in a row went round in circles."

"""Calls that were checked and not yet answered, and what was said about the latest ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from loopguard_core.fingerprint import digest_text

from .guidance import block_text
from .verdict import ALLOWED, Action, Finding, Verdict

__all__ = ["CallLedger", "CheckedCall", "OpenCall"]

# State has to stay bounded; a batch of more calls than this is unheard of.
_MAX_OPEN: Final = 24
_MAX_CHECKED: Final = 24
_ID_CHARS: Final = 64


class OpenCall(NamedTuple):
    """A call that may run and whose result has not come back.

    Args:
        call_id: The provider's id; None where there is none.
        fingerprint: The call's fingerprint.
        warnings: What the check saw; it is delivered with the result.
    """

    call_id: str | None
    fingerprint: str
    warnings: tuple[Finding, ...] = ()


class CheckedCall(NamedTuple):
    """What a call with an id was told in the model step under way.

    Args:
        call_id: The provider's id.
        fingerprint: The call's fingerprint.
        action: ALLOW, BLOCK or HALT.
        findings: Why; empty if nothing was found that speaks against the call.
    """

    call_id: str
    fingerprint: str
    action: Action
    findings: tuple[Finding, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The verdict that the call got."""
        if not self.findings:
            return ALLOWED
        refused = self.action >= Action.BLOCK
        return Verdict(self.action, self.findings, block_text(self.findings) if refused else "")


@dataclass(slots=True)
class CallLedger:
    """The open calls of a run, and the verdicts of the model step that is under way."""

    open: list[OpenCall] = field(default_factory=list)
    checked: list[CheckedCall] = field(default_factory=list)

    def waiting(self, fingerprint: str) -> int:
        """Return how many equal calls are open."""
        return sum([call.fingerprint == fingerprint for call in self.open])

    def earlier_verdict(self, call_id: str | None, fingerprint: str) -> Verdict | None:
        """Return what this very call was told in the step under way, or None."""
        if call_id is None or not self.checked:
            return None
        call_id = _bounded(call_id)
        for call in self.checked:
            if call.call_id == call_id and call.fingerprint == fingerprint:
                return call.verdict
        return None

    def was_refused(self, call_id: str | None, fingerprint: str) -> bool:
        """Return True if this very call was blocked, or ended the run, in the step under way."""
        verdict = self.earlier_verdict(call_id, fingerprint)
        return verdict is not None and verdict.action >= Action.BLOCK

    def record(self, call: OpenCall, verdict: Verdict) -> None:
        """Remember the verdict on *call*, which is open from now on if it may run."""
        call_id = _bounded(call.call_id)
        if call_id is not None:
            self.checked.append(
                CheckedCall(call_id, call.fingerprint, verdict.action, verdict.findings)
            )
            del self.checked[:-_MAX_CHECKED]
        if verdict.action < Action.BLOCK:
            self.open.append(call if call.call_id == call_id else call._replace(call_id=call_id))
            del self.open[:-_MAX_OPEN]

    def answer(self, call_id: str | None, fingerprint: str) -> OpenCall | None:
        """Close the call that a result belongs to; None if no such call is open.

        A call whose id was sent again in a later step is closed as often as it was opened.
        Without a call of that id, the oldest equal one is taken to be meant.
        """
        call_id = _bounded(call_id)
        equal = [call for call in self.open if call.fingerprint == fingerprint]
        same = [call for call in equal if call_id is not None and call.call_id == call_id]
        done = same or equal[:1]
        if not done:
            return None
        for call in done:
            self.open.remove(call)
        return done[-1]

    def forget(self, fingerprint: str) -> None:
        """Forget everything about calls with *fingerprint*."""
        self.open = [call for call in self.open if call.fingerprint != fingerprint]
        self.checked = [call for call in self.checked if call.fingerprint != fingerprint]

    def next_step(self) -> None:
        """Begin a model step: what was said about earlier calls no longer answers for new ones."""
        self.checked.clear()

    def clear(self) -> None:
        """Forget every call."""
        self.open.clear()
        self.checked.clear()


def _bounded(call_id: object) -> str | None:
    """Return *call_id* as a string, or a digest of one that is longer than any provider's."""
    if call_id is None:
        return None
    text = call_id if isinstance(call_id, str) else repr(call_id)
    return text if len(text) <= _ID_CHARS else digest_text(text)

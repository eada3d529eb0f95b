"""Decides whether the arguments of a call can be used, before they are stored or dispatched.

Source: agent specification, section 7. One thing is stricter than the reference (quirk Q01): what
stands behind the object makes the text malformed. It may be what the model still meant to say,
such as `{"path": "a"}, "dry_run": true}`, so a call without it could do harm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from loopguard_core.agent.budget import byte_length

from .refusals import refusal_cut, refusal_not_object, refusal_syntax
from .repair import Repair, RepairOutcome, repair_json
from .scan import Scan, ScanState, first_value
from .stand_in import stand_in

__all__ = ["GatedArguments", "gate_arguments"]

_JSON_BLANK: Final = " \t\n\r"
_KINDS: Final = {'"': "string", "[": "array", "t": "boolean", "f": "boolean", "n": "null"}
_SHOWN_CHARS: Final = 16


@dataclass(frozen=True, slots=True)
class GatedArguments:
    """The arguments of a call, and whether they can be used.

    Args:
        text: What to dispatch: the arguments as they came, or mended. Refused ones as they came.
        refusal: What the model reads as the call's result; empty if the arguments are fit.
        repairs: What was mended.
    """

    text: str
    refusal: str = ""
    repairs: tuple[Repair, ...] = ()

    @property
    def stored(self) -> str:
        """What to store and to show the model again: `text`, or a stand-in for refused ones."""
        return stand_in(self.text, self.refusal) if self.refusal else self.text


def gate_arguments(text: str) -> GatedArguments:
    """Check the arguments of a call, and mend them where that is safe.

    The time is linear in the length of *text*, and nothing is raised for any of it.

    Args:
        text: As the model wrote them.

    Returns:
        Fit arguments are a blank text or one JSON object. A valid one is not touched, save for
        white space around it that JSON does not have.
    """
    body = text.strip()
    if not body:
        return GatedArguments(text)
    scan = first_value(body)
    if scan.state is ScanState.COMPLETE:
        return _complete(text, body, scan)
    if scan.state is ScanState.MALFORMED:
        return _loose(text, body, scan)
    return GatedArguments(text, refusal_cut(byte_length(text)))


def _complete(text: str, body: str, scan: Scan) -> GatedArguments:
    if not body.startswith("{"):
        return GatedArguments(text, refusal_not_object(_KINDS.get(body[0], "number")))
    if scan.end < len(body):
        behind = body[scan.end :].lstrip(_JSON_BLANK)
        return GatedArguments(text, refusal_syntax(_unexpected(body, len(body) - len(behind))))
    return GatedArguments(text if text.strip(_JSON_BLANK) == body else body)


def _loose(text: str, body: str, scan: Scan) -> GatedArguments:
    repaired = repair_json(body)
    if repaired.outcome is RepairOutcome.OK:
        return GatedArguments(repaired.text, repairs=repaired.repairs)
    if repaired.outcome is RepairOutcome.TRUNCATED:
        return GatedArguments(text, refusal_cut(byte_length(text)))
    return GatedArguments(text, refusal_syntax(_unexpected(body, scan.end)))


def _unexpected(body: str, at: int) -> str:
    """Say what is wrong at *at*, and what stands in front of it."""
    before = body[max(at - _SHOWN_CHARS, 0) : at]
    return f"unexpected {body[at]!a} " + (f"after {before!a}" if before else "at the start")

"""Every sentence that a model reads from loopguard, and the frame that marks it as such.

What is added to a tool result can be taken away again: a result that differs only in a note
behind it is the same result, both for the detectors and for a saved transcript.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .verdict import Finding, Verdict

__all__ = [
    "answer_instruction",
    "append_guidance",
    "block_text",
    "cut_text",
    "halt_text",
    "nudge_text",
    "unexecuted_text",
    "verdict_record",
    "without_guidance",
]

_OPEN: Final = "[loopguard]"
_CLOSE: Final = "[/loopguard]"
_GAP: Final = "\n\n"


def nudge_text(findings: tuple[Finding, ...]) -> str:
    """Write what the model is told when it seems to go round."""
    return _framed(
        f"{_said(findings)} Nothing new is coming back. Do not repeat this: look at what you "
        "already have, then take a different approach, or say what you know and what is missing."
    )


def block_text(findings: tuple[Finding, ...]) -> str:
    """Write the result of a call that was not executed."""
    return _framed(
        f"This call was not executed. {_said(findings)} Repeating it will not help: use the "
        "results you have, try something different, or answer with what you know."
    )


def cut_text(findings: tuple[Finding, ...]) -> str:
    """Write what the model is told after its reply was cut."""
    return _framed(
        f"Your reply was cut. {_said(findings)} Do not repeat it: continue with something new, or "
        "finish briefly."
    )


def halt_text(verdict: Verdict) -> str:
    """Write the final assistant message of a run that *verdict* ended."""
    return f"I stopped here because I was going round in circles. {_said(verdict.findings)}".strip()


def unexecuted_text(verdict: Verdict) -> str:
    """Write the result of a call that was not executed because the run ended beside it."""
    return _framed(f"This call was not executed, because the run ended. {_said(verdict.findings)}")


def answer_instruction(verdict: Verdict) -> str:
    """Write what the last model call of a halted run, which has no tools, is told."""
    return _framed(
        f"{_said(verdict.findings)} No further tool calls are possible. Answer now from what "
        "you already know, and say plainly what you could not find out."
    )


def append_guidance(result: str, guidance: str) -> str:
    """Put *guidance* behind the text of a tool result; `without_guidance` undoes it."""
    return f"{result}{_GAP}{guidance}" if guidance else result


def without_guidance(text: str) -> str:
    """Return *text* without the notes that were appended to it.

    A text that is nothing but a note, as the result of a blocked call is, becomes empty.
    """
    while text.endswith(_CLOSE) and (start := text.rfind(_OPEN)) >= 0:
        text = text[:start].removesuffix(_GAP)
    return text


def verdict_record(verdict: Verdict) -> dict[str, object]:
    """Return *verdict* as JSON values: the machine-readable reason that a stopped run carries."""
    return {
        "action": verdict.action.name.lower(),
        "detector": verdict.reason,
        "guidance": verdict.guidance,
        "findings": [
            {
                "detector": finding.detector,
                "severity": finding.severity,
                "count": finding.count,
                "message": finding.message,
                "evidence": list(finding.evidence),
            }
            for finding in verdict.findings
        ],
    }


def _said(findings: tuple[Finding, ...]) -> str:
    return " ".join(finding.message for finding in findings)


def _framed(text: str) -> str:
    return f"{_OPEN} {text.strip()} {_CLOSE}"

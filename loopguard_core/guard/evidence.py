"""From what detectors report to findings, each with one sentence for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard_core.converge import Response

from .verdict import Finding, Severity

if TYPE_CHECKING:
    from loopguard_core.converge import ConvergeVerdict
    from loopguard_core.reply import LoopFinding
    from loopguard_core.thread import Cycle, GuardReason
    from loopguard_core.tool_loop import Decision

__all__ = [
    "converge_finding",
    "cycle_finding",
    "decision_finding",
    "reply_finding",
    "stream_finding",
    "unanswered_finding",
]

_NAME_CHARS: Final = 60

_CALLS: Final = {
    "post_compaction": "{tool} was called {n} times with the same arguments and the same result "
    "since the history was shortened.",
    "global_circuit_breaker": "{tool} was called {n} times with the same arguments and the same "
    "result.",
    "no_progress": "{tool} was called {n} times with the same arguments and the same result.",
    "ping_pong": "{tool} and another call alternate, {n} calls by now, and neither result changes.",
    "generic_repeat": "{tool} was called {n} times with the same arguments.",
}

_CONVERGE: Final = {
    "oscillation": "The same call was made {n} times within a few steps.",
    "zero-progress": "{n} steps in a row changed nothing.",
    "depth": "Agents are nested {n} deep.",
}

_REPLIES: Final = {
    "exact": "The {where} of a reply repeats one block, {n} copies by now.",
    "cycle": "The {where} of a reply says the same sentences again, {n} times by now.",
    "phrase": "The {where} of a reply says the same thing in other words, {n} times by now.",
    "tool": "A reply makes the same call {n} times.",
    "short_period": "The {where} of a reply repeats a few characters, {n} times by now.",
}

_THREADS: Final = {
    "repeated_suffix": "The last messages are {n} copies of one pattern{shown}.",
    "repeated_activity_tail": "The last {n} tool messages mostly repeat each other{shown}.",
    "repeated_result_run": "{what} gave the same result {n} times in a row.",
    "repeated_message_text_run": "A message repeats its own sentences.",
}


def decision_finding(tool: str, decision: Decision) -> Finding:
    """Make the finding of a tool-loop detector; *decision* must be a stuck one."""
    severity: Severity = "warn"
    if decision.level == "critical":
        severity = "terminal" if decision.terminate else "critical"
    message = _CALLS[decision.detector].format(tool=_quoted(tool), n=decision.count)
    return Finding(
        f"tool_loop.{decision.detector}", severity, decision.count, message, (_short(tool),)
    )


def unanswered_finding(tool: str, count: int) -> Finding:
    """Make the finding of one call too many that waits for the same answer."""
    message = f"{_quoted(tool)} is called {count} times with the same arguments, unanswered."
    return Finding("tool_loop.unanswered", "critical", count, message, (_short(tool),))


def converge_finding(seen: ConvergeVerdict) -> Finding | None:
    """Make the finding of the convergence monitor; None if nothing fired."""
    if not seen.fired:
        return None
    severity: Severity = "terminal" if seen.response is Response.TERMINATE else "warn"
    detector = f"converge.{seen.detector.replace('-', '_')}"
    return Finding(detector, severity, seen.count, _CONVERGE[seen.detector].format(n=seen.count))


def cycle_finding(cycle: Cycle) -> Finding:
    """Make the finding of a thread heuristic."""
    what = _quoted(cycle.evidence[0]) if cycle.evidence else "A tool"
    shown = f" ({', '.join(map(_quoted, cycle.evidence))})" if cycle.evidence else ""
    message = _THREADS[cycle.name].format(n=cycle.count, what=what, shown=shown)
    return Finding(f"thread.{cycle.name}", "warn", cycle.count, message, cycle.evidence)


def reply_finding(seen: LoopFinding) -> Finding:
    """Make the finding of a detector that watches a reply."""
    sample = _short(" ".join(seen.sample.split()))
    what = _REPLIES[seen.kind].format(n=seen.reps, where=_short(seen.where))
    return Finding(seen.detector, "cut", seen.reps, what, (_short(seen.where), sample))


def stream_finding(channel: str, reason: GuardReason) -> Finding:
    """Make the finding of the stream guard on one channel of a reply."""
    phrase = _short(reason.text)
    message = f"The words {phrase!r} came {reason.count} times among the latest words."
    return Finding("thread.stream_guard", "cut", reason.count, message, (channel, phrase))


def _quoted(name: str) -> str:
    return f"`{_short(name)}`"


def _short(text: str) -> str:
    """Keep the start of what a model wrote: a hallucinated name can be of any length."""
    return text if len(text) <= _NAME_CHARS else f"{text[:_NAME_CHARS]}..."

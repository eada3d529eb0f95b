"""What a check answers: which heuristic fired, how strongly, and a sentence about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

__all__ = ["UNDECIDED", "Decision", "DetectorName", "Level", "describe"]

Level: TypeAlias = Literal["", "warn", "critical"]
"""How strongly a decision speaks; empty when nothing was found."""

DetectorName: TypeAlias = Literal[
    "", "post_compaction", "global_circuit_breaker", "no_progress", "ping_pong", "generic_repeat"
]
"""The heuristics, in the order in which they are tried; empty when none fired."""

_SHOWN_CHARS: Final = 80  # of a tool's name: a model may have made the name up
_MESSAGES: Final[dict[DetectorName, str]] = {
    "post_compaction": "CRITICAL: after compaction, {tool} has given the same result to the same "
    "call {count} times",
    "global_circuit_breaker": "CRITICAL: global circuit breaker: attempt {count} of {tool} with "
    "the same arguments; those before it all gave the same result",
    "no_progress": "BLOCKED: attempt {count} of {tool} with the same arguments; those before it "
    "all gave the same result",
    "ping_pong": "{mark}: ping-pong: {tool} and another call have alternated for {count} calls, "
    "and neither result changes",
    "generic_repeat": "{mark}: attempt {count} of {tool} with the same arguments",
}


@dataclass(frozen=True, slots=True)
class Decision:
    """What was found about one attempt; without a finding all but the fingerprint is empty.

    Args:
        level: `warn` (the call may run), `critical` (it should not), or empty.
        detector: The heuristic that fired, or empty.
        count: What that heuristic counted, see `ToolLoopConfig`; 0 if none fired.
        message: One sentence for a person, or empty.
        terminate: True if the run should end, and not just this call.
        fingerprint: Of the call that was checked; empty if the detector is off.
    """

    level: Level = ""
    detector: DetectorName = ""
    count: int = 0
    message: str = ""
    terminate: bool = False
    fingerprint: str = ""

    @property
    def stuck(self) -> bool:
        """True if a heuristic fired."""
        return self.level != ""


UNDECIDED: Final = Decision()
"""The answer of a detector that is off."""


def describe(detector: DetectorName, level: Level, tool: str, count: int) -> str:
    """Say in one sentence, for a person, what *detector* found."""
    shown = tool if len(tool) <= _SHOWN_CHARS else f"{tool[:_SHOWN_CHARS]}..."
    mark = "WARN" if level == "warn" else "BLOCKED"
    return _MESSAGES[detector].format(mark=mark, tool=repr(shown), count=count)

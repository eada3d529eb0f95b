"""What a turn comes to."""

from __future__ import annotations

from dataclasses import dataclass, field

from loopguard_core.agent.entries import CompactionInfo
from loopguard_core.agent.usage import TokenUsage
from loopguard_core.guard import Verdict

__all__ = ["TurnResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """What a turn came to; beside an error, what it had come to so far.

    Args:
        reply: The last text of the model that was not empty, `{slots}` expanded.
        compactions: The folds that were made during the turn.
        usage: The session's totals, and what the last context cost.
        closed: True if a dispatcher closed the session.
        stopped_by: The verdict of the guard that ended the turn; None where it ended by itself.
    """

    reply: str = ""
    compactions: tuple[CompactionInfo, ...] = ()
    usage: TokenUsage = field(default_factory=TokenUsage)
    closed: bool = False
    stopped_by: Verdict | None = None

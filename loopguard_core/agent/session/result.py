"""What a turn comes to."""

from __future__ import annotations

from dataclasses import dataclass

from loopguard_core.agent.entries import CompactionInfo
from loopguard_core.guard import Verdict

__all__ = ["TokenUsage", "TurnResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """What a session has cost so far.

    Args:
        total: Tokens of prompts and replies.
        active: What the last context cost, as the estimator says.
        cached: Prompt tokens that providers read from their caches.
        processed: Prompt tokens that were new to them.
        generated: Tokens of replies.
        turns: Model calls that were reported on.
    """

    total: int = 0
    active: int = 0
    cached: int = 0
    processed: int = 0
    generated: int = 0
    turns: int = 0


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
    usage: TokenUsage = TokenUsage()
    closed: bool = False
    stopped_by: Verdict | None = None

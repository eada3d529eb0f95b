"""What of a session outlives a turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock

from loopguard_core.agent.usage import TokenUsage

from .clock import SessionClock
from .watching import Watch

__all__ = ["SessionState"]


@dataclass(slots=True)
class SessionState:
    """What outlives a turn.

    Args:
        clock: The session's.
        watch: The session's guard.
        usage: The totals so far.
        has_begun: True once the store was looked at.
        busy: Held while a turn runs.
    """

    clock: SessionClock
    watch: Watch
    usage: TokenUsage
    has_begun: bool = False
    busy: Lock = field(default_factory=Lock)

"""loopguard's framework-neutral core: it decides, the adapters act.

What most users and every adapter need is here; each detector is usable alone from its package:
`loopguard_core.thread`, `loopguard_core.tool_loop`, `loopguard_core.converge`.
"""

from __future__ import annotations

from .errors import InvalidInputError, LoopguardError, MissingEstimatorError
from .guard import (
    Action,
    Finding,
    GuardedReply,
    GuardedRun,
    Listener,
    LoggingListener,
    LoopDetected,
    LoopGuard,
    Policy,
    ToolRule,
    Verdict,
    VerdictEvent,
    WatchedStream,
    guard_astream,
    guard_stream,
    watch_client,
)
from .message import Message

__all__ = [
    "Action",
    "Finding",
    "GuardedReply",
    "GuardedRun",
    "InvalidInputError",
    "Listener",
    "LoggingListener",
    "LoopDetected",
    "LoopGuard",
    "LoopguardError",
    "Message",
    "MissingEstimatorError",
    "Policy",
    "ToolRule",
    "Verdict",
    "VerdictEvent",
    "WatchedStream",
    "guard_astream",
    "guard_stream",
    "watch_client",
]

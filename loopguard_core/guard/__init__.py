"""One guard: findings in, a verdict out. Adapters do what the verdict says.

`LoopGuard` is the frozen configuration, `GuardedRun` one run's state, `Policy` what findings
lead to, `guidance` every sentence that a model reads.
"""

from __future__ import annotations

from .config import LoopGuard
from .escalation import Totals
from .listener import Listener, LoggingListener, VerdictEvent
from .openai_client import WatchedStream, watch_client
from .policy import DETECTORS, Policy, ToolRule
from .reply import GuardedReply
from .run import GuardedRun
from .streams import guard_astream, guard_stream
from .verdict import Action, Finding, LoopDetected, Severity, Verdict

__all__ = [
    "DETECTORS",
    "Action",
    "Finding",
    "GuardedReply",
    "GuardedRun",
    "Listener",
    "LoggingListener",
    "LoopDetected",
    "LoopGuard",
    "Policy",
    "Severity",
    "ToolRule",
    "Totals",
    "Verdict",
    "VerdictEvent",
    "WatchedStream",
    "guard_astream",
    "guard_stream",
    "watch_client",
]

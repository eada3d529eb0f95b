"""What fits into the context window, and does the thread go round.

Source: thread specification. Everything here is a pure function of the messages it is given,
except `StreamGuard` and `ThreadWatch`, which keep the small state of one reply and of one thread.
"""

from __future__ import annotations

from .activity import has_repeated_activity_tail
from .build import BuildResult, Inclusive, build_thread
from .cycle import Cycle, CycleName, describe_thread_cycle, is_thread_cyclic
from .exchange import Exchange, exchanges, newest_exchanges
from .options import (
    DEFAULT_MIN_RESULT_REPETITIONS,
    CycleOptions,
    StreamGuardOptions,
    TextRunOptions,
)
from .result_run import has_repeated_result_run
from .stream_guard import GuardReason, StreamGuard
from .suffix import has_repeated_suffix
from .text_run import has_repeated_text_run
from .trim import Trimmer, TrimPlan
from .watch import ThreadWatch

__all__ = [
    "DEFAULT_MIN_RESULT_REPETITIONS",
    "BuildResult",
    "Cycle",
    "CycleName",
    "CycleOptions",
    "Exchange",
    "GuardReason",
    "Inclusive",
    "StreamGuard",
    "StreamGuardOptions",
    "TextRunOptions",
    "ThreadWatch",
    "TrimPlan",
    "Trimmer",
    "build_thread",
    "describe_thread_cycle",
    "exchanges",
    "has_repeated_activity_tail",
    "has_repeated_result_run",
    "has_repeated_suffix",
    "has_repeated_text_run",
    "is_thread_cyclic",
    "newest_exchanges",
]

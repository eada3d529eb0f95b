"""The shaper for threads that a framework keeps: what is sent of them, and what is folded.

Adapters turn their messages into neutral ones, as for the guard, and apply what comes back to
their own objects. Source: agent specification, section 23.
"""

from __future__ import annotations

from .breaker import SummaryBreaker
from .entries import entry_of
from .fold_record import FoldRecord, folding_is_idle
from .shape import NativePiece, ThreadShape
from .shaper import ThreadShaper

__all__ = [
    "FoldRecord",
    "NativePiece",
    "SummaryBreaker",
    "ThreadShape",
    "ThreadShaper",
    "entry_of",
    "folding_is_idle",
]

"""A reply watched while it streams: is it going round.

Source: the reply specification.
"""

from __future__ import annotations

from .config import ExactConfig, ReplyLoopConfig
from .detector import ReplyLoopDetector
from .exact import ExactFinding, ExactRepetition
from .finding import Kind, LoopFinding
from .fixed_points import FixedPoints
from .totals import ReplyCounters
from .watch import ReplyWatch

__all__ = [
    "ExactConfig",
    "ExactFinding",
    "ExactRepetition",
    "FixedPoints",
    "Kind",
    "LoopFinding",
    "ReplyCounters",
    "ReplyLoopConfig",
    "ReplyLoopDetector",
    "ReplyWatch",
]

"""The same calls, the same answers: is an agent stuck on its tools?

A `ToolLoopDetector` remembers the calls of one run that finished, as digests, and judges the
call that is about to run. Source: the tool-loop specification.
"""

from .config import ToolLoopConfig
from .decision import Decision, DetectorName, Level
from .detector import ToolLoopDetector
from .fingerprints import call_fingerprint, result_fingerprint

__all__ = [
    "Decision",
    "DetectorName",
    "Level",
    "ToolLoopConfig",
    "ToolLoopDetector",
    "call_fingerprint",
    "result_fingerprint",
]

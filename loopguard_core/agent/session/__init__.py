"""A small agent session: messages in, one turn of rounds with a model and its tools, a reply."""

from __future__ import annotations

from .options import OnToken, SessionOptions, ToolFormat
from .result import TurnResult
from .session import Session

__all__ = [
    "OnToken",
    "Session",
    "SessionOptions",
    "ToolFormat",
    "TurnResult",
]

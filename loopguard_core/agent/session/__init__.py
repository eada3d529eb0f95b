"""A small agent session: messages in, one turn of rounds with a model and its tools, a reply."""

from __future__ import annotations

from .result import TurnResult

__all__ = ["TurnResult"]

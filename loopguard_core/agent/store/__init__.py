"""Where a session keeps its entries: the protocol, one in memory, one in SQLite."""

from __future__ import annotations

from .protocol import Store

__all__ = ["Store"]

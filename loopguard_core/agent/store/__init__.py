"""Where a session keeps its entries: the protocol, one in memory, one in SQLite."""

from __future__ import annotations

from .memory import MemoryStore
from .protocol import Inbox, Store
from .sqlite import SqliteStore

__all__ = ["Inbox", "MemoryStore", "SqliteStore", "Store"]

"""The file that a `SqliteStore` keeps, and how it is opened."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Final

from loopguard_core.errors import InvalidInputError

if TYPE_CHECKING:
    import os

__all__ = ["open_database"]

_VERSION: Final = 1
_APPLICATION: Final = 0x4C4F4F50  # marks the file as ours, for tools and for us

# `state` is one of queued, shown, hidden. The body is an entry as JSON; its time is a column of
# its own, since it is set when an entry is claimed. Rows are numbered and never deleted.
_TABLES: Final = """
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    id TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'shown', 'hidden')),
    created_at INTEGER NOT NULL,
    subsumed_by TEXT,
    body TEXT NOT NULL,
    UNIQUE (session_id, id)
)
"""
_INDEX: Final = "CREATE INDEX entries_by_state ON entries (session_id, state, seq)"


def open_database(path: str | os.PathLike[str], timeout_s: float) -> sqlite3.Connection:
    """Open the file, make its tables if it is new, and return the connection.

    Raises:
        InvalidInputError: The file is a database of something else, or of a later release.
    """
    # transactions are begun by hand, and threads take turns behind a lock
    database = sqlite3.connect(
        path, timeout=timeout_s, isolation_level=None, check_same_thread=False
    )
    try:
        # readers never wait, a commit is one append, and it outlives a loss of power
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        with database:
            database.execute("BEGIN IMMEDIATE")
            _prepare(database, path)
    except BaseException:  # nobody else could close what was not handed out
        database.close()
        raise
    return database


def _prepare(database: sqlite3.Connection, path: object) -> None:
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if (application, version, tables) == (0, 0, 0):
        database.execute(_TABLES)
        database.execute(_INDEX)
        database.execute(f"PRAGMA application_id = {_APPLICATION}")
        database.execute(f"PRAGMA user_version = {_VERSION}")
    elif application != _APPLICATION:
        raise InvalidInputError("path", path, "a new file, or one that a SqliteStore made")
    elif version != _VERSION:
        raise InvalidInputError("path", path, f"a store of version {_VERSION}, not {version}")

"""`SqliteStore`: entries of sessions in one file, safe against a crash at any point.

What a fold hides stays in the file, with the id of the marker that stands for it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Self

from loopguard_core.agent.entries import Entry
from loopguard_core.agent.errors import StoreConflictError
from loopguard_core.errors import InvalidInputError

from .decoded import DecodedEntries
from .incoming import check_again, stamped, with_id
from .schema import open_database

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from loopguard_core.agent.entries import Compaction

__all__ = ["SqliteStore"]


class SqliteStore:
    """Keeps sessions in a SQLite file that several processes may use at the same time.

    Each call is one transaction: it is in the file when the call returns, and a process that is
    killed before leaves no part of it. The same entry, by its id, may come again and is not
    doubled, so a host that does not know whether a call was made may make it again. Calls run
    in a thread, one at a time, on one connection.

    Args:
        path: The file, made if there is none; `:memory:` keeps everything in memory.
        timeout_s: Seconds to wait for a transaction of another process before
            `sqlite3.OperationalError`.

    Raises:
        InvalidInputError: *path* names no file, or one of something else, or of a later release.
        sqlite3.Error: The file cannot be opened or is no database.
    """

    def __init__(self, path: str | os.PathLike[str], *, timeout_s: float = 30.0) -> None:
        # sqlite3 takes an empty name for a file that is gone when it is closed
        given: object = path
        if not isinstance(given, str | os.PathLike) or not os.fspath(given):
            raise InvalidInputError("path", path, "the name of a file, or `:memory:`")
        if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float):
            raise InvalidInputError("timeout_s", timeout_s, "seconds")
        self._connection = open_database(path, timeout_s)
        self._lock = threading.Lock()
        self._decoded = DecodedEntries()

    def close(self) -> None:
        """Close the file; the store is of no use afterwards."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Self:
        """Return the store, which is closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    async def enqueue(self, session_id: str, entry: Entry) -> None:
        """Queue an entry until the session claims it; see `Inbox.enqueue`.

        Raises:
            InvalidInputError: The session has another entry under the same id.
        """
        await asyncio.to_thread(self._enqueue, session_id, with_id(entry))

    async def claim_pending(self, session_id: str, at: int) -> int:
        """Make everything that was queued part of the context; return how many entries that is."""
        return await asyncio.to_thread(self._claim, session_id, at)

    async def append(self, session_id: str, entry: Entry) -> None:
        """Add one entry to the context; one without a time comes after all that are there.

        Raises:
            InvalidInputError: The session has another entry under the same id.
        """
        await asyncio.to_thread(self._append, session_id, with_id(entry))

    async def context(self, session_id: str) -> list[Entry]:
        """Return the entries that no fold has subsumed, in the order of their arrival."""
        return await asyncio.to_thread(self._context, session_id)

    async def history(self, session_id: str) -> list[Entry]:
        """Return every entry that was ever in the context, in the order of their arrival."""
        return await asyncio.to_thread(self._history, session_id)

    async def compact(self, session_id: str, compaction: Compaction) -> None:
        """Write the marker and hide what it stands for, both or neither.

        Raises:
            StoreConflictError: Something of that is not in the context any more.
        """
        await asyncio.to_thread(self._compact, session_id, compaction)

    @contextmanager
    def _transaction(self, kind: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
        with self._lock, self._connection as database:  # commits, or rolls back what failed
            database.execute(f"BEGIN {kind}")
            yield database

    def _enqueue(self, session_id: str, entry: Entry) -> None:
        with self._transaction() as database:
            _insert(database, session_id, entry, state="queued")

    def _claim(self, session_id: str, at: int) -> int:
        with self._transaction() as database:
            rows = database.execute(
                "SELECT seq, body, created_at FROM entries"
                " WHERE session_id = ? AND state = 'queued' ORDER BY seq",
                (session_id,),
            ).fetchall()
            claimed = stamped([_entry(body, created_at) for _, body, created_at in rows], at)
            database.executemany(
                "UPDATE entries SET state = 'shown', created_at = ? WHERE seq = ?",
                [(entry.created_at, row[0]) for entry, row in zip(claimed, rows, strict=True)],
            )
            return len(rows)

    def _append(self, session_id: str, entry: Entry) -> None:
        with self._transaction() as database:
            if not entry.created_at:
                [entry] = stamped([entry], _after_all(database, session_id))
            _insert(database, session_id, entry, state="shown")

    def _context(self, session_id: str) -> list[Entry]:
        with self._transaction("DEFERRED") as database:  # both reads see the same moment
            rows = database.execute(
                "SELECT seq FROM entries WHERE session_id = ? AND state = 'shown' ORDER BY seq",
                (session_id,),
            )
            order = [seq for (seq,) in rows]
            return self._decoded.of(session_id, order, partial(_shown, database, session_id))

    def _history(self, session_id: str) -> list[Entry]:
        with self._transaction("DEFERRED") as database:
            rows = database.execute(
                "SELECT body, created_at FROM entries"
                " WHERE session_id = ? AND state <> 'queued' ORDER BY seq",
                (session_id,),
            )
            return [_entry(body, created_at) for body, created_at in rows]

    def _compact(self, session_id: str, compaction: Compaction) -> None:
        marker = with_id(compaction.marker)
        with self._transaction() as database:
            if not _insert(database, session_id, marker, state="shown"):
                return
            hidden = database.executemany(
                "UPDATE entries SET state = 'hidden', subsumed_by = ?"
                " WHERE session_id = ? AND id = ? AND state = 'shown'",
                [(marker.id, session_id, entry.id) for entry in compaction.subsumed],
            )
            if compaction.subsumed and hidden.rowcount != len(compaction.subsumed):
                raise StoreConflictError(session_id)


def _insert(database: sqlite3.Connection, session_id: str, entry: Entry, *, state: str) -> bool:
    """Write *entry*; return False if it is there already."""
    written = database.execute(
        "INSERT INTO entries (session_id, id, state, created_at, body) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (session_id, id) DO NOTHING",
        (session_id, entry.id, state, entry.created_at, entry.to_json()),
    )
    if written.rowcount:
        return True
    body, created_at = database.execute(
        "SELECT body, created_at FROM entries WHERE session_id = ? AND id = ?",
        (session_id, entry.id),
    ).fetchone()
    check_again(entry, _entry(body, created_at))
    return False


def _shown(
    database: sqlite3.Connection, session_id: str, first: int
) -> Iterator[tuple[int, Entry]]:
    """Read the entries in the context from the row *first* on."""
    rows = database.execute(
        "SELECT seq, body, created_at FROM entries"
        " WHERE session_id = ? AND state = 'shown' AND seq >= ?",
        (session_id, first),
    )
    return ((seq, _entry(body, created_at)) for seq, body, created_at in rows)


def _after_all(database: sqlite3.Connection, session_id: str) -> int:
    (newest,) = database.execute(
        "SELECT coalesce(max(created_at), 0) FROM entries WHERE session_id = ? AND state = 'shown'",
        (session_id,),
    ).fetchone()
    return int(newest) + 1


def _entry(body: str, created_at: int) -> Entry:
    """Read a row; the time is in a column of its own, since a claim sets it."""
    entry = Entry.from_json(body)
    if entry.created_at == created_at:
        return entry
    return entry.model_copy(update={"created_at": created_at})

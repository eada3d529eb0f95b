"""The file that a `SqliteStore` keeps."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from typing import TYPE_CHECKING

import pytest

from loopguard_core.agent.entries import Compaction
from loopguard_core.agent.store import SqliteStore
from loopguard_core.errors import InvalidInputError

from .workload import entry

if TYPE_CHECKING:
    from pathlib import Path


async def test_a_file_is_opened_again(tmp_path: Path) -> None:
    """What was written is there, what was queued is still queued."""
    with SqliteStore(tmp_path / "store.db") as store:
        await store.append("s", entry("a", 1))
        await store.enqueue("s", entry("b", 2))
    with SqliteStore(str(tmp_path / "store.db")) as store:
        assert await store.context("s") == [entry("a", 1)]
        assert await store.claim_pending("s", 3) == 1


async def test_two_connections_see_each_other(tmp_path: Path) -> None:
    """What one has read before does not hide what the other writes, claims or folds."""
    with SqliteStore(tmp_path / "db") as one, SqliteStore(tmp_path / "db") as other:
        await other.enqueue("s", entry("early", 1))
        await other.append("s", entry("a", 2))
        assert await one.context("s") == [entry("a", 2)]
        await other.claim_pending("s", 3)
        assert await one.context("s") == [entry("early", 1), entry("a", 2)]
        fold = Compaction(marker=entry("m", 2), subsumed=(entry("early", 1),))
        await other.compact("s", fold)
        assert await one.context("s") == [entry("a", 2), entry("m", 2)]


async def test_an_entry_is_read_once() -> None:
    """What is not new in a context is the same object as before, for nine sessions not all."""
    with SqliteStore(":memory:") as store:
        for session in "abcdefghi":
            await store.append(session, entry("x", 1))
        [first] = await store.context("a")
        await store.append("a", entry("y", 2))
        assert (await store.context("a"))[0] is first
        for session in "bcdefghi":
            await store.context(session)
        assert (await store.context("a"))[0] is not first


async def test_many_calls_at_once(tmp_path: Path) -> None:
    """Tasks that use one store at the same time wait for each other."""
    with SqliteStore(tmp_path / "db") as store:
        appends = [store.append("s", entry(str(n), n)) for n in range(1, 201)]
        reads = [store.context("s") for _ in range(200)]
        await asyncio.gather(*(one for pair in zip(appends, reads, strict=True) for one in pair))
        assert len(await store.context("s")) == 200


async def test_a_call_that_is_cancelled_is_whole_or_absent(tmp_path: Path) -> None:
    """Cancelling does not leave a transaction open."""
    with SqliteStore(tmp_path / "db") as store:
        task = asyncio.create_task(store.append("s", entry("a", 1)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await store.append("s", entry("b", 2))
        assert (await store.context("s"))[-1] == entry("b", 2)


def _write(file: Path, *statements: str) -> None:
    database = sqlite3.connect(file)
    for statement in statements:
        database.execute(statement)
    database.close()


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    """Its tables are left alone, and the error names the file."""
    _write(tmp_path / "db", "CREATE TABLE other (x)", "PRAGMA user_version = 1")
    with pytest.raises(InvalidInputError, match=r"path.*db"):
        SqliteStore(tmp_path / "db")


def test_a_later_version_is_refused(tmp_path: Path) -> None:
    """A file of a later release is not written to."""
    SqliteStore(tmp_path / "db").close()
    _write(tmp_path / "db", "PRAGMA user_version = 99")
    with pytest.raises(InvalidInputError, match="99"):
        SqliteStore(tmp_path / "db")


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    """SQLite's own error comes through."""
    (tmp_path / "db").write_bytes(b"no database at all" * 100)
    with pytest.raises(sqlite3.DatabaseError):
        SqliteStore(tmp_path / "db")


async def test_waiting_for_another_process_has_an_end(tmp_path: Path) -> None:
    """A transaction that is never ended elsewhere raises SQLite's own error."""
    with SqliteStore(tmp_path / "db", timeout_s=0.05) as store:
        other = sqlite3.connect(tmp_path / "db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            await store.append("s", entry("a", 1))
        other.execute("ROLLBACK")
        other.close()
        await store.append("s", entry("a", 1))


def test_a_new_file_that_is_locked_has_an_end(tmp_path: Path) -> None:
    """Opening waits no longer than it was told to."""
    other = sqlite3.connect(tmp_path / "db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        SqliteStore(tmp_path / "db", timeout_s=0.05)
    other.close()


def test_a_new_file_is_waited_for(tmp_path: Path) -> None:
    """A process that makes the file at the same time is given time to end."""
    other = sqlite3.connect(tmp_path / "db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    later = threading.Timer(0.1, other.execute, ["ROLLBACK"])
    later.start()
    SqliteStore(tmp_path / "db", timeout_s=10).close()
    later.join()
    other.close()


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    """Closing twice is fine; using it is not."""
    store = SqliteStore(tmp_path / "db")
    store.close()
    store.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        await store.context("s")


@pytest.mark.parametrize("path", ["", 5, None, b""])
def test_a_path_that_names_no_file_is_refused(path: object) -> None:
    """sqlite3 would take the empty one for a file that is gone when it is closed."""
    with pytest.raises(InvalidInputError, match="path"):
        SqliteStore(path)  # type: ignore[arg-type]

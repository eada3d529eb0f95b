"""A process is killed at any point: no entry is lost or doubled, a fold is whole or absent."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import pytest

from loopguard_core.agent.store import SqliteStore

from .workload import SESSION, Step, calls, make, steps

ROOT = Path(__file__).parents[4]
WORKLOAD = Path(__file__).with_name("workload.py")

Rows: TypeAlias = list[tuple[object, ...]]


def start(*arguments: object) -> subprocess.Popen[bytes]:
    """Start the workload in a process of its own."""
    command = [sys.executable, str(WORKLOAD), *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT)  # noqa: S603 - our own program


def rows(file: Path | str, session: str = SESSION) -> Rows:
    """Return what is in the file, whatever the store makes of it."""
    with SqliteStore(file):  # also recovers what a crash left
        pass
    database = sqlite3.connect(file)
    try:
        return database.execute(
            "SELECT id, state, created_at, subsumed_by, body FROM entries"
            " WHERE session_id = ? ORDER BY seq",
            (session,),
        ).fetchall()
    finally:
        database.close()


def after_each_call(some: list[Step], folder: Path) -> list[Rows]:
    """Return what is in a file before the first call, after the first, and so on."""
    file = folder / "undisturbed.db"
    seen = [rows(file)]
    with SqliteStore(file) as store:
        for step in some:
            asyncio.run(step(store))
            seen.append(rows(file))
    return seen


def made(file: Path) -> int:
    """Return how many calls had returned when the process was killed."""
    done = Path(f"{file}.done")
    return len(done.read_bytes()) if done.exists() else 0


def test_killed_before_any_statement(tmp_path: Path) -> None:
    """Whatever statement is the last, the file is as after a whole number of calls."""
    folder = tmp_path / "killed"
    folder.mkdir()
    assert start("every-statement", folder).wait() == 0
    expected = after_each_call(calls(), tmp_path)
    files = sorted(folder.glob("*.db"))
    for file in files:
        assert rows(file) == expected[made(file)], file
    assert made(files[0]) == 0
    assert made(files[-1]) == len(calls())
    assert len(files) > 3 * len(calls())  # each call begins, writes and commits


def test_made_again_after_a_crash(tmp_path: Path) -> None:
    """A host that makes every call again after a crash has each entry once."""
    assert start("every-statement", tmp_path).wait() == 0
    *killed, whole = sorted(tmp_path.glob("*.db"))
    expected = [row[:2] + row[3:] for row in rows(whole)]  # a later claim gives a later time
    for file in killed[::5]:
        with SqliteStore(file) as store:
            asyncio.run(make(store, calls(), tmp_path / "again.done"))
        assert [row[:2] + row[3:] for row in rows(file)] == expected, file


@pytest.mark.parametrize("seed", range(8))
def test_killed_at_any_time(seed: int, tmp_path: Path) -> None:
    """A process that writes and folds is killed in the middle of whatever it does."""
    file = tmp_path / "store.db"
    writer = start("for-ever", file)
    while made(file) < 10:
        time.sleep(0.005)
        assert writer.poll() is None
    time.sleep(random.Random(seed).uniform(0, 0.05))  # noqa: S311 - not for secrets
    writer.kill()
    writer.wait()
    done = made(file)
    # the last call may have been written and not yet returned
    expected = after_each_call(list(islice(steps(), done + 1)), tmp_path)
    assert rows(file) in expected[done:]


def test_processes_share_a_new_file(tmp_path: Path) -> None:
    """Processes that make the same file at the same time all find their entries in it."""
    file = tmp_path / "store.db"
    names = ["a", "b", "c", "d"]
    writers = [start("beside", file, name) for name in names]
    assert [writer.wait() for writer in writers] == [0] * len(names)
    kept = [rows(file, name) for name in names]
    assert len(kept[0]) == 10
    assert all(some == kept[0] for some in kept)

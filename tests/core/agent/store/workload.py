"""What a store is given in the crash test: a fixed list of calls; also a program that makes them.

    python workload.py every-statement FOLDER   killed before its n-th SQL statement, for each n
    python workload.py for-ever FILE            makes calls until somebody kills it
    python workload.py beside FILE NAME         makes the calls for a session of its own

What was done is written to `FILE.done`, one byte for each call that returned.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from loopguard_core.agent.entries import Compaction, Entry
from loopguard_core.agent.store import MemoryStore, SqliteStore

SESSION = "s"
ROUNDS = 4

AnyStore: TypeAlias = SqliteStore | MemoryStore
Step: TypeAlias = Callable[[AnyStore], Awaitable[object]]


def entry(entry_id: str, at: int, kind: str = "assistant") -> Entry:
    """Return an entry that says who it is."""
    return Entry(id=entry_id, kind=kind, content=f"content of {entry_id}", created_at=at)


def steps(session: str = SESSION, fold_every: int = 2) -> Iterator[Step]:
    """Yield calls without end: messages arrive, are claimed and answered, and are folded."""
    since_fold: list[Entry] = []
    turn = 0
    while True:
        turn += 1
        at = turn * 10
        arrived, answer = entry(f"u{turn}", 0, "user"), entry(f"a{turn}", at + 1)
        yield lambda store, e=arrived: store.enqueue(session, e)
        yield lambda store, at=at: store.claim_pending(session, at)
        yield lambda store, e=answer: store.append(session, e)
        since_fold += [arrived.model_copy(update={"created_at": at}), answer]
        if turn % fold_every == 0:
            marker = entry(f"m{turn}", since_fold[-2].created_at, "compaction")
            fold = Compaction(marker=marker, subsumed=tuple(since_fold[:-1]))
            yield lambda store, fold=fold: store.compact(session, fold)
            since_fold = since_fold[-1:]


def calls(session: str = SESSION) -> list[Step]:
    """Return the calls of a few turns with two folds."""
    return list(islice(steps(session), ROUNDS * 3 + ROUNDS // 2))


async def make(store: AnyStore, some: Iterator[Step] | list[Step], done: Path) -> None:
    """Make the calls, one after the other, and take note of each that returned."""
    with done.open("ab", buffering=0) as log:
        for step in some:
            await step(store)
            log.write(b".")


def _dying(store: SqliteStore, at: int) -> None:
    """Let the process be killed before the store's SQL statement number *at*."""
    left = iter(range(at))

    def look(_: str) -> None:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    store._connection.set_trace_callback(look)


def every_statement(folder: Path) -> None:
    """Fork a process for each statement that is killed before it, until one gets through."""
    for at in range(10_000):
        file = folder / f"{at:03}.db"
        if (child := os.fork()) == 0:
            store = SqliteStore(file)
            _dying(store, at)
            asyncio.run(make(store, calls(), Path(f"{file}.done")))
            os._exit(0)
        if os.waitpid(child, 0)[1] == 0:
            return


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["every-statement", folder]:
            every_statement(Path(folder))
        case ["for-ever", file]:
            asyncio.run(make(SqliteStore(file), steps(), Path(f"{file}.done")))
        case ["beside", file, name]:
            asyncio.run(make(SqliteStore(file), calls(name), Path(f"{file}.{name}.done")))

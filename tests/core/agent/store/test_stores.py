"""What both stores promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from loopguard_core.agent.chat import TextPart
from loopguard_core.agent.entries import Compaction, Entry, EntryUsage
from loopguard_core.agent.errors import StoreConflictError
from loopguard_core.agent.store import Inbox, MemoryStore, SqliteStore
from loopguard_core.errors import InvalidInputError

from .workload import entry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .workload import AnyStore


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AnyStore]:
    """Yield each of the two stores, empty."""
    if request.param == "memory":
        yield MemoryStore()
    else:
        with SqliteStore(tmp_path / "store.db") as kept:
            yield kept


async def ids(store: AnyStore, session: str = "s") -> list[str]:
    """Return the ids of the context."""
    return [some.id for some in await store.context(session)]


async def test_an_entry_is_read_as_it_was_written(store: AnyStore) -> None:
    """Every field survives, a lone surrogate too."""
    usage = EntryUsage(latency_ms=1, cached=2, processed=3, generated=4)
    whole = Entry(
        id="x",
        kind="own kind",
        content="a\ud800\x00é<|",
        parts=(TextPart(text="t"),),
        tool_call_id="c",
        tool_name="f",
        usage=usage,
        tag="t",
        origin="o",
        created_at=2**62,
    )
    await store.append("s", whole)
    assert await store.context("s") == [whole]


async def test_what_is_queued_is_no_context_before_it_is_claimed(store: AnyStore) -> None:
    """A claim shows what was queued, once, and says how much that was."""
    await store.enqueue("s", entry("a", 5))
    await store.enqueue("s", entry("b", 6))
    assert await ids(store) == []
    assert await store.history("s") == []
    assert await store.claim_pending("s", 10) == 2
    assert await ids(store) == ["a", "b"]
    assert await store.claim_pending("s", 11) == 0


async def test_a_claim_stamps_what_has_no_time(store: AnyStore) -> None:
    """Arrivals keep their order and are not later than the clock; a given time is kept (Q13)."""
    await store.append("s", entry("answer", 90))
    for arrived in (entry("a", 0), entry("old", 3), entry("b", 0)):
        await store.enqueue("s", arrived)
    await store.claim_pending("s", 100)
    times = {some.id: some.created_at for some in await store.context("s")}
    assert times == {"answer": 90, "a": 99, "old": 3, "b": 100}


async def test_an_appended_entry_without_a_time_comes_last(store: AnyStore) -> None:
    """A host that appends by itself need not know the session's clock."""
    await store.append("s", entry("a", 7))
    await store.append("s", entry("b", 0))
    assert [some.created_at for some in await store.context("s")] == [7, 8]


async def test_an_entry_without_an_id_gets_one(store: AnyStore) -> None:
    """Two such entries are two."""
    await store.append("s", Entry(kind="user", created_at=1))
    await store.enqueue("s", Entry(kind="user", created_at=2))
    await store.claim_pending("s", 3)
    assert len(set(await ids(store)) - {""}) == 2


async def test_the_same_entry_may_come_again(store: AnyStore) -> None:
    """It is not doubled, whether it is queued, in the context, or behind a fold."""
    queued, shown = entry("q", 0), entry("a", 1)
    for _ in range(2):
        await store.enqueue("s", queued)
    await store.claim_pending("s", 5)
    for _ in range(2):
        await store.enqueue("s", queued)
        await store.append("s", shown)
    assert await store.claim_pending("s", 6) == 0
    assert await ids(store) == ["q", "a"]
    fold = Compaction(marker=entry("m", 1, "compaction"), subsumed=(shown,))
    for _ in range(2):
        await store.compact("s", fold)
    await store.append("s", shown)
    assert await ids(store) == ["q", "m"]


async def test_another_entry_under_the_same_id_is_refused(store: AnyStore) -> None:
    """The error names the id, and nothing changes."""
    await store.append("s", entry("a", 1))
    with pytest.raises(InvalidInputError, match=r"entry\.id.*'a'"):
        await store.append("s", entry("a", 1, "user"))
    with pytest.raises(InvalidInputError, match=r"entry\.id"):
        await store.enqueue("s", entry("a", 2))
    assert await store.context("s") == [entry("a", 1)]


async def test_a_fold_hides_and_keeps(store: AnyStore) -> None:
    """The marker comes, what it stands for goes, and the history still has it."""
    some = [entry(name, at) for at, name in enumerate("abc", 1)]
    for one in some:
        await store.append("s", one)
    marker = entry("m", 2, "compaction")
    await store.compact("s", Compaction(marker=marker, subsumed=tuple(some[:2])))
    assert await store.context("s") == [some[2], marker]
    assert await store.history("s") == [*some, marker]


async def test_a_fold_of_what_was_folded_is_refused(store: AnyStore) -> None:
    """Neither the marker nor a part of the fold is written."""
    a, b = entry("a", 1), entry("b", 2)
    for one in (a, b):
        await store.append("s", one)
    await store.compact("s", Compaction(marker=entry("m", 1), subsumed=(a,)))
    with pytest.raises(StoreConflictError, match="'s'"):
        await store.compact("s", Compaction(marker=entry("n", 2), subsumed=(b, a)))
    assert await ids(store) == ["b", "m"]


async def test_sessions_do_not_see_each_other(store: AnyStore) -> None:
    """The same id may be in two sessions."""
    await store.append("s", entry("a", 1))
    await store.enqueue("t", entry("a", 2))
    assert await store.claim_pending("s", 3) == 0
    assert await ids(store, "t") == []
    await store.claim_pending("t", 3)
    await store.compact("t", Compaction(marker=entry("m", 2), subsumed=(entry("a", 2),)))
    assert await ids(store) == ["a"]


async def test_a_context_is_a_copy(store: AnyStore) -> None:
    """Who changes the list changes nothing in the store."""
    await store.append("s", entry("a", 1))
    (await store.context("s")).clear()
    assert await ids(store) == ["a"]


def test_both_have_an_inbox(store: AnyStore) -> None:
    """A session can queue a message in either."""
    assert isinstance(store, Inbox)

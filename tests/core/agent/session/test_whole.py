"""A session with all its parts: a shaper that folds, a guard, a tracer, a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from loopguard_core import LoopGuard
from loopguard_core.agent.errors import TurnError
from loopguard_core.agent.shaping import Shaper, ShaperPolicy
from loopguard_core.agent.store import SqliteStore
from loopguard_core.agent.tracing import OpenTelemetryTracer

from .scripted import call, session, stored

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from loopguard_core.agent.entries import CompactionInfo

LONG = " ".join(f"item {number} of many" for number in range(60))

POLICY = ShaperPolicy(
    budget_tokens=120, lod_headroom_tokens=-1, preserve_last_messages=1, preserve_last_tool_calls=2
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A store in a file."""
    with SqliteStore(tmp_path / "s.db") as kept:
        yield kept


async def test_a_fold_is_told_stored_and_watched(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result lists it, the callback hears of it, and the guard's watch is armed by it."""
    told: list[CompactionInfo] = []
    shaper = Shaper(store, summarizer=lambda _: "they spoke of the sea", policy=POLICY)
    some = session(
        LONG,
        "short",
        store=store,
        build=shaper.build,
        guard=LoopGuard(),
        on_compaction=told.append,
    )
    armed: list[bool] = []
    monkeypatch.setattr(some.guarded_run, "context_compacted", lambda: armed.append(True))
    await some.turn("first")
    assert armed == []
    result = await some.turn("second")
    assert armed == [True]
    assert list(result.compactions) == told
    assert [info.subsumed_count for info in told] == [2]
    assert ("compaction", "they spoke of the sea") in await stored(some)
    assert ("user", "first") not in await stored(some)
    assert (await store.history("s"))[0].content == "first"


async def test_a_fold_is_told_when_building_fails_afterwards(store: SqliteStore) -> None:
    """What was written is told, though the turn fails."""
    shaper = Shaper(store, summarizer=lambda _: "sum", policy=POLICY)

    async def build(session_id: str, system: str) -> Any:
        await shaper.build(session_id, system)
        raise ConnectionError("gone")

    await session(LONG, store=store).turn("hi")
    with pytest.raises(TurnError, match="build_context: gone") as caught:
        await session("never", store=store, build=build).turn("more")
    assert caught.value.result is not None
    assert len(caught.value.result.compactions) == 1


async def test_spans_of_a_session_in_opentelemetry(store: SqliteStore) -> None:
    """Chats and builds hang below their turn."""
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    exporter = memory.InMemorySpanExporter()
    provider = sdk.TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    tracer = OpenTelemetryTracer(provider.get_tracer("test"))
    shaper = Shaper(store, summarizer=lambda _: "sum", policy=POLICY, tracer=tracer)
    some = session(call("look"), "done", store=store, build=shaper.build, tracer=tracer)
    await some.turn("hi")
    *below, turn = exporter.get_finished_spans()
    assert turn.name == "agent.Turn"
    assert [span.name for span in below] == ["agent.Shaper.Build", "agent.streamChat"] * 2
    assert all(span.parent == turn.get_span_context() for span in below)
    assert below[1].attributes["n_tool_calls"] == 1

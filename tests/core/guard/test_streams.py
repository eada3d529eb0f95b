"""Any iterator of pieces through a watch: the same rules for `guard_stream` and its async twin."""

# ruff: noqa: D102, D105 - what an iterator has to have needs no words

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core import (
    Finding,
    GuardedReply,
    InvalidInputError,
    LoopGuard,
    Policy,
    guard_astream,
    guard_stream,
)
from tests.scenarios import LOOPING_TEXT, REFRAIN, SIMILAR_JSON, ZERO_MATRIX

if TYPE_CHECKING:
    from collections.abc import Iterable

HEALTHY = {
    "nothing": "",
    "one word": "Yes.",
    "refrain": REFRAIN,
    "similar objects": SIMILAR_JSON,
    "zero matrix": ZERO_MATRIX,
    "a list": "".join(f"{n}. Bring {n * 7} apples to house number {n}.\n" for n in range(80)),
}


class Source:
    """Gives pieces, sync or async, and takes note of being closed."""

    def __init__(self, pieces: Iterable[Any], error: Exception | None = None) -> None:
        self._pieces = iter(pieces)
        self._error = error
        self.given = 0
        self.closed = 0

    def _next(self, over: type[Exception]) -> Any:
        for piece in self._pieces:
            self.given += 1
            return piece
        raise self._error or over

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self._next(StopIteration)

    def close(self) -> None:
        self.closed += 1


class AwaitedCloseSource(Source):
    """An asynchronous one, whose `close` has to be awaited, as that of provider clients."""

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        await asyncio.sleep(0)
        return self._next(StopAsyncIteration)

    async def close(self) -> None:
        await asyncio.sleep(0)
        self.closed += 1


class AsyncSource(AwaitedCloseSource):
    """One that has an `aclose`, as asynchronous generators do."""

    async def aclose(self) -> None:
        await self.close()


Read: TypeAlias = Callable[..., list[Any]]


def _read(source: Source, watch: GuardedReply, stop: int = -1, **options: Any) -> list[Any]:
    read = []
    with closing(guard_stream(source, watch, **options)) as pieces:
        for piece in pieces:
            read.append(piece)
            if len(read) == stop:
                break
    return read


def _aread(
    source: AwaitedCloseSource, watch: GuardedReply, stop: int = -1, **options: Any
) -> list[Any]:
    async def read_all() -> list[Any]:
        read = []
        async with aclosing(guard_astream(source, watch, **options)) as pieces:
            async for piece in pieces:
                read.append(piece)
                if len(read) == stop:
                    break
        return read

    return asyncio.run(read_all())


@dataclass(frozen=True)
class Twin:
    """One of the twins: how a source for it is made, and how it is read."""

    source: Callable[..., Any]
    read: Read


TWINS = {
    "sync": Twin(Source, _read),
    "async": Twin(AsyncSource, _aread),
    "async, close is awaited": Twin(AwaitedCloseSource, _aread),
}
both = pytest.mark.parametrize("twin", TWINS.values(), ids=TWINS)


def new_watch(policy: Policy | None = None) -> GuardedReply:
    """Return the watch of a new reply."""
    return LoopGuard(policy=policy or Policy()).start_run().watch_reply()


def cut(text: str, size: int) -> list[str]:
    """Cut *text* in pieces of *size* characters."""
    return [text[start : start + size] for start in range(0, len(text), size)]


@both
@pytest.mark.parametrize("text", HEALTHY.values(), ids=HEALTHY)
def test_healthy_text_passes_unchanged(twin: Twin, text: str) -> None:
    """Every piece comes out as it is, and the source is closed at its end."""
    watch, source = new_watch(), twin.source(cut(text, 5))
    assert twin.read(source, watch) == cut(text, 5)
    assert watch.finding is None
    assert source.closed == 1


@both
def test_a_loop_ends_it_quietly(twin: Twin) -> None:
    """No error, no further piece is asked for, the source is closed, the watch says why."""
    watch, source = new_watch(), twin.source(cut(LOOPING_TEXT, 5))
    read = twin.read(source, watch)
    assert read == cut(LOOPING_TEXT, 5)[: len(read)]
    assert len(read) == source.given < len(LOOPING_TEXT) // 5
    assert watch.finding is not None
    assert watch.finding.detector == "reply.exact"
    assert source.closed == 1


@both
def test_the_piece_that_completes_the_loop_is_the_last(twin: Twin) -> None:
    """A reply that comes in one piece is not lost: what is worth keeping is in it."""
    watch = new_watch()
    assert twin.read(twin.source(["Well: " + LOOPING_TEXT, "more"]), watch) == [
        "Well: " + LOOPING_TEXT
    ]
    assert watch.keep_chars is not None
    assert ("Well: " + LOOPING_TEXT)[: watch.keep_chars].startswith("Well: I will check")


@both
def test_an_observing_policy_ends_nothing(twin: Twin) -> None:
    """All pieces pass, and the finding is there."""
    watch = new_watch(Policy.observe())
    assert "".join(twin.read(twin.source(cut(LOOPING_TEXT, 9)), watch)) == LOOPING_TEXT
    assert watch.finding is not None


@both
@pytest.mark.parametrize("channel", ["content", "reasoning", "tool:0"])
def test_text_reads_pieces_of_any_kind(twin: Twin, channel: str) -> None:
    """Pairs name the channel; pieces that say nothing pass, and pass unchanged."""
    pieces = [{channel: text} for text in cut(LOOPING_TEXT, 5)]
    pieces.insert(1, {"content": None, "reasoning": ""})
    watch = new_watch()
    read = twin.read(twin.source(pieces), watch, text=lambda piece: piece.items())
    assert all(got is given for got, given in zip(read, pieces, strict=False))
    assert len(read) < len(pieces)
    assert watch.finding is not None
    assert watch.finding.evidence[0] == channel


@both
def test_text_may_give_a_string_or_nothing(twin: Twin) -> None:
    """A string is content, None says nothing."""
    watch = new_watch()
    pieces = [("heartbeat", ""), *(("text", piece) for piece in cut(LOOPING_TEXT, 5))]
    read = twin.read(
        twin.source(pieces), watch, text=lambda piece: piece[1] if piece[0] == "text" else None
    )
    assert read[0] == ("heartbeat", "")
    assert watch.finding is not None


@both
def test_a_consumer_that_stops_early_closes_the_source(twin: Twin) -> None:
    """What is not read is not generated."""
    source = twin.source(cut("A healthy text of some words.", 3))
    assert len(twin.read(source, new_watch(), stop=2)) == 2
    assert (source.given, source.closed) == (2, 1)


@both
def test_an_error_of_the_source_passes_through(twin: Twin) -> None:
    """The consumer gets it after the pieces, and the source is closed."""
    source = twin.source(["one", "two"], error=ConnectionError("gone"))
    with pytest.raises(ConnectionError, match="gone"):
        twin.read(source, new_watch())
    assert source.closed == 1


@both
@pytest.mark.parametrize("piece", [1, b"bytes", None])
def test_a_piece_that_is_no_text_needs_a_reader(twin: Twin, piece: object) -> None:
    """Without `text` pieces are strings; the error names the piece, and the source is closed."""
    source = twin.source([piece])
    with pytest.raises(InvalidInputError, match=r"pieces: expected strings, .*`text`") as raised:
        twin.read(source, new_watch())
    assert repr(piece) in str(raised.value)
    assert source.closed == 1


def test_an_iterable_that_has_no_close_will_do() -> None:
    """A list is read to its end; so is a generator that an iterable makes, and it is closed."""
    assert list(guard_stream(["a", "b"], new_watch())) == ["a", "b"]
    closed = []

    class Lines:
        def __iter__(self) -> Iterator[str]:
            try:
                yield from cut(LOOPING_TEXT, 4)
            finally:
                closed.append(True)

    list(guard_stream(Lines(), new_watch()))
    assert closed == [True]


async def test_an_async_iterable_that_has_no_close_will_do() -> None:
    """What cannot be closed is left alone."""

    class Pieces:
        def __aiter__(self) -> Pieces:
            return self

        async def __anext__(self) -> str:
            return LOOPING_TEXT

    assert [piece async for piece in guard_astream(Pieces(), new_watch())] == [LOOPING_TEXT]


async def test_a_cancelled_reader_closes_the_source() -> None:
    """Cancellation while a piece is awaited passes through, and the source is closed."""

    class Stalled(AsyncSource):
        async def __anext__(self) -> str:
            await asyncio.sleep(60)
            return ""

    source = Stalled([])

    async def read() -> None:
        async for _ in guard_astream(source, new_watch()):
            pass

    task = asyncio.create_task(read())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert source.closed == 1


@settings(derandomize=True, max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 200), min_size=1, max_size=6), st.sampled_from(["", *HEALTHY]))
def test_where_pieces_end_does_not_matter(sizes: list[int], healthy: str) -> None:
    """Any way of cutting a text gives the same finding, in the piece with the same character."""
    text = HEALTHY.get(healthy, "") + LOOPING_TEXT
    exact, finding = _passed(text, [1])
    passed, same = _passed(text, sizes)
    assert same == finding is not None
    assert text.startswith(passed)
    assert len(exact) <= len(passed) < len(exact) + max(sizes)


def _passed(text: str, sizes: list[int]) -> tuple[str, Finding | None]:
    watch = new_watch()
    pieces, start = [], 0
    while start < len(text):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(text[start : start + size])
        start += size
    return "".join(guard_stream(pieces, watch)), watch.finding

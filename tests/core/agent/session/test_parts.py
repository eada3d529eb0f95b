"""Corners of a session's parts that no ordinary turn reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from loopguard_core.agent.dispatch import SessionClosed, session_closed
from loopguard_core.agent.runner import Chunk, TokenReport
from loopguard_core.agent.session.cut import GuardCut
from loopguard_core.agent.session.watching import Watch

from .driver import SpanLog
from .scripted import call, session

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


def test_a_chain_of_errors_without_an_end() -> None:
    """A signal is looked for along causes, and a circle of them is no trap."""
    signal, outer, one, other = SessionClosed("x"), ValueError(), ValueError(), ValueError()
    outer.__cause__ = signal
    one.__cause__, other.__cause__ = other, one
    assert session_closed(outer) is signal
    assert session_closed(one) is None
    assert session_closed(ValueError()) is None


def test_only_what_is_raised_from_a_signal_is_one() -> None:
    """An error that came up while a signal was handled is an error."""
    error = ValueError("mine")
    error.__context__ = SessionClosed("bye")
    assert session_closed(error) is None


async def test_a_runner_may_give_a_plain_iterator() -> None:
    """It need not be a generator, and is not closed then."""

    class Pieces:
        def __init__(self) -> None:
            self._left = [Chunk(content="a"), Chunk(done=True, usage=TokenReport())]

        def __aiter__(self) -> Self:
            return self

        async def __anext__(self) -> Chunk:
            if not self._left:
                raise StopAsyncIteration
            return self._left.pop(0)

    class Runner:
        def stream(self, *_: object) -> AsyncIterator[Chunk]:
            return Pieces()

    assert (await session(runner=Runner()).turn("hi")).reply == "a"


async def test_what_was_written_to_a_cache_is_traced() -> None:
    """Both counts of caches are attributes, where they are not zero."""
    log = SpanLog()
    report = Chunk(usage=TokenReport(prompt=9, completion=1, cache_read=2, cache_creation=3))
    await session(["a", report], tracer=log).turn("hi")
    assert "set agent.streamChat cache_read_input_tokens=2" in log
    assert "set agent.streamChat cache_creation_input_tokens=3" in log


def test_a_cut_without_a_finding() -> None:
    """It still says something, and keeps all."""
    cut = GuardCut(None, None)
    assert cut.repeated
    assert cut.keep("text") == "text"


async def test_without_a_guard_everything_is_allowed() -> None:
    """Nothing is read, nothing is told."""

    async def read() -> Any:
        raise AssertionError("nobody looks")

    watch = Watch(session("x"))
    watch.begin([])
    assert await watch.look(read) == ""
    watch.allow(call("a"))
    assert watch.watch_reply() is None

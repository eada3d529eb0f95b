"""`ShapedSession`: what is read, what is stored, and what is never lost."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import pytest
from agents import OpenAIConversationsSession, Runner, SessionSettings, SQLiteSession

from loopguard_core import InvalidInputError
from loopguard_openai_agents import ContextShaper, ShapedSession

from .driver import assert_valid
from .harness import agent_of, calling, saying, search_tool
from .test_shaping import IDLE, NOW, POLICY, SMALL, config, rounds

if TYPE_CHECKING:
    from collections.abc import Callable

SUMMARY = {"role": "user", "content": "[compacted]\nit was so"}


def never(prompt: str) -> str:
    """Fail if a summary is asked for."""
    raise AssertionError(prompt)


def asked_shaper(**options: Any) -> tuple[ContextShaper, list[str]]:
    """Return a shaper, and the list of what its summariser was asked."""
    asked: list[str] = []
    shaper = ContextShaper(
        policy=SMALL, summarizer=lambda p: asked.append(p) or "it was so", **options
    )
    return shaper, asked


class Hooked(SQLiteSession):
    """A session that does something first when it is cleared or written.

    Args:
        before: What to do, by the method's name.
    """

    def __init__(self, **before: Callable[[], Any]) -> None:
        super().__init__("s")
        self.before = before

    async def clear_session(self) -> None:
        """Clear it, after what is to be done first."""
        await self.before.get("clear", _nothing)()
        await super().clear_session()

    async def add_items(self, items: list[Any]) -> None:
        """Add *items*, after what is to be done first."""
        await self.before.get("add", _nothing)()
        await super().add_items(items)


async def _nothing() -> None:
    pass


async def stored_in(session: SQLiteSession, items: list[Any]) -> SQLiteSession:
    """Return *session* with *items* in it."""
    await SQLiteSession.add_items(session, items)
    return session


async def test_a_fold_is_stored() -> None:
    """The summary is stored, other readers get it, and nothing is summarised again."""
    shaper, asked = asked_shaper()
    stored = await stored_in(SQLiteSession("s"), rounds(5))
    session = ShapedSession(stored, shaper=shaper)
    first = await session.get_items()
    assert first[0] == SUMMARY
    assert await stored.get_items() == first
    assert [fold.summary for fold in session.folds] == ["it was so"]
    again = ShapedSession(stored, shaper=ContextShaper(policy=SMALL, summarizer=never))
    assert await again.get_items() == first
    assert len(asked) == 1


async def test_a_fold_of_a_run_is_stored_when_the_session_is_read_next() -> None:
    """Nobody is asked for a second summary, and the record is the session's as well."""
    shaper, asked = asked_shaper()
    stored = SQLiteSession("s")
    session = ShapedSession(stored, shaper=shaper)
    search, _ = search_tool()
    agent = agent_of([*calling(2, q="y" * 700), *saying("Done.")], search)
    await Runner.run(agent, "hi", session=session, run_config=config(shaper))
    assert (len(asked), session.folds) == (1, ())
    assert SUMMARY not in await stored.get_items()
    read = await session.get_items()
    assert await stored.get_items() == read
    assert SUMMARY in read
    assert_valid(read)
    assert (len(asked), len(session.folds)) == (1, 1)


async def test_stubs_and_cuts_are_not_stored() -> None:
    """They are sent, once where the shaper is the filter too; without a hint at old results."""
    shaper = ContextShaper(policy=POLICY, max_result_bytes=100, transclude=True)
    stored = await stored_in(SQLiteSession("s"), rounds(2, size=900))
    session = ShapedSession(stored, shaper=shaper)
    agent = agent_of(saying("Done."))
    await Runner.run(agent, "hi", session=session, run_config=config(shaper))
    results = [item["output"] for item in agent.model.calls[0].input if "output" in item]
    assert [result.count("…[truncated") for result in results] == [1, 1]
    assert not [result for result in results if "{OUTPUT}" in result]
    assert [item["output"] for item in await stored.get_items() if "output" in item] == [
        "r" * 900
    ] * 2


@pytest.mark.parametrize("settings", [None, SessionSettings(limit=20)])
async def test_what_is_read_in_part_is_not_rewritten(
    settings: SessionSettings | None, caplog: pytest.LogCaptureFixture
) -> None:
    """With a limit of the reading, or of the session, the rest would be lost."""
    shaper, _ = asked_shaper()
    stored = await stored_in(SQLiteSession("s", session_settings=settings), rounds(9))
    session = ShapedSession(stored, shaper=shaper)
    await session.get_items(limit=None if settings else 20)
    assert len(await stored.get_items(limit=99)) == 45
    assert session.folds == ()
    assert not caplog.records


async def test_what_openai_keeps_is_not_rewritten() -> None:
    """It is folded where it is read alone."""

    class Kept(OpenAIConversationsSession):
        def __init__(self) -> None:
            self.session_settings = None

        async def get_items(self, limit: int | None = None) -> list[Any]:
            return rounds(5)[-(limit or 0) :]

        async def clear_session(self) -> None:
            raise AssertionError

    shaper, asked = asked_shaper()
    session = ShapedSession(Kept(), shaper=shaper)
    assert (await session.get_items())[0] == (await session.get_items())[0] == SUMMARY
    assert len(asked) == 1


async def test_folds_that_free_nothing_rest() -> None:
    """Also where each of them was stored: the wrapper knows of the earlier ones."""
    asked: list[str] = []
    shaper = ContextShaper(policy=IDLE, summarizer=lambda p: asked.append(p) or "s" * 1_100)
    stored = await stored_in(SQLiteSession("s"), rounds(5))
    session = ShapedSession(stored, shaper=shaper)
    for number in range(8):
        await session.add_items([{"role": "assistant", "content": f"{number}"}])
        await session.get_items()
    assert 3 <= len(asked) < 8
    assert len(session.folds) == len(asked)


@pytest.mark.parametrize("broken", ["clear", "add"])
async def test_a_session_that_cannot_be_written_keeps_what_it_had(broken: str) -> None:
    """What was there is put back, and the error is the session's own."""
    failing = iter([True])

    async def fail() -> None:
        if next(failing, False):
            raise OSError("disk full")

    stored = await stored_in(Hooked(**{broken: fail}), rounds(5))
    session = ShapedSession(stored, shaper=asked_shaper()[0])
    with pytest.raises(OSError, match="disk full"):
        await session.get_items()
    assert await stored.get_items() == rounds(5)
    assert session.folds == ()


@pytest.mark.parametrize("at", ["clear", "add"])
async def test_a_run_that_is_cancelled_loses_nothing(at: str) -> None:
    """The history is written to its end, and then the run is cancelled."""
    reached = asyncio.Event()

    async def wait() -> None:
        reached.set()
        await asyncio.sleep(0.01)

    stored = await stored_in(Hooked(**{at: wait}), rounds(5))
    reading = asyncio.create_task(ShapedSession(stored, shaper=asked_shaper()[0]).get_items())
    await reached.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert (await stored.get_items())[0] == SUMMARY


async def test_what_is_added_while_a_summary_is_written_stays() -> None:
    """A summary takes seconds, and another run may end in them."""
    stored = await stored_in(SQLiteSession("s"), rounds(5))

    async def summarise(_: str) -> str:
        await stored.add_items([NOW])
        return "it was so"

    session = ShapedSession(stored, shaper=ContextShaper(policy=SMALL, summarizer=summarise))
    await session.get_items()
    items = await stored.get_items()
    assert (items[0], items[-1]) == (SUMMARY, NOW)


async def test_a_session_that_was_rewritten_meanwhile_stays(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The fold is sent, and not stored over what is new."""
    stored = await stored_in(SQLiteSession("s"), rounds(5))

    async def summarise(_: str) -> str:
        await stored.clear_session()
        await stored.add_items([NOW])
        return "it was so"

    session = ShapedSession(stored, shaper=ContextShaper(policy=SMALL, summarizer=summarise))
    with caplog.at_level(logging.WARNING, "loopguard"):
        assert (await session.get_items())[0] == SUMMARY
    assert await stored.get_items() == [NOW]
    assert "rewritten meanwhile" in caplog.text
    assert session.folds == ()


def test_a_wrong_shaper_is_named() -> None:
    """The error names the argument."""
    with pytest.raises(InvalidInputError, match="shaper"):
        ShapedSession(SQLiteSession("s"), shaper=POLICY)  # type: ignore[arg-type]

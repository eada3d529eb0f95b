"""What goes wrong around a turn: threads, loops that are gone, encoders, errors without a text."""

from __future__ import annotations

import asyncio
import gc
import threading
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from loopguard_core.agent.chat import ToolDefinition
from loopguard_core.agent.errors import SessionBusyError, TurnError

from .scripted import call, session, stored

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from loopguard_core.agent.runner import Chunk


class _Waiting:
    """A model that answers when it is told to."""

    def __init__(self) -> None:
        self.asked, self.may_answer = threading.Event(), threading.Event()

    async def stream(self, *_: Any) -> AsyncIterator[Chunk]:
        """Wait, and say nothing."""
        self.asked.set()
        await asyncio.to_thread(self.may_answer.wait, 10)
        for chunk in ():
            yield chunk


@pytest.mark.parametrize("second", ["turn_sync", "turn"])
def test_a_turn_in_another_thread_is_refused(second: str) -> None:
    """While one runs the other is told so, and the first ends well."""
    model = _Waiting()
    some = session("unused", runner=model)
    results: list[Any] = []
    first = threading.Thread(target=lambda: results.append(some.turn_sync("one")))
    first.start()
    assert model.asked.wait(10)
    again = some.turn_sync if second == "turn_sync" else lambda said: asyncio.run(some.turn(said))
    with pytest.raises(SessionBusyError):
        again("two")
    model.may_answer.set()
    first.join(10)
    assert [result.reply for result in results] == [""]
    assert some.turn_sync("three").reply == ""


def test_a_session_may_be_collected_while_another_loop_runs() -> None:
    """Its loop is closed all the same, and nothing is said of it."""
    some = session("hello")
    some.turn_sync("hi")
    loop = some._loop._runner.get_loop()
    kept = [some]
    del some

    async def collect() -> None:
        kept.clear()
        gc.collect()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(collect())
    assert loop.is_closed()


async def test_a_failing_encoder_loses_no_result(caplog: pytest.LogCaptureFixture) -> None:
    """The tool has run: its result is stored as it came, and the log says so."""

    def broken(result: str) -> str:
        raise ValueError(result)

    some = session(call("look"), "done", encode_tool_result=broken, dispatch=lambda _: "found")
    assert (await some.turn("go")).reply == "done"
    assert ("tool_result", "found") in await stored(some)
    assert "encoder failed" in caplog.text


async def test_an_error_without_a_text_is_an_answer() -> None:
    """Where an exception cannot be written, its type is what the model reads."""

    class SilentError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def dispatch(_: Any) -> str:
        raise SilentError

    some = session(call("look"), "done", dispatch=dispatch)
    assert (await some.turn("go")).reply == "done"
    assert ("tool_result", "ERROR: SilentError") in await stored(some)


async def test_a_turn_that_failed_can_be_tried_again() -> None:
    """Without the message, which is kept."""
    some = session(OSError("down"), "here I am")
    with pytest.raises(TurnError):
        await some.turn("hello?")
    assert (await some.turn()).reply == "here I am"
    assert [kind for kind, _ in await stored(some)] == ["user", "assistant"]


@pytest.mark.parametrize("name", ["", "delete_everything", "Look", "x" * 999])
def test_a_tool_that_was_not_offered_reaches_no_dispatcher(name: str) -> None:
    """It may do the same for whatever name it is given; the model reads what there is."""
    ran: list[str] = []
    tool = ToolDefinition(name="look")
    replies = [[call(name), call("look")], "done"]
    some = session(*replies, tools=[tool], dispatch=lambda made: ran.append(made.name) or "ok")
    assert some.turn_sync("go").reply == "done"
    assert ran == ["look"]
    results = [text for kind, text in asyncio.run(stored(some)) if kind == "tool_result"]
    assert "there is no tool" in results[0]
    assert results[0].endswith("The tools are: look.")
    assert results[1] == "ok"


def test_without_a_list_of_tools_every_call_is_dispatched() -> None:
    """As where a host's endpoint adds tools of its own."""
    some = session([call("anything")], "done")
    assert some.turn_sync("go").reply == "done"
    assert ("tool_result", "ok") in asyncio.run(stored(some))

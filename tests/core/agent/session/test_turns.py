"""Turns, beyond what the conformance cases say."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from loopguard_core import InvalidInputError, LoopguardError
from loopguard_core.agent import heredoc_grammar
from loopguard_core.agent.chat import ToolCall, ToolDefinition
from loopguard_core.agent.dispatch import AbortTurn, SessionClosed
from loopguard_core.agent.entries import Entry, in_order
from loopguard_core.agent.errors import (
    MalformedCallsError,
    MaxTurnsError,
    RunningLoopError,
    SessionBusyError,
    ToolCallLoopError,
    TurnError,
)
from loopguard_core.agent.runner import ChatOptions, Chunk, TokenReport
from loopguard_core.agent.store import MemoryStore, SqliteStore

from .scripted import Scripted, call, session, stored

if TYPE_CHECKING:
    from pathlib import Path

LOOK = call("look", "{}", "c1")
TOOLS = [ToolDefinition(name="look", description="Look.")]


async def test_a_message_is_answered() -> None:
    """The message of a person is in the context, then the reply."""
    some = session("hello")
    assert (await some.turn("hi")).reply == "hello"
    assert await stored(some) == [("user", "hi"), ("assistant", "hello")]


async def test_an_entry_may_be_the_message() -> None:
    """So a host sends images, notices, or its own marks."""
    some = session("hello")
    await some.turn(Entry(kind="notification", tag="build", content="red"))
    assert some.runner.last() == "[build] red"  # type: ignore[attr-defined]
    with pytest.raises(InvalidInputError, match="message"):
        await some.turn(5)  # type: ignore[arg-type] - on purpose


async def test_what_arrives_while_the_model_speaks_comes_after_its_answer() -> None:
    """The next request ends with the person's message (Q13)."""

    async def arrive(_: str) -> None:
        if len(runner.sent) == 1:
            await some.enqueue("and this")

    runner = Scripted("first", "second")
    some = session(runner=runner, on_assistant_token=arrive)
    assert (await some.turn("hi")).reply == "second"
    assert [message.content for message in runner.sent[1]] == ["hi", "first", "and this"]


async def test_a_store_without_a_queue() -> None:
    """A host's own store with the four methods is enough."""

    class Plain:
        def __init__(self) -> None:
            self.kept = MemoryStore()
            self.claim_pending, self.context = self.kept.claim_pending, self.kept.context
            self.append, self.compact = self.kept.append, self.kept.compact

    some = session("hello", store=Plain())
    await some.turn("hi")
    assert await stored(some) == [("user", "hi"), ("assistant", "hello")]


async def test_one_turn_at_a_time() -> None:
    """The second is refused and told what to do; afterwards the session works on."""
    go_on = asyncio.Event()
    some = session("hello", "again", preparer=lambda _: go_on.wait())
    first = asyncio.create_task(some.turn("hi"))
    await asyncio.sleep(0)
    with pytest.raises(SessionBusyError, match="enqueue"):
        await some.turn("and?")
    go_on.set()
    assert (await first).reply == "hello"
    assert (await some.turn("and?")).reply == "again"


async def test_a_cancelled_turn_leaves_the_session_usable() -> None:
    """Cancelling is no error of the turn; calls without results are repaired when shown."""
    called, never = asyncio.Event(), asyncio.Event()

    async def wait(_: ToolCall) -> str:
        called.set()
        await never.wait()
        return ""

    some = session(LOOK, "back", dispatch=wait)
    task = asyncio.create_task(some.turn("hi"))
    await called.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await some.turn("still there?")).reply == "back"
    roles = [message.role for message in some.runner.sent[-1]]  # type: ignore[attr-defined]
    assert roles == ["user", "assistant", "tool", "user"]


class Tools:
    """A dispatcher that raises what it is told to."""

    def __init__(self, *answers: str | Exception) -> None:
        self._answers = iter(answers)

    async def __call__(self, _: ToolCall) -> str:
        """Give the next answer."""
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_a_tool_that_fails_is_an_answer() -> None:
    """The model reads the error, and the turn goes on (Q14)."""
    some = session(LOOK, "sorry", dispatch=Tools(ValueError("no such file")))
    assert (await some.turn("hi")).reply == "sorry"
    assert ("tool_result", "ERROR: no such file") in await stored(some)


async def test_a_tool_may_abort_the_turn() -> None:
    """Every call is answered all the same, and the error has what the turn had come to (Q14)."""
    batch = [call("a"), call("b"), call("c")]
    some = session(["working", *batch], dispatch=Tools("ok", AbortTurn("disk full")))
    with pytest.raises(TurnError, match="dispatch: disk full") as caught:
        await some.turn("hi")
    assert caught.value.stage == "dispatch"
    assert isinstance(caught.value.cause, AbortTurn)
    assert caught.value.result is not None
    assert caught.value.result.reply == "working"
    results = [content for kind, content in await stored(some) if kind == "tool_result"]
    assert results[:2] == ["ok", "ERROR: disk full"]
    assert "NOT executed" in results[2]


async def test_a_tool_may_close_the_session() -> None:
    """The rest of the batch runs, the model is not asked again, and the result says so."""
    some = session([call("a"), call("b")], dispatch=Tools(SessionClosed("bye"), "ok"))
    result = await some.turn("hi")
    assert result.closed
    assert len(some.runner.sent) == 1  # type: ignore[attr-defined]
    assert [text for kind, text in await stored(some) if kind == "tool_result"] == ["bye", "ok"]


async def test_a_tool_may_be_a_plain_function_with_any_result() -> None:
    """What is no text becomes JSON."""
    some = session(LOOK, "{OUTPUT}", dispatch=lambda one: {"tool": one.name, "é": [1]})
    assert (await some.turn("hi")).reply == '{"tool": "look", "é": [1]}'


async def test_a_call_without_any_dispatcher_is_answered() -> None:
    """A model that calls tools that nobody gave it does not crash the turn (Q23)."""
    some = session(LOOK, "sorry", dispatch=None)
    assert (await some.turn("hi")).reply == "sorry"
    assert "no tools" in (await stored(some))[2][1]


async def test_calls_without_an_id_get_one() -> None:
    """Those of the model and those of the hook; a result is found by it (Q05)."""
    some = session(
        call("a"), "done", on_tool_calls=lambda calls: [*calls, call("b")] if calls else calls
    )
    await some.turn("hi")
    entries = await some.store.context("s")
    ids = {
        kind: [e.tool_call_id for e in entries if e.kind == kind]
        for kind in ("tool_call", "tool_result")
    }
    assert ids["tool_call"] == ids["tool_result"]
    assert len(set(ids["tool_call"])) == 2
    assert "" not in ids["tool_call"]


async def test_callbacks_may_be_coroutines() -> None:
    """Each of them is awaited."""
    heard: list[str] = []

    async def hear(value: object) -> None:
        heard.append(type(value).__name__)

    async def calls(some_calls: Any) -> Any:
        return some_calls

    some = session(
        "hello",
        on_assistant_token=hear,
        on_usage=hear,
        on_tool_calls=calls,
        preparer=hear,
    )
    await some.turn("hi")
    assert heard == ["str", "str", "TokenUsage"]


async def test_a_callback_that_fails_is_the_hosts_own_error() -> None:
    """It is not dressed up as an error of the turn."""

    def broken(_: str) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await session("hello", on_assistant_token=broken).turn("hi")


async def test_the_clock_is_later_than_what_is_there() -> None:
    """An answer never sorts before its question, whatever the host's clock says (Q19)."""
    store = MemoryStore()
    await store.append("s", Entry(kind="user", content="from the future", created_at=2**61))
    some = session("hello", "and", store=store, now=lambda: 5)
    await some.turn()
    await some.turn("more")
    entries = in_order(await store.context("s"))
    assert [e.content for e in entries] == ["from the future", "hello", "more", "and"]
    assert len({e.created_at for e in entries}) == 4


async def test_malformed_heredoc_calls_are_bounded() -> None:
    """The model is told what is wrong; after too many in a row the turn fails (Q04)."""
    some = session(
        "Let me see.\n@@call look\n{path: ",
        dispatch=lambda _: "ok",
        tools=TOOLS,
        tool_format="heredoc",
    )
    with pytest.raises(MalformedCallsError, match="look") as caught:
        await some.turn("hi")
    assert caught.value.times == 3
    assert caught.value.fault.cut_off
    assert caught.value.result is not None
    assert caught.value.result.reply == "Let me see."
    notices = [text for kind, text in await stored(some) if kind == "notification"]
    assert len(notices) == 3
    assert "smaller" in notices[0]


async def test_a_malformed_call_may_be_mended() -> None:
    """A good reply ends the row."""
    bad, good = "@@call look\n[1]", "@@call look\n{}\n@@end"
    some = session(bad, bad, good, bad, bad, "done", tools=TOOLS, tool_format="heredoc")
    assert (await some.turn("hi")).reply == "done"


async def test_heredoc_replaces_what_the_options_say() -> None:
    """No tools, no tool choice and no stop text beside a grammar; the host's fields stay."""
    options = ChatOptions(tool_choice="required", stop=("x",), extra={"temperature": 0})
    some = session("hello", tools=TOOLS, tool_format="heredoc", chat_opts=options, thread_id="t")
    await some.turn("hi")
    sent = some.runner.options[0]  # type: ignore[attr-defined]
    assert (sent.tool_choice, sent.stop, sent.extra, sent.trace_id) == (
        None,
        (),
        {"temperature": 0},
        "t",
    )
    assert sent.grammar


@pytest.mark.parametrize(("forced", "prose"), [("", True), ("look", False)])
async def test_a_forced_tool_leaves_no_room_for_prose(forced: str, *, prose: bool) -> None:
    """The grammar offers calls alone where one has to be made (Q06)."""
    some = session(
        "hello", tools=TOOLS, tool_format="heredoc", forced_terminal_tool=forced, max_turns=1
    )
    await some.turn("hi")
    sent = some.runner.options[0]  # type: ignore[attr-defined]
    assert sent.grammar == heredoc_grammar(TOOLS, allow_prose=prose)


async def test_the_hint_stands_in_the_newest_result_alone() -> None:
    """`{OUTPUT}` stands for that one; in older results the hint would be wrong (Q31)."""
    answers = iter("ab")
    some = session(
        call("look", "{}", "one"),
        call("look", "{}", "two"),
        "done",
        "again",
        max_tool_result_chars=30,
        dispatch=lambda _: next(answers) * 200,
    )
    await some.turn("hi")
    await some.turn("more")

    def hinted(sent: int) -> list[bool]:
        messages = some.runner.sent[sent]  # type: ignore[attr-defined]
        return ["{OUTPUT}" in message.content for message in messages if message.role == "tool"]

    assert [hinted(sent) for sent in range(4)] == [[], [True], [False, True], [False, False]]


async def test_the_hint_without_ids() -> None:
    """A heredoc result is known by its place."""
    block = "@@call look\n{}\n@@end\n"
    some = session(
        block * 2,
        "done",
        max_tool_result_chars=30,
        dispatch=lambda _: "x" * 200,
        tools=TOOLS,
        tool_format="heredoc",
    )
    await some.turn("hi")
    results = [m.content for m in some.runner.sent[-1] if m.role == "tool"]  # type: ignore[attr-defined]
    assert ["{OUTPUT}" in content for content in results] == [False, True]


async def test_a_report_may_come_last() -> None:
    """Text behind the end counts where no report came before, and so does the report."""
    report = Chunk(usage=TokenReport(prompt=3, completion=1))
    result = await session(["a", Chunk(done=True), "b", report, "never"]).turn("hi")
    assert result.reply == "ab"
    assert result.usage.total == 4


async def test_what_has_come_of_a_lifted_call_is_news() -> None:
    """The next turn shows one result for the call, and what has come of it in its turn (Q15)."""
    some = session(LOOK, "waiting", "it has 1240 rows", dispatch=lambda _: "PENDING")
    await some.turn("go")
    await some.inject(
        Entry(kind="tool_result", content="1240 rows", tool_call_id="c1", tool_name="look")
    )
    await some.turn("and now?")
    sent = some.runner.sent[-1]  # type: ignore[attr-defined]
    assert [message.content for message in sent if message.role == "tool"] == ["PENDING"]
    assert [message.content for message in sent[-2:]] == ["[tool_result c1] 1240 rows", "and now?"]


async def test_usage_is_of_the_object_and_latency_of_the_entry() -> None:
    """Totals add up over turns; what an entry cost is kept with it."""
    report = Chunk(usage=TokenReport(prompt=10, completion=2, cached=4))
    some = session(["hello", report])
    await some.turn("hi")
    result = await some.turn("hi")
    assert result.usage == some.usage
    assert (some.usage.total, some.usage.cached, some.usage.turns) == (24, 8, 2)
    assert some.usage.active > 0
    entry = (await some.store.context("s"))[1]
    assert entry.usage is not None
    assert (entry.usage.processed, entry.usage.cached) == (6, 4)


async def test_errors_say_what_happened() -> None:
    """All of them are TurnErrors, and LoopguardErrors."""
    with pytest.raises(ToolCallLoopError, match="tool-call loop: look"):
        await session(LOOK).turn("hi")
    with pytest.raises(MaxTurnsError, match=r"max turns \(3\)") as caught:
        await session(LOOK, max_turns=3).turn("hi")
    assert isinstance(caught.value, TurnError)
    assert isinstance(caught.value, LoopguardError)
    failing = session(ConnectionError("refused"))
    with pytest.raises(TurnError, match="chat: refused") as failed:
        await failing.turn("hi")
    assert failed.value.stage == "chat"
    assert failed.value.__cause__ is failed.value.cause
    assert await stored(failing) == [("user", "hi")]


async def test_a_turn_that_failed_goes_on() -> None:
    """The message is in the context; the next turn answers it."""
    some = session(ConnectionError("refused"), "hello")
    with pytest.raises(TurnError):
        await some.turn("hi")
    assert (await some.turn()).reply == "hello"


async def test_a_lone_surrogate_goes_through() -> None:
    """A model can write one, and a tool return one."""
    some = session(
        ["\ud800", LOOK], "{OUTPUT}", dispatch=lambda _: "\udfff", max_tool_result_chars=2
    )
    assert (await some.turn("\ud801")).reply == "\udfff"


def test_a_program_without_a_loop(tmp_path: Path) -> None:
    """Turns run one after the other on one loop, here over a store in a file."""
    loops: list[object] = []

    async def where(_: str) -> None:
        loops.append(asyncio.get_running_loop())

    with SqliteStore(tmp_path / "s.db") as store:
        some = session("hello", "again", store=store, preparer=where)
        assert some.turn_sync("hi").reply == "hello"
        assert some.turn_sync("more").reply == "again"
    assert loops[0] is loops[1]


async def test_a_blocking_call_in_a_running_loop_says_so() -> None:
    """The error names what works there."""
    with pytest.raises(RunningLoopError, match=r"await session\.turn"):
        session("hello").turn_sync("hi")


async def test_a_store_that_fails_is_named_by_its_stage(tmp_path: Path) -> None:
    """The database's own error is the cause."""
    store = SqliteStore(tmp_path / "s.db")
    some = session(LOOK, store=store, dispatch=lambda _: store.close() or "ok")
    with pytest.raises(TurnError, match="persist_tool_result") as caught:
        await some.turn("hi")
    assert isinstance(caught.value.cause, sqlite3.ProgrammingError)


async def test_a_session_is_opened_again(tmp_path: Path) -> None:
    """Another process goes on with the history, and its entries come later."""
    path = tmp_path / "s.db"
    for number in range(3):
        with SqliteStore(path) as store:
            some = session(f"answer {number}", store=store)
            await some.turn(f"question {number}")
    with SqliteStore(path) as store:
        contents = [entry.content for entry in in_order(await store.context("s"))]
    assert contents == [f"{word} {n}" for n in range(3) for word in ("question", "answer")]


async def test_closing_the_stream_reaches_the_runner() -> None:
    """A reply that is over is not read on: the connection is closed."""
    closed: list[bool] = []

    class Endless:
        async def stream(self, *_: object) -> Any:
            try:
                while True:
                    yield Chunk(content="x", done=True, usage=TokenReport())
            finally:
                closed.append(True)

    assert (await session(runner=Endless()).turn("hi")).reply == "x"
    assert closed == [True]

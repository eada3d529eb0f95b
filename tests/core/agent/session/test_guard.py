"""A session that carries a guard."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from loopguard_core import Action, LoopDetected, LoopGuard, Policy, Verdict, VerdictEvent
from loopguard_core.agent.entries import Compaction, Entry, in_order
from loopguard_core.agent.errors import TurnStoppedError
from loopguard_core.agent.store import MemoryStore
from loopguard_core.guard.guidance import without_guidance
from loopguard_core.guard.policy import BLIND_TO_RESULTS, DETECTORS
from tests.scenarios import LOOPING_TEXT

from .scripted import Scripted, call, session, stored

if TYPE_CHECKING:
    from loopguard_core.agent.session import Session

QUERY = call("query", '{"q": 1}')


_THREAD = frozenset(name for name in DETECTORS if name.startswith("thread."))
CALLS_ALONE = BLIND_TO_RESULTS | _THREAD
"""Leaves the detectors that look at calls; those that look at the thread would be first."""


def guarded(*replies: Any, policy: dict[str, Any] | None = None, **options: Any) -> Session:
    """Return a session with a guard, without the session's own look at repeats."""
    guard = LoopGuard(policy=Policy(**policy or {}))
    return session(*replies, **{"guard": guard, "max_repeated_exchanges": -1} | options)


async def kinds(some: Session) -> list[str]:
    """Return the kinds of what is in the context."""
    return [kind for kind, _ in await stored(some)]


async def test_healthy_work_is_left_alone() -> None:
    """Calls that bring something new are no loop."""
    answers = iter(range(100))
    polls = [QUERY] * 15
    some = guarded(*polls, "done", dispatch=lambda _: str(next(answers)))
    result = await some.turn("go")
    assert result.reply == "done"
    assert result.stopped_by is None
    assert all("loopguard" not in content for _, content in await stored(some))


async def test_the_same_call_is_blocked_and_then_the_turn_is_ended() -> None:
    """A blocked call is not run, its answer is guidance; the end is said, every call answered."""
    runs: list[object] = []

    def dispatch(one: object) -> str:
        runs.append(one)
        return "same"

    some = guarded(QUERY, policy={"disabled_detectors": CALLS_ALONE}, dispatch=dispatch)
    result = await some.turn("go")
    assert result.stopped_by is not None
    assert result.stopped_by.reason.startswith("tool_loop.")
    assert "I stopped here" in result.reply
    entries = in_order(await some.store.context("s"))
    calls = [entry.tool_call_id for entry in entries if entry.kind == "tool_call"]
    results = [entry.tool_call_id for entry in entries if entry.kind == "tool_result"]
    assert calls == results
    assert len(runs) < len(calls)
    assert entries[-1].content == result.reply


async def test_a_blocked_call_leaves_its_siblings_alone() -> None:
    """All of a batch are checked before any runs; the fourth equal one is refused."""
    runs: list[str] = []

    def dispatch(one: Any) -> str:
        runs.append(one.name)
        return "ok"

    some = guarded(
        [QUERY, QUERY, call("other"), QUERY, QUERY, call("last")], "done", dispatch=dispatch
    )
    result = await some.turn("go")
    assert result.reply == "done"
    assert runs == ["query", "query", "other", "query", "last"]
    results = [content for kind, content in await stored(some) if kind == "tool_result"]
    assert [without_guidance(content) for content in results] == ["ok"] * 4 + ["", "ok"]
    assert "was not executed" in results[4]


async def test_a_nudge_before_a_model_call_is_sent_and_not_stored() -> None:
    """It stands behind the newest results, in a message of its own."""
    some = guarded(*[QUERY] * 4, "done", dispatch=lambda _: "same")
    await some.turn("go")
    runner = some.runner
    assert isinstance(runner, Scripted)
    told = [sent[-1] for sent in runner.sent if "[loopguard]" in sent[-1].content]
    assert [message.role for message in told] == ["user"]
    assert "[loopguard]" not in str(await stored(some))


async def test_a_nudge_goes_behind_the_result_and_is_stored() -> None:
    """The tool's own text comes first, and what a person reads in its place has no note."""
    policy = {"disabled_detectors": CALLS_ALONE}
    calls = [[call(name)] for _ in range(8) for name in ("read", "list")]
    some = guarded(*calls[:7], "see {OUTPUT}", policy=policy, dispatch=lambda _: "same")
    result = await some.turn("go")
    contents = [content for kind, content in await stored(some) if kind == "tool_result"]
    noted = [content for content in contents if content.startswith("same\n\n[loopguard]")]
    assert noted
    assert result.reply.startswith("see same")
    assert "loopguard" not in result.reply


async def test_a_person_begins_a_turn() -> None:
    """What was called for one question is no evidence against another."""
    replies: list[Any] = []
    for _ in range(6):
        replies += [QUERY, QUERY, "done"]
    some = guarded(*replies, dispatch=lambda _: "same")
    for number in range(6):
        result = await some.turn(f"question {number}")
        assert result.reply == "done"
        assert result.stopped_by is None
    assert "loopguard" not in str(await stored(some))


async def test_without_a_person_a_turn_goes_on_with_the_evidence() -> None:
    """A turn that nobody asked anything for is no new one."""
    some = guarded(*[QUERY, QUERY, "done"] * 6, dispatch=lambda _: "same")
    await some.turn("question")
    for _ in range(5):
        await some.turn()
    assert "[loopguard]" in str(await stored(some))


async def test_history_is_no_evidence_for_a_new_object() -> None:
    """A session that is opened again begins with the person's newest message."""
    store = MemoryStore()
    await store.append("s", Entry(kind="user", content="again", created_at=50))
    for at in range(1, 20, 2):
        await store.append("s", Entry(kind="user", content="again", created_at=at))
        await store.append("s", Entry(kind="assistant", content="the same", created_at=at + 1))
    some = guarded("hello", store=store)
    await some.turn()
    runner = some.runner
    assert isinstance(runner, Scripted)
    assert "loopguard" not in str(runner.sent)


async def test_a_snapshot_goes_on_with_the_evidence() -> None:
    """What a process knew goes through JSON into the next."""
    store = MemoryStore()
    first = guarded(*[QUERY] * 3, "pause", store=store, dispatch=lambda _: "same")
    await first.turn("go")
    run = first.guarded_run
    assert run is not None
    saved = json.loads(json.dumps(run.snapshot()))
    following = guarded(*[QUERY] * 9, store=store, dispatch=lambda _: "same", guard_snapshot=saved)
    result = await following.turn()
    assert result.stopped_by is not None
    fresh = guarded(*[QUERY] * 9, dispatch=lambda _: "same")
    assert (await fresh.turn()).stopped_by is not None
    made = [len(some.runner.sent) for some in (following, fresh)]  # type: ignore[attr-defined]
    assert made[0] < made[1]


async def test_the_end_may_be_an_answer() -> None:
    """The model is asked once more, without tools, and what it says is the reply."""

    class Answering(Scripted):
        async def stream(self, messages: Any, tools: Any = (), options: Any = None) -> Any:
            told = messages[-1].content
            script = ["what I know"] if "No further tool calls" in told else [QUERY]
            self._replies = (script,)
            async for chunk in super().stream(messages, tools, options):
                yield chunk

    runner = Answering("")
    some = guarded(runner=runner, policy={"on_halt": "answer"}, dispatch=lambda _: "same", tools=[])
    result = await some.turn("go")
    assert result.reply == "what I know"
    assert result.stopped_by is not None
    assert runner.tools[-1] == ()
    assert (await stored(some))[-1] == ("assistant", "what I know")


async def test_an_answer_that_says_nothing_is_replaced() -> None:
    """A person is not left without a word."""
    some = guarded(QUERY, policy={"on_halt": "answer"}, dispatch=lambda _: "same")
    assert "I stopped here" in (await some.turn("go")).reply


async def test_the_end_may_be_an_exception() -> None:
    """It is a LoopDetected and a TurnError, with what the turn had come to."""
    some = guarded(["looking", QUERY], policy={"on_halt": "raise"}, dispatch=lambda _: "same")
    with pytest.raises(TurnStoppedError) as caught:
        await some.turn("go")
    assert isinstance(caught.value, LoopDetected)
    assert caught.value.stage == "guard"
    assert caught.value.result is not None
    assert caught.value.result.reply == "looking"
    assert caught.value.result.stopped_by == caught.value.verdict
    assert await kinds(some) != []


async def test_a_looping_reply_is_cut_and_tried_again() -> None:
    """The end of the text is dropped, the model is told, and the next reply is whole."""
    pieces = [LOOPING_TEXT[at : at + 40] for at in range(0, len(LOOPING_TEXT), 40)]
    said: list[str] = []
    some = guarded([*pieces, "never"], "better", on_assistant_token=said.append)
    result = await some.turn("go")
    assert result.reply == "better"
    assert len("".join(said)) < len(LOOPING_TEXT)
    entries = await stored(some)
    assert [kind for kind, _ in entries] == ["user", "assistant", "notification", "assistant"]
    assert LOOPING_TEXT.startswith(entries[1][1])
    assert len(entries[1][1]) < len("".join(said[:-1]))  # the last piece is the second reply
    assert "cut" in entries[2][1]


async def test_replies_that_are_cut_again_and_again_end_the_turn() -> None:
    """The guard's own end comes before the error for too many retries."""
    some = guarded(LOOPING_TEXT)
    result = await some.turn("go")
    assert result.stopped_by is not None
    assert result.stopped_by.reason.startswith("reply.")


async def test_a_policy_that_only_looks_changes_nothing() -> None:
    """Listeners hear of what is seen; the turn is as without a guard."""
    heard: list[VerdictEvent] = []
    guard = LoopGuard(policy=Policy.observe(), listeners=(heard.append,))
    some = session(
        *[QUERY] * 12, "done", guard=guard, max_repeated_exchanges=-1, dispatch=lambda _: "same"
    )
    result = await some.turn("go")
    assert result.reply == "done"
    assert result.stopped_by is None
    assert heard
    assert "loopguard" not in str(await stored(some))


async def test_a_person_may_allow_a_blocked_call() -> None:
    """Whom `on_block="ask"` asks decides; a call that is allowed runs."""
    asked: list[str] = []
    runs: list[object] = []

    def dispatch(one: object) -> str:
        runs.append(one)
        return "same"

    async def allow(one: Any, verdict: Any) -> bool:
        asked.append(verdict.reason)
        return one.name == "query"

    some = session(
        [QUERY] * 4,
        "done",
        guard=LoopGuard(policy=Policy(on_block="ask")),
        on_blocked_call=allow,
        dispatch=dispatch,
    )
    result = await some.turn("go")
    assert result.reply == "done"
    assert len(runs) == 4
    assert asked == ["tool_loop.unanswered"]


async def test_a_person_may_refuse_a_blocked_call() -> None:
    """Then it is answered as if nobody had been asked."""
    some = session(
        [QUERY] * 4,
        "done",
        guard=LoopGuard(policy=Policy(on_block="ask")),
        on_blocked_call=lambda *_: False,
    )
    assert (await some.turn("go")).reply == "done"
    assert [content for _, content in await stored(some)].count("ok") == 3


async def test_a_fold_arms_the_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that starts over what it did before its history was folded is found sooner."""
    store = MemoryStore()
    some = guarded("first", "second", "third", store=store)
    run = some.guarded_run
    assert run is not None
    armed: list[int] = []
    monkeypatch.setattr(run, "context_compacted", lambda: armed.append(1))
    await some.turn("one")
    assert armed == []
    older = await store.context("s")
    marker = Entry(id="m", kind="compaction", content="what was", created_at=older[-1].created_at)
    await store.compact("s", Compaction(marker=marker, subsumed=tuple(older)))
    await some.turn("two")
    assert armed == [1]
    await some.turn("three")
    assert armed == [1]


async def test_a_call_that_was_refused_is_judged_too() -> None:
    """A model that sends the same broken arguments for ever is stopped."""
    some = guarded(call("query", "[1]"))
    result = await some.turn("go")
    assert result.stopped_by is not None


async def test_a_whole_reply_ends_the_row_of_cuts() -> None:
    """Cuts that are not in a row end nothing."""
    answers = iter(range(9))
    some = guarded(*[LOOPING_TEXT, call("look")] * 5, "done", dispatch=lambda _: str(next(answers)))
    assert (await some.turn("go")).reply == "done"


async def test_a_halt_in_the_middle_of_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """What did not run is answered too."""
    some = guarded([call("a"), call("b"), call("c")])
    run = some.guarded_run
    assert run is not None
    halt = Verdict(Action.HALT, (), "enough")
    monkeypatch.setattr(
        run, "observe_result", lambda name, *_, **__: halt if name == "b" else Verdict()
    )
    result = await some.turn("go")
    assert result.stopped_by == halt
    results = [content for kind, content in await stored(some) if kind == "tool_result"]
    assert results[:2] == ["ok", "ok\n\nenough"]
    assert "was not executed" in results[2]


async def test_what_a_person_allows_is_counted_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard hears of it, with the arguments as values."""
    allowed: list[tuple[str, object]] = []
    some = session(
        [QUERY] * 4,
        "done",
        guard=LoopGuard(policy=Policy(on_block="ask")),
        on_blocked_call=lambda *_: True,
    )
    monkeypatch.setattr(some.guarded_run, "allow_call", lambda *given: allowed.append(given))
    await some.turn("go")
    assert allowed == [("query", {"q": 1})]

"""Folds of `ContextShaper`: where the summary stands, who hears of it, what outlives a process."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver

from loopguard_langchain import ContextShaper, LoopGuardMiddleware, ThreadTrimmer

from .agents import finish, person, thread
from .harness import MODES, assert_sendable
from .scripted import ScriptedModel, reply, tool_call
from .test_shaper import POLICY, SMALL, Prefixed, agent, rounds

if TYPE_CHECKING:
    from pathlib import Path

    from langchain_core.messages import BaseMessage

    from loopguard_core.agent import FoldRecord

STEPS = [reply("", tool_call("search", {"q": "x"})), reply("Done.")]
PINNED = {"loopguard_pinned": True}


def work(count: int) -> list[BaseMessage]:
    """Return what an agent did by itself: calls, results, answers."""
    return [message for message in rounds(count) if not isinstance(message, HumanMessage)]


def so(_: str) -> str:
    """Summarise."""
    return "so"


@pytest.mark.parametrize("outer", [True, False])
@pytest.mark.parametrize(
    "given",
    [
        [HumanMessage("the task", id="task"), *work(8)],
        [HumanMessage("rules", id="p", additional_kwargs=PINNED), *rounds(8), HumanMessage("now")],
        [SystemMessage("rules", id="s"), *rounds(8), HumanMessage("now")],
        [*rounds(8), HumanMessage("now")],
    ],
    ids=["one task", "pinned", "system", "old turns"],
)
def test_the_guard_hears_of_a_fold_behind_what_stays(
    given: list[BaseMessage], monkeypatch: pytest.MonkeyPatch, *, outer: bool
) -> None:
    """The first message can outlive a fold: the task of a long run does."""
    heard: list[bool] = []
    monkeypatch.setattr(
        "loopguard_core.guard.run.GuardedRun.context_compacted", lambda _: heard.append(True)
    )
    both = [LoopGuardMiddleware(), ContextShaper(policy=SMALL, summarizer=so)]
    some = agent(
        ScriptedModel(script=STEPS),
        *(both if outer else reversed(both)),
        checkpointer=InMemorySaver(),
    )
    finish(some, {"messages": given}, thread())
    assert heard == [True]
    finish(some, person("again"), thread())
    assert heard == [True]


@pytest.mark.parametrize("mode", MODES)
def test_the_summary_stands_behind_the_task(mode: str) -> None:
    """And before what is kept of the work, in the state as in what is sent."""
    model = ScriptedModel(script=STEPS)
    some = agent(model, ContextShaper(policy=SMALL, summarizer=so))
    end = finish(some, {"messages": [HumanMessage("the task"), *work(8)]}, mode=mode)
    assert [message.text for message in end["messages"]][:2] == ["the task", "[compacted]\nso"]
    assert [message.text for message in model.inputs[0]][:2] == ["the task", "[compacted]\nso"]
    assert_sendable(end["messages"])


def test_a_fold_that_begins_with_what_is_not_stored() -> None:
    """The summary takes the place of the first message that is."""
    model = ScriptedModel(script=STEPS)
    shaper = ContextShaper(policy=SMALL, summarizer=so)
    given = [*rounds(5), HumanMessage("now", id="now")]
    end = finish(agent(model, Prefixed(), shaper), {"messages": given})
    assert end["messages"][0].text == "[compacted]\nso"
    assert_sendable(end["messages"])


def test_a_fold_of_nothing_that_is_stored() -> None:
    """It is sent, recorded, and leaves the state's messages alone."""

    class Long(Prefixed):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(messages=[*rounds(5), *request.messages]))

    model, folds = ScriptedModel(script=[reply("ok")]), list["FoldRecord"]()
    shaper = ContextShaper(policy=SMALL, summarizer=so, on_fold=folds.append)
    given = [HumanMessage("one"), HumanMessage("two"), HumanMessage("now")]
    end = finish(agent(model, Long(), shaper), {"messages": given})
    assert model.inputs[-1][0].text == "[compacted]\nso"
    assert [message.text for message in end["messages"]] == ["one", "two", "now", "ok"]
    assert len(folds) == 1


def test_folds_outlive_the_process(tmp_path: Path) -> None:
    """What a database has is enough to go on: the summary, the records, the slots."""
    sqlite = pytest.importorskip("langgraph.checkpoint.sqlite")
    counts = []
    for given in ({"messages": [*rounds(5), HumanMessage("now")]}, person("and then?")):
        with sqlite.SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
            shaper = ContextShaper(policy=SMALL, summarizer=so, transclude=True)
            some = agent(ScriptedModel(script=[reply("ok")]), shaper, checkpointer=saver)
            end = finish(some, given, thread())
            counts.append(len(some.get_state(thread()).values["loopguard_context"]["folds"]))
    assert counts == [1, 1]
    assert end["messages"][0].text == "[compacted]\nso"
    assert type(end["expanded_reply"]) is str


def test_a_fold_costs_no_super_step() -> None:
    """One call of the model is one, folded or not."""
    some = agent(ScriptedModel(script=[reply("ok")]), ContextShaper(policy=SMALL, summarizer=so))
    given = {"messages": [*rounds(5), HumanMessage("now")]}
    updates = list(some.stream(given, stream_mode="updates"))
    assert [list(update) for update in updates] == [["model"]]


async def test_two_runs_fold_by_themselves() -> None:
    """One shaper, two threads at once: each has its own summary and its own record."""

    async def summarize(prompt: str) -> str:
        await asyncio.sleep(0)
        return "A" if "question A" in prompt else "B"

    some = agent(
        ScriptedModel(script=[reply("ok")]),
        ContextShaper(policy=SMALL, summarizer=summarize),
        checkpointer=InMemorySaver(),
    )

    def given(name: str) -> Any:
        return {"messages": [HumanMessage(f"question {name}"), *rounds(5), HumanMessage("now")]}

    ends = await asyncio.gather(*(some.ainvoke(given(name), thread(name)) for name in "AB"))
    assert [end["messages"][0].text[-1] for end in ends] == ["A", "B"]
    for name in "AB":
        (record,) = some.get_state(thread(name)).values["loopguard_context"]["folds"]
        assert record["summary"] == name


def test_folds_that_free_nothing_end() -> None:
    """After three in a row none is tried."""
    asked: list[str] = []

    def verbose(prompt: str) -> str:
        asked.append(prompt)
        return "s" * 3_900

    # its target is less than the longest summary that is allowed
    policy = SMALL.model_copy(update={"budget_tokens": 4_000, "lod_headroom_tokens": 3_200})
    some = agent(
        ScriptedModel(script=[reply("ok")]),
        ContextShaper(policy=policy, summarizer=verbose),
        checkpointer=InMemorySaver(),
    )
    for turn in range(8):
        finish(some, person("and then? " * 8 if turn else "r" * 4_000), thread())
    assert len(asked) == 3


def test_a_summariser_that_is_down_is_left_alone() -> None:
    """After three failures in a row it is asked once in seventeen calls."""
    asked: list[str] = []

    def fail(prompt: str) -> str:
        asked.append(prompt)
        raise OSError("unreachable")

    shaper = ContextShaper(policy=SMALL, summarizer=fail)
    some = agent(ScriptedModel(script=[reply("ok")]), shaper)
    for _ in range(40):
        end = finish(some, {"messages": [*rounds(5), HumanMessage("now")]})
        assert end["messages"][-1].text == "ok"
    assert len(asked) == 5


def test_a_summary_that_runs_away_is_cut() -> None:
    """In what is stored, and in what is recorded."""
    records: list[Any] = []
    shaper = ContextShaper(policy=SMALL, summarizer=lambda _: "s" * 90_000, on_fold=records.append)
    some = agent(ScriptedModel(script=[reply("ok")]), shaper)
    end = finish(some, {"messages": [*rounds(5), HumanMessage("now")]})
    assert sum(len(message.text) for message in end["messages"]) < 4 * SMALL.budget_tokens
    assert len(records[0].summary) < 2 * SMALL.budget_tokens


def test_without_a_summariser_nothing_is_folded(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged once for a thread, however many turns and calls it has."""
    some = agent(
        ScriptedModel(script=[*STEPS, reply("ok")]),
        ContextShaper(policy=SMALL),
        checkpointer=InMemorySaver(),
    )
    with caplog.at_level(logging.WARNING, "loopguard"):
        finish(some, {"messages": [*rounds(5), HumanMessage("now")]}, thread())
        end = finish(some, person("again"), thread())
    assert "question 0" in [message.text for message in end["messages"]]
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "offered",
    [
        {"google_search": {}},
        {"type": "web_search_20250305", "name": "web_search"},
        {"name": "f", "input_schema": {"type": "object", "properties": {}}},
        {"type": "function", "function": {"name": "f", "parameters": {}}},
    ],
)
def test_tools_in_a_providers_own_form_are_priced(offered: dict[str, Any]) -> None:
    """Also those that LangChain cannot read."""
    for middleware in (ContextShaper(policy=POLICY), ThreadTrimmer(max_tokens=1_000)):
        some = create_agent(ScriptedModel(script=[reply("ok")]), [offered], middleware=[middleware])
        assert finish(some, person())["messages"][-1].text == "ok"

"""The middleware's state: private, kept by a checkpointer, and never shared between turns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from loopguard_core import LoopGuard
from loopguard_langchain import LoopGuardMiddleware

from .agents import DONE, STUCK, finish, guarded, person, reason, thread
from .harness import MODES, assert_sendable, blocking_guard, refusals, search_tool
from .scripted import ScriptedModel, reply, tool_call

if TYPE_CHECKING:
    from pathlib import Path

    from langchain_core.messages import BaseMessage

NO_PROGRESS = "tool_loop.no_progress"


@pytest.mark.parametrize("mode", ["invoke", "ainvoke"])
def test_state_is_private(mode: str) -> None:
    """Users neither pass the guard's state nor get it."""
    search, _ = search_tool()
    agent = guarded(ScriptedModel(script=[STUCK, DONE]), search)
    assert set(finish(agent, person(), mode=mode)) == {"messages"}
    assert "loopguard" not in agent.get_input_jsonschema()["properties"]
    assert "loopguard" not in agent.get_output_jsonschema()["properties"]


def test_state_is_json() -> None:
    """What a checkpoint keeps survives a store that knows nothing but JSON."""
    search, _ = search_tool()
    agent = guarded(ScriptedModel(script=[STUCK, DONE]), search, checkpointer=InMemorySaver())
    finish(agent, person())
    record = agent.get_state(thread()).values["loopguard"]
    assert json.loads(json.dumps(record)) == record
    assert LoopGuard().resume(record["run"]).totals.calls == 1


@pytest.mark.parametrize("mode", MODES)
def test_counts_go_on_in_another_agent_of_another_process(mode: str) -> None:
    """A run that is resumed goes on counting, with nothing left of the objects that began it."""
    saver = InMemorySaver()
    search, ran = search_tool()
    for expected in (1, 2, 2):
        # Each pass is a process that dies after one reply: the same message of the person goes on.
        agent = guarded(
            ScriptedModel(script=[STUCK, DONE]), search, guard=blocking_guard(), checkpointer=saver
        )
        finish(agent, person("same", id="p1"), mode=mode)
        assert len(ran) == expected
    assert len(refusals(agent.get_state(thread()).values["messages"])) == 1


def test_counts_survive_a_real_store(tmp_path: Path) -> None:
    """A checkpoint in a database file brings everything back."""
    sqlite = pytest.importorskip("langgraph.checkpoint.sqlite")
    search, ran = search_tool()
    for _ in range(4):
        with sqlite.SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
            agent = guarded(
                ScriptedModel(script=[STUCK, DONE]),
                search,
                guard=blocking_guard(),
                checkpointer=saver,
            )
            agent.invoke(person("same", id="p1"), thread())
    assert len(ran) == 2


@pytest.mark.parametrize("mode", MODES)
def test_a_new_message_of_the_person_is_a_new_turn(mode: str) -> None:
    """What was called for an earlier message is no evidence any more."""
    search, ran = search_tool()
    script = [STUCK, STUCK, DONE] * 3
    agent = guarded(
        ScriptedModel(script=script),
        search,
        guard=blocking_guard(),
        checkpointer=InMemorySaver(),
    )
    for number in range(3):
        messages = finish(agent, person(f"message {number}"), mode=mode)["messages"]
    assert len(ran) == 6
    assert not refusals(messages)


def test_without_a_checkpointer_each_invocation_stands_alone() -> None:
    """Nothing of a run is left on the agent or on the middleware."""
    search, ran = search_tool()
    model = ScriptedModel(script=[STUCK, STUCK, DONE] * 3)
    agent = guarded(model, search, guard=blocking_guard())
    for _ in range(3):
        messages = finish(agent, person())["messages"]
    assert len(ran) == 6
    assert not refusals(messages)


@pytest.mark.parametrize("guard", [blocking_guard(), LoopGuard()], ids=["calls", "default"])
@pytest.mark.parametrize("mode", MODES)
def test_old_turns_of_a_stateless_server_are_no_evidence(mode: str, guard: LoopGuard) -> None:
    """A client that passes the whole history anew gets no verdict about its earlier turns."""
    search, ran = search_tool()
    history: list[BaseMessage] = []
    for number in range(6):
        model = ScriptedModel(script=[STUCK, reply(f"Nothing, message {number}.")])
        history.append(HumanMessage(f"message {number}"))
        agent = guarded(model, search, guard=guard)
        history = finish(agent, {"messages": history}, mode=mode)["messages"]
        assert "[loopguard]" not in str(model.inputs)
    assert len(ran) == 6
    assert_sendable(history)


def test_what_a_stateless_client_sends_within_a_turn_is_evidence() -> None:
    """The thread heuristics read what happened since the person spoke, whoever recorded it."""
    search, _ = search_tool()
    happened = [
        message
        for number in range(6)
        for message in (
            reply("", tool_call("search", {"q": "x"}, f"c{number}")),
            ToolMessage("nothing for x", tool_call_id=f"c{number}", name="search"),
        )
    ]
    model = ScriptedModel(script=[DONE])
    guarded(model, search).invoke({"messages": [HumanMessage("hi"), *happened]}, thread())
    assert "[loopguard]" in str(model.inputs[0][-1].content)


def test_results_of_an_earlier_turn_are_not_counted_into_the_next() -> None:
    """A turn that broke off on a result leaves the newest results, but none of the new turn."""
    search, ran = search_tool()
    model = ScriptedModel(script=[STUCK, RuntimeError("gone"), STUCK, STUCK, DONE])
    agent = guarded(model, search, guard=blocking_guard(), checkpointer=InMemorySaver())
    with pytest.raises(RuntimeError, match="gone"):
        finish(agent, person("one"))
    messages = finish(agent, person("two"))["messages"]
    assert len(ran) == 3
    assert not refusals(messages)


def test_a_turn_may_end_on_a_result() -> None:
    """As with `return_direct`, turn after turn."""

    def look(q: str) -> str:
        """Look."""
        return f"nothing for {q}"

    tool = StructuredTool.from_function(look, name="search", return_direct=True)
    agent = guarded(
        ScriptedModel(script=[STUCK]), tool, guard=blocking_guard(), checkpointer=InMemorySaver()
    )
    for number in range(5):
        messages = finish(agent, person(f"message {number}"))["messages"]
        assert isinstance(messages[-1], ToolMessage)
    assert not refusals(messages)


@pytest.mark.parametrize("mode", MODES)
def test_counts_go_on_after_a_tool_crashed(mode: str) -> None:
    """A crash is no new turn: the run goes on from its checkpoint with what it had counted."""
    broken = [True]
    search, ran = search_tool()

    def crash() -> str:
        """Crash once."""
        if broken.pop() if broken else False:
            raise RuntimeError("the process dies")
        return "ok"

    script = [STUCK, STUCK, reply("", tool_call("crash")), STUCK, DONE]
    agent = guarded(
        ScriptedModel(script=script),
        search,
        crash,
        guard=blocking_guard(),
        checkpointer=InMemorySaver(),
    )
    with pytest.raises(RuntimeError, match="dies"):
        finish(agent, person(), mode=mode)
    messages = finish(agent, None, mode=mode)["messages"]
    assert len(ran) == 2
    assert len(refusals(messages)) == 1
    assert_sendable(messages)


@pytest.mark.parametrize("mode", MODES)
def test_counts_go_on_after_the_model_crashed(mode: str) -> None:
    """A model call that failed has not happened: it is made again from the same state."""
    search, ran = search_tool()
    script = [STUCK, STUCK, RuntimeError("overloaded"), STUCK, DONE]
    agent = guarded(
        ScriptedModel(script=script), search, guard=blocking_guard(), checkpointer=InMemorySaver()
    )
    with pytest.raises(RuntimeError, match="overloaded"):
        finish(agent, person(), mode=mode)
    messages = finish(agent, None, mode=mode)["messages"]
    assert len(ran) == 2
    assert len(refusals(messages)) == 1


@pytest.mark.parametrize("mode", MODES)
def test_counts_go_on_over_an_interrupt(mode: str) -> None:
    """An interrupt in a tool, and its answer, are no new turn."""
    search, ran = search_tool()

    def ask() -> str:
        """Ask somebody."""
        return str(interrupt("well?"))

    script = [STUCK, STUCK, reply("", tool_call("ask")), STUCK, DONE]
    agent = guarded(
        ScriptedModel(script=script),
        search,
        ask,
        guard=blocking_guard(),
        checkpointer=InMemorySaver(),
    )
    finish(agent, person(), mode=mode)
    messages = finish(agent, Command(resume="yes"), mode=mode)["messages"]
    assert len(ran) == 2
    assert len(refusals(messages)) == 1


def test_a_run_without_a_person_is_guarded() -> None:
    """An agent may be started by a message of its own; there is no turn to begin."""
    search, _ = search_tool()
    agent = guarded(ScriptedModel(script=[STUCK]), search, guard=blocking_guard())
    messages = finish(agent, {"messages": [AIMessage("Where was I?")]})["messages"]
    assert reason(messages) == NO_PROGRESS


def test_an_unguarded_agent_of_the_same_thread_changes_nothing() -> None:
    """A thread can go on without the guard, and with it again."""
    search, ran = search_tool()
    saver: Any = InMemorySaver()
    model = ScriptedModel(script=[STUCK, STUCK, DONE, STUCK, STUCK, DONE, STUCK, DONE])
    guarded(model, search, guard=blocking_guard(), checkpointer=saver).invoke(person(), thread())
    plain = create_agent(model, [search], checkpointer=saver)
    plain.invoke(person("again"), thread())
    middleware = [LoopGuardMiddleware(guard=blocking_guard())]
    agent = create_agent(model, [search], middleware=middleware, checkpointer=saver)
    agent.invoke(person("and again"), thread())
    assert len(ran) == 5

"""The middleware as a part of a graph: what it costs, who else is in it, and who does not see whom."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from loopguard_core import LoopDetected, LoopGuard, Policy
from loopguard_langchain import LoopGuardMiddleware

from .agents import DONE, STUCK, finish, guarded, person, reason, thread
from .harness import MODES, assert_sendable, blocking_guard, refusals, search_tool
from .scripted import ScriptedModel, reply, tool_call

NO_PROGRESS = "tool_loop.no_progress"
RUNS = 8


class Subclass(LoopGuardMiddleware):
    """A user's own guard."""


def steps(count: int, *middleware: Any) -> int:
    """Return how many super-steps a run of so many calls takes."""
    search, _ = search_tool()
    saver = InMemorySaver()
    agent = create_agent(turns(count), [search], middleware=middleware, checkpointer=saver)
    agent.invoke(person(), thread())
    taken: int = agent.get_state(thread()).metadata["step"]
    return taken


def turns(count: int) -> ScriptedModel:
    """Return a model that searches for different things, then is done."""
    return ScriptedModel(
        script=[*[reply("", tool_call("search", {"q": str(n)})) for n in range(count)], DONE]
    )


@pytest.mark.parametrize("count", [0, 1, 10])
def test_a_run_costs_one_super_step_more_and_no_turn_costs_any(count: int) -> None:
    """LC35: the recursion limit is the user's."""
    assert steps(count) == 2 * count + 1
    assert steps(count, LoopGuardMiddleware()) == 2 * count + 2


def test_asking_costs_one_super_step_a_turn() -> None:
    """Which is why only the policy that asks has the hook."""
    asks = LoopGuardMiddleware(guard=LoopGuard(policy=Policy(on_block="ask")))
    assert steps(10, asks) == steps(10) + 1 + 11


def test_a_run_that_just_fits_its_limit_fits_it_with_the_guard() -> None:
    """One step more for the whole run."""
    search, _ = search_tool()
    limit = steps(10) + 1
    create_agent(turns(10), [search]).invoke(person(), thread(limit=limit))
    guarded(turns(10), search).invoke(person(), thread(limit=limit + 1))


@pytest.mark.parametrize(
    "second",
    [
        LoopGuardMiddleware,
        Subclass,
        lambda: LoopGuardMiddleware(guard=LoopGuard(policy=Policy(on_block="ask"))),
        lambda: Subclass(guard=LoopGuard(policy=Policy(on_block="ask"))),
    ],
    ids=["the-same", "a-subclass", "one-that-asks", "a-subclass-that-asks"],
)
def test_two_guards_in_one_agent_are_refused(second: Any) -> None:
    """They would share one state, and each would count what the other did."""
    with pytest.raises(AssertionError, match="duplicate middleware"):
        create_agent(turns(1), [], middleware=[LoopGuardMiddleware(), second()])


def test_the_same_guard_twice_in_one_agent_is_refused() -> None:
    """As one object too."""
    guard = LoopGuardMiddleware()
    with pytest.raises(AssertionError, match="duplicate middleware"):
        create_agent(turns(1), [], middleware=[guard, guard])


def test_one_object_may_guard_many_agents() -> None:
    """It keeps nothing of any of them."""
    guard = LoopGuardMiddleware(guard=blocking_guard())
    search, _ = search_tool()
    stuck = create_agent(ScriptedModel(script=[STUCK]), [search], middleware=[guard])
    healthy = create_agent(turns(5), [search], middleware=[guard])
    assert reason(finish(stuck, person())["messages"]) == NO_PROGRESS
    assert reason(finish(healthy, person())["messages"]) is None
    assert reason(finish(stuck, person())["messages"]) == NO_PROGRESS


def waiting_tool() -> tuple[Any, list[str]]:
    """Return a tool that all runs must have called before it answers any of them."""
    together = threading.Barrier(RUNS)
    ran: list[str] = []

    def search(q: str) -> str:
        """Search."""
        ran.append(q)
        together.wait(10)
        return "nothing"

    return StructuredTool.from_function(search), ran


def test_threads_that_share_an_agent_do_not_see_each_other() -> None:
    """Eight runs that each make the same call twice are no run that makes it sixteen times."""
    search, ran = waiting_tool()

    def step(messages: list[Any]) -> Any:
        return DONE if len(messages) >= 5 else STUCK

    agent = guarded(ScriptedModel(script=[step]), search, guard=blocking_guard())
    with ThreadPoolExecutor(RUNS) as pool:
        results = list(pool.map(lambda n: finish(agent, person(str(n))), range(RUNS)))
    assert len(ran) == 2 * RUNS
    assert not any(refusals(result["messages"]) for result in results)


async def test_tasks_that_share_an_agent_do_not_see_each_other() -> None:
    """Neither do eight runs on one event loop, each of which is stopped by itself."""
    ran: list[str] = []

    @tool
    async def search(q: str) -> str:
        """Search."""
        ran.append(q)
        await asyncio.sleep(0)
        return "nothing"

    agent = guarded(
        ScriptedModel(script=[STUCK]), search, guard=blocking_guard(), checkpointer=InMemorySaver()
    )
    runs = [agent.ainvoke(person(), thread(str(n))) for n in range(RUNS)]
    results = await asyncio.gather(*runs)
    assert len(ran) == 2 * RUNS
    assert {reason(result["messages"]) for result in results} == {NO_PROGRESS}


def test_two_turns_of_one_thread_follow_each_other() -> None:
    """Threads of conversation are kept apart by their id alone."""
    search, ran = search_tool()
    model = ScriptedModel(script=[STUCK, DONE] * 4)
    agent = guarded(model, search, guard=blocking_guard(), checkpointer=InMemorySaver())
    for name in ("a", "b", "a", "b"):
        finish(agent, person("same", id="p"), thread(name))
    assert len(ran) == 4


@pytest.mark.parametrize("mode", MODES)
def test_an_agent_inside_a_tool_has_a_run_of_its_own(mode: str) -> None:
    """LC30: what the inner agent does is the outer one's result, and no call of its own."""
    search, ran = search_tool()
    inner = guarded(ScriptedModel(script=[STUCK, STUCK, DONE] * 9), search, guard=blocking_guard())

    @tool
    def delegate(task: str) -> str:
        """Let another agent do it."""
        return f"{task}: {inner.invoke(person(task))['messages'][-1].content}"

    script = [*[reply("", tool_call("delegate", {"task": str(n)})) for n in range(3)], DONE]
    agent = guarded(ScriptedModel(script=script), delegate, guard=blocking_guard())
    messages = finish(agent, person(), mode=mode)["messages"]
    assert len(ran) == 6
    assert messages[-1].content == "Done."
    assert reason(messages) is None


@pytest.mark.parametrize("mode", MODES)
def test_a_stuck_agent_inside_a_tool_is_stopped_and_the_outer_one_goes_on(mode: str) -> None:
    """Its last words are what the outer model reads."""
    search, _ = search_tool()
    inner = guarded(ScriptedModel(script=[STUCK]), search, guard=blocking_guard())

    @tool
    def delegate(task: str) -> str:
        """Let another agent do it."""
        return str(inner.invoke(person(task))["messages"][-1].content)

    model = ScriptedModel(script=[reply("", tool_call("delegate", {"task": "x"})), DONE])
    agent = guarded(model, delegate, guard=blocking_guard())
    messages = finish(agent, person(), mode=mode)["messages"]
    assert "I stopped here" in str(model.inputs[-1][-1].content)
    assert messages[-1].content == "Done."
    assert reason(messages) is None


@pytest.mark.parametrize("mode", MODES)
def test_an_outer_agent_that_delegates_in_circles_is_stopped(mode: str) -> None:
    """The same task with the same outcome is a loop of the outer agent, whoever did it."""
    inner = guarded(ScriptedModel(script=[reply("I found nothing.")]))

    @tool
    def delegate(task: str) -> str:
        """Let another agent do it."""
        return str(inner.invoke(person(task))["messages"][-1].content)

    model = ScriptedModel(script=[reply("", tool_call("delegate", {"task": "x"}))])
    agent = guarded(model, delegate, guard=blocking_guard())
    assert reason(finish(agent, person(), mode=mode)["messages"]) == NO_PROGRESS


def test_an_inner_halt_that_raises_comes_out_of_the_outer_run() -> None:
    """Like every other error of a tool."""
    search, _ = search_tool()
    inner = guarded(ScriptedModel(script=[STUCK]), search, guard=blocking_guard(on_halt="raise"))

    @tool
    def delegate(task: str) -> str:
        """Let another agent do it."""
        return str(inner.invoke(person(task)))

    model = ScriptedModel(script=[reply("", tool_call("delegate", {"task": "x"})), DONE])
    with pytest.raises(LoopDetected):
        finish(guarded(model, delegate), person())


@pytest.mark.parametrize("mode", MODES)
def test_an_agent_that_is_a_node_of_another_graph_is_guarded(mode: str) -> None:
    """The state is the agent's own; the graph around it does not get to see it."""
    search, _ = search_tool()
    agent = guarded(ScriptedModel(script=[STUCK]), search, guard=blocking_guard())
    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent)
    graph.add_edge(START, "agent")
    state = finish(graph.compile(checkpointer=InMemorySaver()), person(), mode=mode)
    assert reason(state["messages"]) == NO_PROGRESS
    assert set(state) == {"messages"}
    assert_sendable(state["messages"])


def test_events_of_concurrent_runs_name_their_run() -> None:
    """A listener can tell apart what it hears."""
    heard: list[Any] = []
    search, _ = search_tool()
    agent = guarded(
        ScriptedModel(script=[STUCK]), search, guard=blocking_guard(listeners=(heard.append,))
    )
    with ThreadPoolExecutor(RUNS) as pool:
        list(pool.map(lambda n: finish(agent, {"messages": [HumanMessage(str(n))]}), range(RUNS)))
    runs = {event.run_id for event in heard}
    assert len(runs) == RUNS
    assert len(heard) == 3 * RUNS

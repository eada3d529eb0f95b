"""An agent that is guarded already is guarded anew: one guard counts, and ends are graceful."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agents import Agent, AgentHooks, Handoff, Runner, handoff
from agents.testing import ScriptedModel

from loopguard_openai_agents import (
    LoopGuardHooks,
    guard_agent,
    guarded_run,
    halted_by,
)

from .harness import CONFIG, agent_of, blocking_guard, calling, saying, search_tool

STUCK = calling(20)


def steps(agent: Agent[Any]) -> int:
    """Return how often the agent's model was asked."""
    model = agent.model
    assert isinstance(model, ScriptedModel)
    return len(model.calls)


def go(agent: Agent[Any], given: Any = "Go.", **options: Any) -> Any:
    """Run *agent* guarded."""
    return asyncio.run(guarded_run(agent, given, run_config=CONFIG, **options))


@pytest.mark.parametrize("again", ["last_agent", "guard_agent", "hooks"])
@pytest.mark.parametrize("ask", [False, True])
def test_a_stuck_run_ends_as_if_guarded_once(again: str, *, ask: bool) -> None:
    """With the same number of model calls and of tool runs, and without an exception."""
    guard = blocking_guard(on_block="ask") if ask else blocking_guard()
    seen = []
    for first in (None, again):
        search, ran = search_tool()
        agent = agent_of([*saying("Hello."), *STUCK], search)
        if first == "last_agent":
            guarded = go(agent, guard=guard).last_agent
        else:
            guarded = agent
            asyncio.run(Runner.run(agent, "Hi.", run_config=CONFIG))
        if first == "guard_agent":
            guarded = guard_agent(guarded, guard=blocking_guard())
        if first == "hooks":
            guarded = LoopGuardHooks(guard=blocking_guard()).guard_agent(guarded)
        result = go(guarded, guard=guard)
        seen.append((steps(agent), len(ran), bool(halted_by(result)), len(result.interruptions)))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("as_object", [False, True])
def test_hand_offs_end_as_if_guarded_once(*, as_object: bool) -> None:
    """Ping-pong is ended with words also where the run begins with an agent of the run before."""
    a = Agent(name="a", model=ScriptedModel(saying("Hello.") + calling(20, name="transfer_to_b")))
    b = Agent(name="b", model=ScriptedModel(calling(20, name="transfer_to_a")))
    to_b: Agent[Any] | Handoff[Any, Any] = handoff(b) if as_object else b
    a.handoffs, b.handoffs = [to_b], [a]
    first = go(a)
    result = go(first.last_agent)
    assert halted_by(result)
    assert "circles" in result.final_output


def test_healthy_work_is_left_alone() -> None:
    """Turn after turn with the last agent of the turn before."""
    search, ran = search_tool()
    script = [reply for n in range(12) for reply in (*calling(1, q=f"q{n}"), *saying(f"a{n}"))]
    agent: Agent[Any] = agent_of(script, search)
    given: Any = "q0"
    for turn in range(12):
        result = go(agent, given)
        assert (result.final_output, halted_by(result)) == (f"a{turn}", None)
        agent, given = (
            result.last_agent,
            [*result.to_input_list(), {"role": "user", "content": "?"}],
        )
    assert len(ran) == 12


def test_what_the_agent_had_is_still_called_once() -> None:
    """Its own hooks, its own behaviour and its own model stay, however often it is guarded."""
    heard: list[str] = []

    class Own(AgentHooks[Any]):
        async def on_llm_end(self, *_: Any) -> None:
            heard.append("end")

    search, _ = search_tool()
    script = calling(1)
    agent = agent_of(script, search, hooks=Own(), tool_use_behavior="stop_on_first_tool")
    guarded = guard_agent(guard_agent(guard_agent(agent)))
    result = go(guarded)
    assert result.final_output.startswith("nothing for x")
    assert (heard, steps(agent)) == (["end"], 1)


def test_originals_are_not_changed() -> None:
    """Neither the agent nor the copies that were guarded before."""
    search, _ = search_tool()
    agent = agent_of(saying("Hello."), search)
    first = guard_agent(agent)
    before = (first.model, list(first.tools), first.hooks, first.tool_use_behavior)
    go(first)
    assert (first.model, list(first.tools), first.hooks, first.tool_use_behavior) == before
    assert agent.tools == [search]

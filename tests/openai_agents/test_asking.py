"""`on_block="ask"`: a person is asked by the SDK's own approval, with the run saved in between."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from agents import Agent, RunState
from agents.testing import ScriptedModel, function_call

from loopguard_core import LoopGuard, Policy
from loopguard_core.errors import InvalidInputError
from loopguard_openai_agents import guard_agent, guarded_run, halted_by

from .harness import MODES, blocking_guard, calling, outputs, run, saying, search_tool

ASKING = blocking_guard(on_block="ask")


def guarded(script: list[Any], *tools: Any) -> Agent[Any]:
    """Return a guarded agent that asks about the third equal call."""
    return guard_agent(
        Agent(name="a", model=ScriptedModel(script), tools=list(tools)), guard=ASKING
    )


def decided(agent: Agent[Any], result: Any, *, approve: bool, saved: bool = True) -> RunState[Any]:
    """Let a person decide about the one call that waits; the state goes through JSON."""
    state = result.to_state()
    (waiting,) = result.interruptions
    (state.approve if approve else state.reject)(waiting)
    if not saved:
        return state
    return asyncio.run(RunState.from_json(agent, json.loads(json.dumps(state.to_json()))))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("saved", [True, False])
def test_oa27_a_call_that_a_person_allows_runs(mode: str, saved: bool) -> None:
    """OA27: a resumed run has a new usage object; the call passes, and its count starts over."""
    search, ran = search_tool()
    agent = guarded([*calling(5), *saying("Done.")], search)
    result = run(agent, mode=mode)
    assert len(ran) == 2
    resumed = run(agent, decided(agent, result, approve=True, saved=saved), mode)
    assert len(ran) == 4, "the allowed call, and one more before it is three again"
    again = run(agent, decided(agent, resumed, approve=True, saved=saved), mode)
    assert again.final_output == "Done."
    assert len(ran) == 5
    assert halted_by(again) is None


@pytest.mark.parametrize("mode", MODES)
def test_oa27_a_saved_run_goes_on_in_another_process(mode: str) -> None:
    """OA27: everything is made anew, agent, tool and model; all that is left is the saved text."""
    search, _ = search_tool()
    result = run(guarded([*calling(3)], search), mode=mode)
    state = result.to_state()
    state.approve(result.interruptions[0])
    saved = json.dumps(state.to_json())
    del result, state

    again, ran = search_tool()
    rest = [[function_call("search", {"q": "x"}, call_id=f"later_{n}")] for n in range(2)]
    agent = guarded([*rest, *saying("Done.")], again)
    resumed = run(agent, asyncio.run(RunState.from_json(agent, json.loads(saved))), mode)
    assert len(ran) == 2, "the call that was allowed, and one more before it is three again"
    assert [waiting.raw_item.call_id for waiting in resumed.interruptions] == ["later_1"]


@pytest.mark.parametrize("mode", MODES)
def test_oa28_a_person_is_asked_about_arguments_that_nobody_can_read(mode: str) -> None:
    """OA28: where a tool may ask, the SDK asks by itself about arguments that are no JSON."""
    search, ran = search_tool()
    result = run(guarded([[function_call("search", "{no json", call_id="c")]], search), mode=mode)
    assert len(result.interruptions) == 1
    assert ran == []


@pytest.mark.parametrize("mode", MODES)
def test_a_call_that_a_person_refuses_does_not_run(mode: str) -> None:
    """The SDK answers it; the next equal call is asked about again, because it is none that ran."""
    search, ran = search_tool()
    agent = guarded([*calling(3), *saying("Done.")], search)
    result = run(agent, decided(agent, run(agent, mode=mode), approve=False), mode)
    assert result.final_output == "Done."
    assert len(ran) == 2
    assert "not approved" in outputs(result.to_input_list())[-1]


def test_oa28_nobody_is_asked_about_calls_whose_arguments_have_defaults() -> None:
    """OA28: with a policy of its own a decorated tool asks about every call with a default."""
    search, ran = search_tool()
    result = run(guarded([*calling(1), *saying("Done.")], search))
    assert result.interruptions == []
    assert ran == ["x"]


@pytest.mark.parametrize("own", [True, lambda _context, _arguments, _call_id: True])
def test_what_a_tool_asks_for_itself_is_still_asked(own: Any) -> None:
    """A guarded copy asks whenever the tool would have."""
    search, ran = search_tool(needs_approval=own)
    agent = guarded([*calling(1, q="x", limit=2), *saying("Done.")], search)
    result = run(agent)
    assert len(result.interruptions) == 1
    assert run(agent, decided(agent, result, approve=True)).final_output == "Done."
    assert ran == ["x"]


def test_a_call_allowed_for_good_is_not_asked_about_again() -> None:
    """An approval that always holds needs no interruption, and its call passes the guardrail."""
    search, ran = search_tool()
    agent = guarded([*calling(7), *saying("Done.")], search)
    state = (result := run(agent)).to_state()
    state.approve(result.interruptions[0], always_approve=True)
    assert run(agent, state).final_output == "Done."
    assert len(ran) == 7


def test_the_state_of_a_resumed_run_is_that_of_one_that_was_never_interrupted() -> None:
    """What was nudged and blocked before counts on: the run ends where it would have ended."""
    search, ran = search_tool(needs_approval=True)
    guard = LoopGuard(policy=Policy(on_block="ask"))
    agent = guard_agent(
        Agent(name="a", model=ScriptedModel(calling(9)), tools=[search]), guard=guard
    )
    result = run(agent)
    while result.interruptions:
        result = run(agent, decided(agent, result, approve=True))
    verdict = halted_by(result)
    assert verdict is not None
    assert verdict.reason == "thread.repeated_suffix"
    assert len(ran) == 5


def test_a_saved_run_is_resumed_with_a_guarded_agent() -> None:
    """`guarded_run` makes its copies anew, so a state that holds older ones is refused."""
    search, _ = search_tool()
    agent = guarded(calling(3), search)
    state = run(agent).to_state()
    with pytest.raises(InvalidInputError, match="guard_agent"):
        asyncio.run(guarded_run(agent, state))

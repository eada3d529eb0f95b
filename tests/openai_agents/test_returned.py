"""Results are judged as tools returned them, whatever an input filter leaves of them."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, ToolOutputText, function_tool
from agents.run_config import CallModelData, ModelInputData

from loopguard_core.agent import ShaperPolicy
from loopguard_openai_agents import (
    ContextShaper,
    GuardedModel,
    LoopGuardHooks,
    guard_agent,
    guarded_run,
    halted_by,
)

from .harness import agent_of, calling, saying

CALLS = 20


def report(job: int) -> str:
    """Return a long result; two of them differ in the middle alone."""
    return "first line\n" * 300 + f"job {job}\n" + "last line\n" * 300


def masked(data: CallModelData[Any]) -> ModelInputData:
    """Hide what tools returned, as a filter of the user's might."""
    items: list[Any] = [
        {**item, "output": "(hidden)"} if "output" in item else item
        for item in data.model_data.input
    ]
    return ModelInputData(items, data.model_data.instructions)


def newest_only(data: CallModelData[Any]) -> ModelInputData:
    """Send people's messages alone, without a call or a result."""
    items = [item for item in data.model_data.input if item.get("role") == "user"]
    return ModelInputData(items, data.model_data.instructions)


def shaper(policy: ShaperPolicy, **options: Any) -> ContextShaper:
    """Return a shaper that can fold."""
    return ContextShaper(policy=policy, summarizer=lambda _prompt: "What was done.", **options)


FILTERS: dict[str, Any] = {
    "cut": lambda: shaper(ShaperPolicy.for_context(128_000), max_result_bytes=1_000),
    "stubs and folds": lambda: shaper(ShaperPolicy.for_context(4_000)),
    "a fold at every call": lambda: shaper(
        ShaperPolicy(budget_tokens=1_000, preserve_last_messages=2)
    ),
    "masked": lambda: masked,
    "left out": lambda: newest_only,
}


def worker(*, is_stuck: bool, as_parts: bool = False) -> Agent[Any]:
    """Return an agent that makes one call again and again."""
    jobs = itertools.repeat(1) if is_stuck else itertools.count()

    @function_tool(name_override="search")
    def search(q: str) -> Any:
        del q
        text = report(next(jobs))
        return [ToolOutputText(text=text)] if as_parts else text

    return agent_of([*calling(CALLS), *saying("Done.")], search)


def config(call_model_input_filter: Any) -> RunConfig:
    """Return what a run with a filter is given."""
    return RunConfig(tracing_disabled=True, call_model_input_filter=call_model_input_filter)


async def run(agent: Agent[Any], way: str, edits: Any) -> Any:
    """Run an agent, guarded in one of the ways there are."""
    if way == "guarded_run":
        return await guarded_run(agent, "Go.", run_config=config(edits), max_turns=50)
    if way == "guard_agent":
        guarded = guard_agent(agent)
        return await Runner.run(guarded, "Go.", run_config=config(edits), max_turns=50)
    hooks = LoopGuardHooks()
    guarded = hooks.guard_agent(agent)
    return await Runner.run(guarded, "Go.", hooks=hooks, run_config=config(edits), max_turns=50)


@pytest.mark.parametrize("as_parts", [False, True])
@pytest.mark.parametrize("way", ["guarded_run", "guard_agent", "hooks"])
@pytest.mark.parametrize("edits", FILTERS)
def test_results_that_differ_where_they_are_not_shown_are_new(
    edits: str, way: str, *, as_parts: bool
) -> None:
    """A filter makes no healthy run look stuck."""
    agent = worker(is_stuck=False, as_parts=as_parts)
    result = asyncio.run(run(agent, way, FILTERS[edits]()))
    assert result.final_output == "Done."


@pytest.mark.parametrize("as_parts", [False, True])
@pytest.mark.parametrize("way", ["guarded_run", "guard_agent", "hooks"])
@pytest.mark.parametrize("edits", FILTERS)
def test_equal_results_are_equal_however_they_are_shown(
    edits: str, way: str, *, as_parts: bool
) -> None:
    """A filter hides no loop, also one that takes every second result away."""
    agent = worker(is_stuck=True, as_parts=as_parts)
    result = asyncio.run(run(agent, way, FILTERS[edits]()))
    assert halted_by(result) is not None


@pytest.mark.parametrize("tokens", [700, 2_500])
def test_trimming_makes_no_run_look_stuck(tokens: int) -> None:
    """The newest result is cut in its middle, where all that is new stands."""
    agent = worker(is_stuck=False)
    run = guarded_run(agent, "Go.", max_tokens=tokens, max_turns=50, run_config=config(None))
    assert asyncio.run(run).final_output == "Done."


@pytest.mark.parametrize("edits", ["cut", "stubs and folds"])
def test_what_was_shortened_is_no_evidence_for_a_model_that_is_guarded_alone(edits: str) -> None:
    """It has nothing but its input, which does not say whether two results differ."""
    agent = worker(is_stuck=False)
    assert not isinstance(agent.model, str | None)
    agent.model = GuardedModel(agent.model)
    result = asyncio.run(
        Runner.run(agent, "Go.", run_config=config(FILTERS[edits]()), max_turns=50)
    )
    assert result.final_output == "Done."

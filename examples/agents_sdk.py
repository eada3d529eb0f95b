"""A stuck agent of the OpenAI Agents SDK, first alone, then guarded: scripted models, offline."""

from __future__ import annotations

import asyncio
from itertools import count

from agents import Agent, MaxTurnsExceeded, RunConfig, Runner, function_tool
from agents.testing import ScriptedModel, function_call

from loopguard_openai_agents import guarded_run, halted_by

OFFLINE = RunConfig(tracing_disabled=True)
QUESTION = "What is loopguard?"
TURNS = 20


@function_tool
def search(query: str) -> str:
    """Search the documentation."""
    return f"No results for {query}."


def stuck_agent() -> Agent[None]:
    """Return an agent that asks for the same search again and again."""
    ids = count()
    call = {"query": "loopguard"}
    steps = [[function_call("search", call, call_id=f"call_{next(ids)}")] for _ in range(TURNS)]
    return Agent(name="researcher", model=ScriptedModel(steps), tools=[search])


def chasing_agents() -> Agent[None]:
    """Return one of two agents that hand a question to each other for ever."""
    pair = []
    for name, other in (("sales", "support"), ("support", "sales")):
        away = f"transfer_to_{other}"
        steps = [[function_call(away, {}, call_id=f"{name}{n}")] for n in range(TURNS)]
        pair.append(Agent(name=name, model=ScriptedModel(steps)))
    pair[0].handoffs, pair[1].handoffs = [pair[1]], [pair[0]]
    return pair[0]


async def main() -> None:
    """Run each agent twice, and say how it went."""
    for build in (stuck_agent, chasing_agents):
        print(f"{build.__name__}:")
        try:
            await Runner.run(build(), QUESTION, max_turns=TURNS, run_config=OFFLINE)
        except MaxTurnsExceeded:
            print(f"  alone:   {TURNS} turns, stopped by max_turns, no answer")
        result = await guarded_run(build(), QUESTION, max_turns=TURNS, run_config=OFFLINE)
        verdict = halted_by(result)
        print(f"  guarded: {len(result.raw_responses)} turns, {verdict and verdict.reason}")
        print(f"           {result.final_output}\n")


if __name__ == "__main__":
    asyncio.run(main())

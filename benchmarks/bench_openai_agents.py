"""What the Agents SDK adapter costs: a guarded run beside the same run unguarded, and trimming."""

from __future__ import annotations

import asyncio
import gc
import statistics
import time
from typing import Any

from agents import Agent, RunConfig, Runner, function_tool
from agents.run_config import CallModelData, ModelInputData
from agents.testing import ScriptedModel, assistant_message, function_call
from timing import median_seconds, report

from loopguard_core.tokens import chars_estimate
from loopguard_openai_agents import LoopGuardHooks, guarded_run

CALLS = 200
PAIRS = 9
CONFIG = RunConfig(tracing_disabled=True)


@function_tool
def look(item: int) -> str:
    """Look at an item."""
    return f"item {item}: " + "text " * (20 + item % 7)


def agent() -> Agent[Any]:
    """Return an agent whose model makes 200 calls of healthy work."""
    calls = [[function_call("look", {"item": n}, call_id=f"c{n}")] for n in range(CALLS - 1)]
    return Agent(
        name="a", model=ScriptedModel([*calls, [assistant_message("Done.")]]), tools=[look]
    )


def seconds(*, guarded: bool) -> float:
    """Return the processor time of one run: nothing in it waits for anything."""
    run = guarded_run if guarded else Runner.run
    subject = agent()
    gc.collect()
    gc.disable()
    started = time.process_time()
    asyncio.run(run(subject, "Look at them all.", run_config=CONFIG, max_turns=CALLS + 1))
    took = time.process_time() - started
    gc.enable()
    return took


def overhead_percent() -> float:
    """Return the median of how much longer the guarded one of a pair takes."""
    seconds(guarded=True), seconds(guarded=False)
    pairs = []
    for number in range(PAIRS):
        order = (True, False) if number % 2 else (False, True)
        took = {guarded: seconds(guarded=guarded) for guarded in order}
        pairs.append(100 * (took[True] / took[False] - 1))
    return statistics.median(pairs)


def history(length: int) -> list[Any]:
    """Return a history of user messages, calls, results and answers."""
    items: list[Any] = []
    for n in range(0, length, 4):
        arguments = f'{{"item": {n}}}'
        call = {"type": "function_call", "call_id": f"c{n}", "name": "look", "arguments": arguments}
        output = {"type": "function_call_output", "call_id": f"c{n}", "output": f"item {n} " * 10}
        answer = {"role": "assistant", "content": f"It is item {n}.", "type": "message"}
        items += [{"role": "user", "content": f"Look at {n}."}, call, output, answer]
    return items


def trim_milliseconds(length: int) -> float:
    """Return how long it takes to trim a history to about 200 items."""
    hooks = LoopGuardHooks(max_tokens=2_900, estimate=chars_estimate)
    items = history(length)
    data = CallModelData(ModelInputData(items, None), agent(), None)
    kept = len(hooks.trim_input(data).input)
    print(f"    of {length} items {kept} are kept")
    return 1000 * median_seconds(lambda: hooks.trim_input(data))


if __name__ == "__main__":
    report("guarded run of 200 model calls, more than unguarded", overhead_percent(), "%", 5)
    short, long = trim_milliseconds(4_000), trim_milliseconds(40_000)
    report("trim_input, 4,000 items, 200 kept", short, "ms", 5)
    report("trim_input, 40,000 items, times 4,000", long / short, "times", 1.5)

"""What the LlamaIndex adapter costs: a guarded agent step, and reading a long history.

Needs the `llamaindex` extra. A step is measured as whole runs of 200 steps with a scripted model,
guarded and unguarded in turn, because one run alone varies more than the guard costs; of processor time, because nothing here
waits for anything but other programs.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import time
import warnings
from typing import TYPE_CHECKING

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.tools import FunctionTool
from timing import report

from loopguard_llamaindex import GuardedFunctionAgent
from tests.llamaindex.scripted import ScriptedModel, call, reply

if TYPE_CHECKING:
    from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent

STEPS = 200
PAIRS = 9


async def look(item: int) -> str:
    """Look at an item."""
    return f"item {item}"


def seconds(kind: type[BaseWorkflowAgent]) -> float:
    """Return how long one run takes."""
    script = [*(reply("", call("look", item=n)) for n in range(STEPS)), reply("Done.")]
    tools = [FunctionTool.from_defaults(async_fn=look)]
    agent = kind(tools=tools, llm=ScriptedModel(script=script), streaming=False)

    async def run() -> float:
        gc.collect()
        started = time.process_time()
        await agent.run("Look at everything.", max_iterations=2 * STEPS)
        return time.process_time() - started

    return asyncio.run(run())


def main() -> None:
    """Print what was measured."""
    warnings.simplefilter("ignore", DeprecationWarning)
    seconds(FunctionAgent), seconds(GuardedFunctionAgent)
    ratios = [seconds(GuardedFunctionAgent) / seconds(FunctionAgent) for _ in range(PAIRS)]
    report(
        "a guarded agent step, compared with an unguarded one",
        statistics.median(ratios),
        "times",
        1.05,
    )


if __name__ == "__main__":
    main()

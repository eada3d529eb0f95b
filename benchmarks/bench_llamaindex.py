"""What the LlamaIndex adapter costs: a guarded agent step, and reading a long history.

Needs the `llamaindex` extra. A step is measured as whole runs of 200 steps with a scripted model,
guarded and unguarded in turn, because one run alone varies more than the guard costs; of processor
time, because nothing here waits for anything but other programs.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import FunctionTool
from timing import median_seconds, report

from loopguard_llamaindex import GuardedFunctionAgent, LoopGuardMemory

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.llamaindex.scripted import ScriptedModel, call, reply

if TYPE_CHECKING:
    from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
    from llama_index.core.memory import BaseMemory

STEPS = 200
PAIRS = 9
SENTENCE = "I will look at the next item now, because the list says that it was not looked at."
KEPT = 200
MESSAGES = 4_000


async def look(item: int) -> str:
    """Look at an item."""
    return f"item {item}"


def run_seconds(kind: type[BaseWorkflowAgent], said: str) -> float:
    """Return how long one run takes; one that says something beside its calls is streamed."""
    script = [*(reply(said, call("look", item=n)) for n in range(STEPS)), reply("Done.")]
    tools = [FunctionTool.from_defaults(async_fn=look)]
    agent = kind(tools=tools, llm=ScriptedModel(script=script), streaming=bool(said))

    async def run() -> float:
        gc.collect()
        started = time.process_time()
        await agent.run("Look at everything.", max_iterations=2 * STEPS)
        return time.process_time() - started

    return asyncio.run(run())


def step_cost(said: str) -> float:
    """Return how many times as long guarded runs take, at the median of all pairs."""
    run_seconds(FunctionAgent, said)
    run_seconds(GuardedFunctionAgent, said)
    return statistics.median(
        run_seconds(GuardedFunctionAgent, said) / run_seconds(FunctionAgent, said)
        for _ in range(PAIRS)
    )


def history(size: int) -> list[ChatMessage]:
    """Return turns of a question, a call, its result and an answer."""
    messages = []
    for n in range(size // 4):
        result = ChatMessage(
            role="tool",
            content=f"Line {n} of the file, which says what it says.",
            additional_kwargs={"tool_call_id": f"c{n}"},
        )
        asking = reply("I will look at it.", call("look", f"c{n}", item=n))
        answer = reply(f"It is item {n}, and it is fine.")
        messages += [ChatMessage(role="user", content=f"What is {n}?"), asking, result, answer]
    return messages


def reading_seconds(memory: BaseMemory) -> float:
    """Return how long reading takes, once it was read before."""
    return median_seconds(memory.get)


def main() -> None:
    """Print what was measured."""
    warnings.simplefilter("ignore", DeprecationWarning)
    report("a guarded agent step, compared with an unguarded one", step_cost(""), "times", 1.05)
    report("the same, a sentence streamed beside each call", step_cost(SENTENCE), "times", 1.05)

    limit = 1
    while len(LoopGuardMemory.from_defaults(history(400), token_limit=limit).get()) < KEPT:
        limit += 200
    theirs = reading_seconds(ChatMemoryBuffer.from_defaults(history(MESSAGES), token_limit=limit))
    ours = reading_seconds(LoopGuardMemory.from_defaults(history(MESSAGES), token_limit=limit))
    report("reading 200 of 4,000 messages, compared with their buffer", ours / theirs, "times", 0.1)
    report("reading 200 of 4,000 messages", ours * 1e3, "ms", 50)
    more = LoopGuardMemory.from_defaults(history(10 * MESSAGES), token_limit=limit)
    report("the same of 40,000, compared with 4,000", reading_seconds(more) / ours, "times", 1.5)


if __name__ == "__main__":
    main()

"""What a LlamaIndex user writes; the type checker has to accept it. Never executed."""

# ruff: noqa: T201 - user code prints

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.llms import LLM
from llama_index.core.tools import BaseTool, FunctionTool

from loopguard_core import LoopDetected, LoopGuard, Policy
from loopguard_llamaindex import (
    GuardedFunctionAgent,
    GuardedLLM,
    GuardedReActAgent,
    LoopGuardMemory,
    LoopGuardMixin,
    guard_tools,
)

guard = LoopGuard(policy=Policy(on_halt="raise"))


def search(query: str) -> str:
    """Search for something."""
    return query


class OwnAgent(LoopGuardMixin, FunctionAgent):
    """An agent of one's own, guarded."""


async def run(llm: LLM) -> None:
    """Guarded agents run alone and in workflows, with a memory that fits."""
    memory = LoopGuardMemory.from_defaults(token_limit=8_000, guard=guard)
    first = GuardedFunctionAgent(name="a", description="A.", tools=[search], llm=llm, guard=guard)
    second = GuardedReActAgent(name="b", description="B.", llm=llm)
    workflow = AgentWorkflow(agents=[first, second], root_agent="a")
    try:
        output = await workflow.run("Hello", memory=memory)
        print(output)
    except LoopDetected as stopped:
        print(stopped.verdict.reason)
    await OwnAgent(llm=GuardedLLM(llm=llm)).run("Hello")


def own_tools(memory: LoopGuardMemory) -> list[BaseTool]:
    """Tools are guarded alone, or together with a memory."""
    tools: list[BaseTool] = [FunctionTool.from_defaults(search)]
    return [*guard_tools([search], guard=guard), *memory.guard_tools(tools)]

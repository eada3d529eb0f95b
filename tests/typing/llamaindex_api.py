"""What a LlamaIndex user writes; the type checker has to accept it. Never executed."""

# ruff: noqa: T201 - user code prints

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.llms import LLM
from llama_index.core.tools import BaseTool, FunctionTool

from loopguard_core import LoopDetected, LoopGuard, Policy
from loopguard_core.agent import ShaperPolicy, Slots
from loopguard_core.agent.thread_shaping import FoldRecord
from loopguard_core.agent.tool_hygiene import ToolHygiene
from loopguard_llamaindex import (
    ContextShaper,
    GuardedFunctionAgent,
    GuardedLLM,
    GuardedReActAgent,
    LoopGuardMemory,
    LoopGuardMixin,
    Transcluding,
    expanded,
    guard_tools,
    prepare_tools,
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


async def summarize(prompt: str) -> str:
    """Write a summary."""
    return prompt[:100]


class ShowingAgent(Transcluding, FunctionAgent):
    """An agent that nobody guards, whose answers show results whole."""


async def shaped(llm: LLM) -> FoldRecord:
    """A history is shortened and folded, results are checked, cut and shown whole."""
    policy = ShaperPolicy.for_context(32_000)
    own = ContextShaper(policy=policy, summarizer=summarize, on_fold=print)
    shaper = ContextShaper(policy=policy, summarizer=llm, max_result_bytes=4_000, transclude=True)
    memory = LoopGuardMemory.from_defaults(shaper=shaper)
    tools = prepare_tools([search], hygiene=ToolHygiene(), max_result_bytes=4_000, transclude=True)
    model = GuardedLLM(llm=llm, shaper=own)
    agent = GuardedFunctionAgent(tools=tools, llm=model, transclude=True)
    print(await agent.run("Hello", memory=memory))
    handler = ShowingAgent(llm=llm, tools=prepare_tools([search], slots=Slots())).run("Hello")
    shown: str = await expanded(str(await handler), handler.ctx)
    print(shown)
    return memory.folds[0]

"""What a LangChain user writes; the type checker has to accept it. Never executed."""

# ruff: noqa: T201 - user code prints

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.tools import BaseTool, tool

from loopguard_core import LoopDetected, LoopGuard, Policy
from loopguard_core.agent import ShaperPolicy, ToolHygiene
from loopguard_langchain import (
    ContextShaper,
    LoopGuardCallbackHandler,
    LoopGuardMiddleware,
    ThreadTrimmer,
    ToolHygieneMiddleware,
    guard_tools,
)

guard = LoopGuard(policy=Policy(on_halt="raise"))


@tool
def search(query: str) -> str:
    """Search for something."""
    return query


def build(model: BaseChatModel) -> None:
    """The guard and the trimmer are middleware of an agent, or stand alone."""
    middleware = [LoopGuardMiddleware(guard=guard)]
    agent = create_agent(model, [search], middleware=middleware)
    try:
        agent.invoke(
            {"messages": [HumanMessage("Hello")]},
            {"callbacks": [LoopGuardCallbackHandler(guard=guard)]},
        )
    except LoopDetected as stopped:
        print(stopped.verdict.reason)


def guard_own_tools(tools: list[BaseTool]) -> list[BaseTool]:
    """Tools of a hand-built graph are wrapped."""
    return list(guard_tools(tools, guard=guard))


def trim(messages: list[BaseMessage]) -> list[BaseMessage]:
    """The trimmer is a Runnable from messages to messages."""
    return list(ThreadTrimmer(max_tokens=1000).invoke(messages))


def shape(model: BaseChatModel) -> None:
    """Long threads are shaped, and tools get clean calls."""
    shaper = ContextShaper(
        policy=ShaperPolicy.for_context(128_000),
        summarizer=model,
        max_result_bytes=8_000,
        transclude=True,
        on_fold=lambda fold: print(fold.summary),
    )
    hygiene = ToolHygieneMiddleware(hygiene=ToolHygiene(validate_schema="off", encode=None))
    agent = create_agent(model, [search], middleware=[shaper, hygiene])
    print(agent.invoke({"messages": [HumanMessage("Hello")]})["expanded_reply"])

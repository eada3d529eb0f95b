"""What the LangChain tests share: guards with low thresholds, a counting tool, four ways to run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from loopguard_core import LoopGuard, Policy
from loopguard_core.guard.guidance import without_guidance
from loopguard_core.tool_loop import ToolLoopConfig

if TYPE_CHECKING:
    from collections.abc import Iterable

    from langchain_core.callbacks import BaseCallbackHandler

    from .scripted import ScriptedModel

MODES = ("invoke", "ainvoke", "stream", "astream")

NO_THREADS = frozenset(
    {
        "thread.repeated_suffix",
        "thread.repeated_activity_tail",
        "thread.repeated_result_run",
        "thread.repeated_message_text_run",
        "tool_loop.generic_repeat",
    }
)
"""The detectors that would speak before a call is blocked."""


def blocking_guard(*, listeners: tuple[Any, ...] = (), **policy: Any) -> LoopGuard:
    """Return a guard that blocks the third equal call after two equal results, and no thread."""
    return LoopGuard(
        policy=Policy(disabled_detectors=NO_THREADS, **policy),
        tool_loop=ToolLoopConfig(no_progress_critical=3),
        listeners=listeners,
    )


def warning_guard(*, listeners: tuple[Any, ...] = (), **policy: Any) -> LoopGuard:
    """Return a guard that warns about the third equal call instead."""
    return LoopGuard(
        policy=Policy(disabled_detectors=NO_THREADS - {"tool_loop.generic_repeat"}, **policy),
        tool_loop=ToolLoopConfig(generic_warn=3),
        listeners=listeners,
    )


def search_tool(answer: str | None = None) -> tuple[BaseTool, list[str]]:
    """Return a tool that finds nothing, and the list of the queries it ran with."""
    ran: list[str] = []

    def search(q: str) -> str:
        """Search."""
        ran.append(q)
        return answer or f"nothing for {q}"

    return StructuredTool.from_function(search), ran


def drive(graph: Any, given: Any, config: Any = None, mode: str = "invoke") -> Any:
    """Run *graph* in one of `MODES`; streamed ones by message, as a chat interface does."""
    match mode:
        case "invoke":
            return graph.invoke(given, config)
        case "ainvoke":
            return asyncio.run(graph.ainvoke(given, config))
        case "stream":
            return list(graph.stream(given, config, stream_mode="messages"))
        case "astream":
            return asyncio.run(_drain(graph.astream(given, config, stream_mode="messages")))
        case _:
            raise ValueError(mode)


async def _drain(events: Any) -> list[Any]:
    return [event async for event in events]


def refusals(messages: Iterable[BaseMessage]) -> list[ToolMessage]:
    """Return the answers of calls that were not executed: notes, and nothing else."""
    answers = [message for message in messages if isinstance(message, ToolMessage)]
    return [a for a in answers if a.status == "error" and not without_guidance(str(a.content))]


def assert_sendable(messages: list[BaseMessage]) -> None:
    """Fail unless a provider would take *messages*: no call dangles and no result is alone."""
    assert messages
    open_calls: list[str | None] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            assert message.tool_call_id in open_calls, f"a result without its call: {message}"
            open_calls.remove(message.tool_call_id)
            continue
        assert not open_calls, f"calls without an answer: {open_calls}"
        if isinstance(message, AIMessage):
            open_calls = [call["id"] for call in message.tool_calls]


def failing_tool() -> BaseTool:
    """Return a tool that always fails."""

    def search(q: str) -> str:
        """Search."""
        raise ToolException(f"no {q}")

    return StructuredTool.from_function(search)


def config(handler: BaseCallbackHandler) -> Any:
    """Return the config of a run; the limit is where it ends if the guard does not work."""
    return {"callbacks": [handler], "recursion_limit": 60}


def hand_built(model: ScriptedModel, node: ToolNode, checkpointer: Any = None) -> Any:
    """Build the usual loop of a model and a `ToolNode` by hand."""
    bound = model.bind_tools(list(node.tools_by_name.values()))
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [bound.invoke(state["messages"])]})
    graph.add_node("tools", node)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=checkpointer)

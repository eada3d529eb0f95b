"""What the Agents SDK tests share: scripts, tools, guards with low thresholds, ways to run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from agents import Agent, RunConfig, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call

from loopguard_core import LoopGuard, Policy
from loopguard_core.tool_loop import ToolLoopConfig

from .driver import own_loop

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents import FunctionTool

MODES = ("run", "run_sync", "run_streamed")
CONFIG = RunConfig(tracing_disabled=True, tool_not_found_behavior="return_error_to_model")
LOOPING_TEXT = "I will check the file once more to be sure. " * 60

NO_THREADS = frozenset(
    {
        "thread.repeated_suffix",
        "thread.repeated_activity_tail",
        "thread.repeated_result_run",
        "thread.repeated_message_text_run",
        "tool_loop.generic_repeat",
        "converge.oscillation",
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


WARNING = LoopGuard(
    policy=Policy(disabled_detectors=NO_THREADS - {"tool_loop.generic_repeat"}),
    tool_loop=ToolLoopConfig(generic_warn=3),
)
"""Warns about the third equal call, and does nothing else."""


def search_tool(**options: Any) -> tuple[FunctionTool, list[str]]:
    """Return a tool that finds nothing, and the list of the queries it ran with."""
    ran: list[str] = []

    @function_tool(**options)
    def search(q: str, limit: int = 3) -> str:
        """Search."""
        ran.append(q)
        return f"nothing for {q} in {limit}"

    return search, ran


def calling(times: int, *, name: str = "search", **arguments: Any) -> list[list[Any]]:
    """Return replies that make the same call again and again."""
    arguments = arguments or {"q": "x"}
    return [[function_call(name, arguments, call_id=f"{name}_{n}")] for n in range(times)]


def saying(*texts: str) -> list[list[Any]]:
    """Return replies of text."""
    return [[assistant_message(text)] for text in texts]


def agent_of(script: list[Any], *tools: Any, **options: Any) -> Agent[Any]:
    """Return an agent that follows *script*."""
    return Agent(name="worker", model=ScriptedModel(script), tools=list(tools), **options)


def run(agent: Agent[Any], given: Any = "Go.", mode: str = "run", **options: Any) -> Any:
    """Run *agent* with the SDK's own runner."""
    return drive(agent, given, mode, run=Runner, **options)


def drive(agent: Agent[Any], given: Any, mode: str, *, run: Any, **options: Any) -> Any:
    """Call the runner *run* in one of `MODES`; streamed runs are read to their end."""
    options.setdefault("run_config", CONFIG)
    if mode == "run":
        return asyncio.run(run.run(agent, given, **options))
    if mode == "run_sync":
        with own_loop():
            return run.run_sync(agent, given, **options)
    return asyncio.run(streamed(lambda: run.run_streamed(agent, given, **options)))


async def streamed(start: Callable[[], Any], events: list[Any] | None = None) -> Any:
    """Start a streamed run and read it to its end, into *events* if they are wanted."""
    result = start()
    async for event in result.stream_events():
        if events is not None:
            events.append(event)
    return result


def outputs(items: list[Any]) -> list[str]:
    """Return what calls were answered."""
    return [item["output"] for item in items if item.get("type") == "function_call_output"]

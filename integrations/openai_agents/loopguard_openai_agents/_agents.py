"""Guarded copies of agents: tools, models, hand-offs and what they lead to."""

from __future__ import annotations

import dataclasses
import weakref
from typing import TYPE_CHECKING, Any, Final

from agents import Agent, AgentHooks, Handoff, Model
from typing_extensions import override

from loopguard_core import InvalidInputError

from ._ending import ToolsEnd
from ._model import GuardedModel
from ._tools import guarded_tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents import (
        AgentHookContext,
        ModelResponse,
        RunContextWrapper,
        RunHooks,
        Tool,
        TResponseInputItem,
    )

    from ._table import RunTable

__all__ = ["AgentGuard", "BesideHooks"]

_INVOKE: Final = "loopguard_invoke"
"""On the way into a guarded hand-off: the way in that the hand-off had before."""


class AgentGuard:
    """Copies agents, each of them once, so that agents that hand off to each other stay a circle.

    Args:
        runs: The runs that the copies will be part of.
        hooks: What watches the copies wherever they run; None where the run has it as its hooks.
        all_models: True if models that agents only have the names of are guarded too.
    """

    def __init__(
        self, runs: RunTable, *, hooks: RunHooks[Any] | None = None, all_models: bool = False
    ) -> None:
        self._runs = runs
        self._hooks = hooks
        self._all_models = all_models
        # By the ids of agents, which cannot be hashed; what is kept of one goes with it, because a
        # hand-off may make its agent anew for each run.
        self._copies: dict[int, Agent[Any]] = {}
        self._made: set[int] = set()

    def copy(self, agent: Agent[Any]) -> Agent[Any]:
        """Return the guarded copy of *agent*; an agent that is a copy already is its own."""
        if not isinstance(agent, Agent):
            raise InvalidInputError("agent", agent, "an Agent of the SDK")
        if id(agent) in self._made:
            return agent
        known = self._copies.get(id(agent))
        if known is not None:
            return known
        changes: dict[str, Any] = {"tools": self._tools(agent.tools)}
        # A copy that an earlier guard made is guarded anew and not twice: as `last_agent` of a
        # guarded run it is what the next run of a conversation begins with.
        changes["tool_use_behavior"] = ToolsEnd.without(agent.tool_use_behavior)
        changes["hooks"] = BesideHooks.without(agent.hooks)
        if isinstance(agent.model, Model):
            changes["model"] = GuardedModel(GuardedModel.without(agent.model), runs=self._runs)
        elif not self._all_models:
            changes["tool_use_behavior"] = ToolsEnd(self._runs, changes["tool_use_behavior"])
        if self._hooks is not None:
            changes["hooks"] = BesideHooks(self._hooks, changes["hooks"])
        copied = self._class(agent)(**_fields(agent) | changes)
        self._copies[id(agent)] = copied
        weakref.finalize(agent, self._copies.pop, id(agent), None).atexit = False
        self._made.add(id(copied))
        weakref.finalize(copied, self._made.discard, id(copied)).atexit = False
        copied.handoffs = [self._handoff(handoff) for handoff in agent.handoffs]
        return copied

    def _handoff(self, handoff: Agent[Any] | Handoff[Any, Any]) -> Agent[Any] | Handoff[Any, Any]:
        if isinstance(handoff, Agent):
            return self.copy(handoff)
        invoke = getattr(handoff.on_invoke_handoff, _INVOKE, handoff.on_invoke_handoff)

        async def on_invoke_handoff(context: RunContextWrapper[Any], arguments: str) -> Agent[Any]:
            return self.copy(await invoke(context, arguments))

        setattr(on_invoke_handoff, _INVOKE, invoke)
        return dataclasses.replace(handoff, on_invoke_handoff=on_invoke_handoff)

    def _tools(self, tools: Sequence[Tool]) -> list[Tool]:
        return [guarded_tool(tool, self._runs, watched=True) for tool in tools]

    def _class(self, agent: Agent[Any]) -> type[Agent[Any]]:
        """Return the class of the copy; tools of MCP servers are only known when a run asks."""
        cls = type(agent)
        if not agent.mcp_servers:
            return cls
        guarded = self._tools

        async def get_mcp_tools(
            self: Agent[Any], run_context: RunContextWrapper[Any]
        ) -> list[Tool]:
            return guarded(await cls.get_mcp_tools(self, run_context))

        return type(cls.__name__, (cls,), {"get_mcp_tools": get_mcp_tools})


def _fields(agent: Agent[Any]) -> dict[str, Any]:
    return {f.name: getattr(agent, f.name) for f in dataclasses.fields(agent) if f.init}


class BesideHooks(AgentHooks[Any]):
    """Hooks of the run's kind on one agent, beside the hooks that the agent has.

    Args:
        hooks: What is to see the agent's model calls.
        own: The agent's own hooks, which are called as before.
    """

    def __init__(self, hooks: RunHooks[Any], own: AgentHooks[Any] | None) -> None:
        self._hooks = hooks
        self._own = own if own is not None else AgentHooks[Any]()

    @staticmethod
    def without(hooks: AgentHooks[Any] | None) -> AgentHooks[Any] | None:
        """Return an agent's own hooks, which may stand beside a guard's already."""
        return hooks._own if isinstance(hooks, BesideHooks) else hooks  # noqa: SLF001 - its own class

    @override
    async def on_start(self, context: AgentHookContext[Any], agent: Agent[Any]) -> None:
        await self._own.on_start(context, agent)

    @override
    async def on_end(self, context: AgentHookContext[Any], agent: Agent[Any], output: Any) -> None:
        await self._own.on_end(context, agent, output)

    @override
    async def on_handoff(
        self, context: RunContextWrapper[Any], agent: Agent[Any], source: Agent[Any]
    ) -> None:
        await self._own.on_handoff(context, agent, source)

    @override
    async def on_tool_start(
        self, context: RunContextWrapper[Any], agent: Agent[Any], tool: Tool
    ) -> None:
        await self._own.on_tool_start(context, agent, tool)

    @override
    async def on_tool_end(
        self, context: RunContextWrapper[Any], agent: Agent[Any], tool: Tool, result: Any
    ) -> None:
        await self._own.on_tool_end(context, agent, tool, result)
        await self._hooks.on_tool_end(context, agent, tool, result)

    @override
    async def on_llm_start(
        self,
        context: RunContextWrapper[Any],
        agent: Agent[Any],
        system_prompt: str | None,
        input_items: list[TResponseInputItem],
    ) -> None:
        await self._own.on_llm_start(context, agent, system_prompt, input_items)
        await self._hooks.on_llm_start(context, agent, system_prompt, input_items)

    @override
    async def on_llm_end(
        self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse
    ) -> None:
        await self._own.on_llm_end(context, agent, response)
        await self._hooks.on_llm_end(context, agent, response)

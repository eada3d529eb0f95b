"""What the middleware tests share: an agent with the guard, and four ways to run it to its end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain_core.messages import AIMessage, HumanMessage

from loopguard_langchain import LoopGuardMiddleware
from tests.scenarios import LOOPING_TEXT

from .scripted import reply, tool_call

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from langchain_core.messages import BaseMessage

    from loopguard_core import LoopGuard

    from .scripted import ScriptedModel

STUCK = reply("", tool_call("search", {"q": "x"}))
DONE = reply("Done.")
ENDLESS = LOOPING_TEXT * 20
"""What no model gets to the end of."""
TOLD = "Your reply was cut"
# Under `blocking_guard`: two runs of the call, then two refusals; the next one ends the run.
HALTING = [STUCK] * 4


class Looks(AgentMiddleware):
    """Has hooks before and after the model, in nodes of their own, as other middleware does."""

    def __init__(self, number: int = 0) -> None:
        super().__init__()
        self.number = number

    @property
    def name(self) -> str:
        """The name of its nodes."""
        return f"Looks{self.number}"

    @hook_config(can_jump_to=["end", "model"])
    def before_model(self, state: Any, runtime: Any) -> None:
        """Do nothing."""

    @hook_config(can_jump_to=["end", "model"])
    def after_model(self, state: Any, runtime: Any) -> None:
        """Do nothing."""

    @hook_config(can_jump_to=["end"])
    def after_agent(self, state: Any, runtime: Any) -> None:
        """Do nothing."""


def person(text: str = "hi", **given: Any) -> dict[str, Any]:
    """Return the input of a turn."""
    return {"messages": [HumanMessage(text, **given)]}


def thread(thread_id: str = "t", limit: int = 60) -> Any:
    """Return a config; the limit is where a run ends if the guard does not work."""
    return {"configurable": {"thread_id": thread_id}, "recursion_limit": limit}


def guarded(
    model: ScriptedModel, *tools: Any, guard: LoopGuard | None = None, **options: Any
) -> Any:
    """Return an agent; *before* and *after* are the middleware around the guard."""
    before, after = options.pop("before", ()), options.pop("after", ())
    middleware = [*before, LoopGuardMiddleware(guard=guard), *after]
    return create_agent(model, list(tools), middleware=middleware, **options)


def finish(agent: Any, given: Any, config: Any = None, mode: str = "invoke") -> dict[str, Any]:
    """Run *agent* in one of the four modes and return the state at the end."""
    config = config or thread()
    streamed = {"stream_mode": ["messages", "values"]}
    match mode:
        case "invoke":
            result: dict[str, Any] = agent.invoke(given, config)
            return result
        case "ainvoke":
            return asyncio.run(agent.ainvoke(given, config))
        case "stream":
            return _last_values(list(agent.stream(given, config, **streamed)))
        case "astream":
            return _last_values(asyncio.run(_drain(agent.astream(given, config, **streamed))))
        case _:
            raise ValueError(mode)


async def _drain(events: Any) -> list[Any]:
    return [event async for event in events]


def _last_values(events: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = [value for kind, value in events if kind == "values"][-1]
    return values


def reason(messages: Sequence[BaseMessage]) -> str | None:
    """Return the detector that ended a run, None if it ended by itself."""
    record = messages[-1].response_metadata.get("loopguard")
    return record["detector"] if record else None


def said(messages: Iterable[BaseMessage]) -> list[str]:
    """Return what the model said, reply by reply."""
    return [message.text for message in messages if isinstance(message, AIMessage)]

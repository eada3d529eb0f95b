"""The Agents SDK drivers: real runs on the SDK's own scripted model, in three modes and two shapes."""

from __future__ import annotations

import asyncio
import itertools
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agents import Agent, FunctionTool, RunConfig, SQLiteSession
from agents.testing import ScriptedModel, assistant_message, function_call
from openai.types.responses import ResponseReasoningItem
from openai.types.responses.response_reasoning_item import Summary

from loopguard_core.guard.guidance import without_guidance
from loopguard_openai_agents import (
    AgentLoopDetected,
    guarded_run,
    guarded_run_streamed,
    guarded_run_sync,
    halted_by,
)
from tests.drivers import MAX_STEPS, Ear, Report, World
from tests.scenarios import Outcome, Scenario, Step, ToolFailed, Turn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agents.tool_context import ToolContext

_ANY_ARGUMENTS = {"type": "object", "properties": {}, "additionalProperties": True}
_CONFIG = RunConfig(tracing_disabled=True, tool_not_found_behavior="return_error_to_model")
MODES = ("run", "run_sync", "run_streamed")


class AgentsDriver:
    """Runs a scenario with `guarded_run` or one of its twins.

    Args:
        mode: One of `MODES`; with `handoffs-` in front of it a first agent hands every turn over
            to the agent that has the tools.
    """

    def __init__(self, mode: str) -> None:
        self.name = f"openai_agents-{mode}"
        self._hands_off = mode.startswith("handoffs-")
        self._mode = mode.removeprefix("handoffs-")

    def run(self, scenario: Scenario) -> Report:
        """Run all turns of *scenario* in one session."""
        ear, world = Ear(), World(scenario.tools)
        model, front = ScriptedModel(), ScriptedModel()
        agent = Agent(
            name="worker", model=model, tools=[tool(name, world) for name in scenario.tools]
        )
        if self._hands_off:
            agent = Agent(name="front", model=front, handoffs=[agent])
        guard, session, ids = ear.on(scenario.guard), SQLiteSession("t"), itertools.count()
        end, detector = "done", None
        for turn in scenario.turns:
            model.extend(_script(turn, ids))
            front.enqueue([function_call("transfer_to_worker", {}, call_id=f"h{next(ids)}")])
            try:
                options = {"guard": guard, "session": session, "run_config": _CONFIG}
                result = _drive(self._mode, agent, turn.person, max_turns=MAX_STEPS, **options)
            except AgentLoopDetected as error:
                end, detector = "raise", error.verdict.reason
            else:
                if verdict := halted_by(result):
                    ours = str(result.final_output).startswith("I stopped here")
                    end, detector = "end" if ours else "answer", verdict.reason
        items = asyncio.run(session.get_items())
        session.close()
        assert_valid(items)
        blocked = sum(is_refusal(item) for item in items)
        outcome = Outcome(
            world.executed, blocked, nudges(model), ear.cuts, end, detector or ear.first
        )
        return Report(outcome, ear.verdicts)


def _drive(mode: str, agent: Agent[Any], person: str, **options: Any) -> Any:
    match mode:
        case "run":
            return asyncio.run(guarded_run(agent, person, **options))
        case "run_sync":
            with own_loop():
                return guarded_run_sync(agent, person, **options)
        case "run_streamed":
            return asyncio.run(_streamed(agent, person, **options))
    raise ValueError(mode)


@contextmanager
def own_loop() -> Iterator[None]:
    """Give `run_sync` a loop to run in: it would leave one of its own open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield
    finally:
        asyncio.set_event_loop(None)
        loop.close()


async def _streamed(agent: Agent[Any], person: str, **options: Any) -> Any:
    result = guarded_run_streamed(agent, person, **options)
    async for _ in result.stream_events():
        pass
    return result


def _script(turn: Turn, ids: Iterator[int]) -> Iterator[list[Any]]:
    """Yield the replies of a turn; the last one for as long as a run may go on."""
    rest = MAX_STEPS if turn.forever else 0
    for step in (*turn.steps, *[turn.steps[-1]] * rest):
        yield said(step, ids)


def said(step: Step, ids: Iterator[int]) -> list[Any]:
    """Return what a model answers: reasoning, text, calls."""
    items: list[Any] = []
    if step.reasoning:
        thought = [Summary(text=step.reasoning, type="summary_text")]
        items.append(ResponseReasoningItem(id="rs", type="reasoning", summary=thought))
    if step.text or not step.calls:
        items.append(assistant_message(step.text))
    for name, arguments in step.calls:
        items.append(function_call(name, dict(arguments), call_id=f"c{next(ids)}"))
    return items


def tool(name: str, world: World) -> FunctionTool:
    """Return a tool of *world* that takes any arguments."""

    async def invoke(_context: ToolContext[Any], arguments: str) -> str:
        try:
            return world.run(name, json.loads(arguments))
        except ToolFailed as error:
            return str(error)

    return FunctionTool(name, f"The tool {name}.", _ANY_ARGUMENTS, invoke, strict_json_schema=False)


def nudges(model: ScriptedModel) -> int:
    """Count the notes that a model read and that are stored nowhere."""
    return sum(_is_note(item) for call in model.calls for item in call.input)


def _is_note(item: Any) -> bool:
    text = item.get("output", item.get("content"))
    if not isinstance(text, str) or is_refusal(item):
        return False
    if "Your reply was cut" in text or "No further tool calls" in text:
        return False
    return without_guidance(text) != text


def is_refusal(item: Any) -> bool:
    """Return True if *item* answers a call that was not executed."""
    text = item.get("output")
    return isinstance(text, str) and text != "" and without_guidance(text) == ""


def assert_valid(items: Sequence[Any]) -> None:
    """Fail unless every call has one answer behind it, and every answer its call."""
    open_calls: list[str] = []
    for item in items:
        match item.get("type"):
            case "function_call":
                open_calls.append(item["call_id"])
            case "function_call_output":
                assert item["call_id"] in open_calls, f"an orphan result: {item}"
                open_calls.remove(item["call_id"])
            case "reasoning":
                assert not open_calls
            case _:
                assert not open_calls, f"calls without an answer before {item}: {open_calls}"
    assert not open_calls, f"calls without an answer at the end: {open_calls}"
    last = items[-1].get("type")
    assert last != "reasoning", "reasoning without what it led to"


DRIVERS = [AgentsDriver(f"{shape}{mode}") for shape in ("", "handoffs-") for mode in MODES]

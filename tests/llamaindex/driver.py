"""The LlamaIndex drivers: real agents and workflows on a scripted model, streamed and not."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Literal

from llama_index.core.agent.workflow import AgentWorkflow, ToolCallResult
from llama_index.core.llms import ChatMessage, MessageRole
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context
from pydantic import BaseModel, ConfigDict

from loopguard_core import LoopDetected, ToolRule
from loopguard_core.guard.guidance import without_guidance
from loopguard_llamaindex import GuardedFunctionAgent, GuardedReActAgent
from tests.drivers import MAX_STEPS, Ear, Report, World
from tests.scenarios import Outcome, Scenario, Step

from .scripted import ScriptedModel, action, answer, call, reply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard_core import LoopGuard

Kind = Literal["function", "react", "workflow"]


class AnyArguments(BaseModel):
    """The arguments of a scenario's tools."""

    model_config = ConfigDict(extra="allow")


class LlamaIndexDriver:
    """Runs a scenario on an agent, or on a workflow whose front desk hands off to it.

    Args:
        kind: Which agent.
        streaming: Whether its model streams.
    """

    def __init__(self, kind: Kind, *, streaming: bool) -> None:
        self.name = f"llamaindex-{kind}{'-streamed' if streaming else ''}"
        self._kind = kind
        self._streaming = streaming

    def run(self, scenario: Scenario) -> Report:
        """Run all turns of *scenario* in one context."""
        ear, world = Ear(), World(scenario.tools)
        steps = [step for turn in scenario.turns for step in turn.steps]
        model = ScriptedModel(script=[self._message(step) for step in steps])
        tools = [_tool(name, world) for name in scenario.tools]
        runner = self._runner(model, tools, _without_handoffs(ear.on(scenario.guard)))
        return asyncio.run(_play(scenario, runner, model, world, ear))

    def _message(self, step: Step) -> ChatMessage:
        if self._kind != "react":
            calls = [call(name, **arguments) for name, arguments in step.calls]
            return reply(step.text, *calls, thinking=step.reasoning)
        if not step.calls:
            said = answer(step.text)
        else:
            ((name, arguments),) = step.calls
            said = action(name, step.text or "Next.", **arguments)
        return reply(said.content or "", thinking=step.reasoning)

    def _runner(self, model: ScriptedModel, tools: list[Any], guard: LoopGuard) -> Any:
        if self._kind == "react":
            return GuardedReActAgent(tools=tools, llm=model, guard=guard, streaming=self._streaming)
        agent = GuardedFunctionAgent(
            name="worker",
            description="Does the work.",
            tools=tools,
            llm=model,
            guard=guard,
            streaming=self._streaming,
        )
        if self._kind == "function":
            return agent
        desk = GuardedFunctionAgent(
            name="desk",
            description="Hands off.",
            llm=ScriptedModel(
                script=[reply("", call("handoff", to_agent="worker", reason="work"))]
            ),
            guard=guard,
            streaming=self._streaming,
        )
        return AgentWorkflow(agents=[desk, agent], root_agent="desk")


def _without_handoffs(guard: LoopGuard) -> LoopGuard:
    """Return *guard* with the hand-off at the beginning left out: it is no part of the row."""
    tools = {**guard.policy.tools, "handoff": ToolRule(exempt=True)}
    return guard.model_copy(update={"policy": guard.policy.model_copy(update={"tools": tools})})


async def _play(
    scenario: Scenario, runner: Any, model: ScriptedModel, world: World, ear: Ear
) -> Report:
    memory = ChatMemoryBuffer.from_defaults(token_limit=10**6)
    ctx, refused, end, detector = Context(runner), 0, "done", None
    for turn in scenario.turns:
        handler = runner.run(turn.person, ctx=ctx, memory=memory, max_iterations=MAX_STEPS)
        events = [event async for event in handler.stream_events()]
        stopped = None
        try:
            output = await handler
            stopped = output.get("loopguard")
            if stopped is not None:
                text = output.response.content or ""
                end = "end" if text.startswith("I stopped here") else "answer"
                detector = stopped["detector"]
        except LoopDetected as error:
            end, detector, stopped = "raise", error.verdict.reason, True
        refused += _refusals(events, ended=stopped is not None)
    assert_valid(memory.get_all())
    outcome = Outcome(world.executed, refused, _nudges(model), ear.cuts, end, detector or ear.first)
    return Report(outcome, ear.verdicts)


def _tool(name: str, world: World) -> FunctionTool:
    def run(**arguments: Any) -> str:
        return world.run(name, arguments)

    return FunctionTool.from_defaults(
        run, name=name, description=f"The tool {name}.", fn_schema=AnyArguments
    )


def _refusals(events: Sequence[Any], *, ended: bool) -> int:
    """Count answers without a run, those left out that ended the run."""
    results = [event for event in events if isinstance(event, ToolCallResult)]
    if ended:  # what a halt refuses is the last thing that happens
        while results and _is_note(results[-1].tool_output.content):
            results.pop()
    return sum(_is_note(result.tool_output.content) for result in results)


def _nudges(model: ScriptedModel) -> int:
    """Count the notes that the model read and that are stored nowhere."""
    texts = [message.content or "" for messages in model.inputs for message in messages]
    return sum(
        without_guidance(text) != text
        and not ("Your reply was cut" in text or "No further tool calls" in text)
        and not _is_refusal(text)
        for text in texts
    )


def _is_note(text: str) -> bool:
    return bool(text) and without_guidance(text) == ""


def _is_refusal(text: str) -> bool:
    return "This call was not executed" in text


def assert_valid(messages: Sequence[ChatMessage]) -> None:
    """Fail unless every call has one answer right behind it, and every answer its call."""
    open_calls: list[str | None] = []
    for message in messages:
        call_id = message.additional_kwargs.get("tool_call_id")
        if message.role == MessageRole.TOOL:
            assert call_id in open_calls, f"an orphan result: {message}"
            open_calls.remove(call_id)
            continue
        assert not open_calls, f"calls without an answer before {message}: {open_calls}"
        blocks = [block for block in message.blocks if block.block_type == "tool_call"]
        open_calls = [block.tool_call_id for block in blocks]
    assert not open_calls, f"calls without an answer at the end: {open_calls}"


DRIVERS = [
    LlamaIndexDriver(kind, streaming=streaming)
    for kind in ("function", "react", "workflow")
    for streaming in (False, True)
]

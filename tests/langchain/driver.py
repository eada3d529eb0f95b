"""The LangChain driver: a real agent of `create_agent` on a scripted model, in four modes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langgraph.checkpoint.memory import InMemorySaver

from loopguard_core import LoopDetected
from loopguard_core.guard.guidance import without_guidance
from loopguard_langchain import LoopGuardMiddleware
from tests.drivers import MAX_STEPS, Ear, Report, World
from tests.scenarios import Outcome, Scenario, Step, ToolFailed

from .harness import assert_sendable
from .scripted import ScriptedModel, reply, tool_call

if TYPE_CHECKING:
    from collections.abc import Sequence

_ANY_ARGUMENTS = {"type": "object", "properties": {}, "additionalProperties": True}


class LangChainDriver:
    """Runs a scenario on `create_agent` with the middleware.

    Args:
        mode: `invoke`, `ainvoke`, `stream` or `astream`.
    """

    def __init__(self, mode: str) -> None:
        self.name = f"langchain-{mode}"
        self._mode = mode

    def run(self, scenario: Scenario) -> Report:
        """Run all turns of *scenario* in one checkpointed thread."""
        ear, world = Ear(), World(scenario.tools)
        steps = [step for turn in scenario.turns for step in turn.steps]
        model = ScriptedModel(script=[_message(step) for step in steps])
        agent = create_agent(
            model,
            [_tool(name, world) for name in scenario.tools],
            middleware=[LoopGuardMiddleware(guard=ear.on(scenario.guard))],
            checkpointer=InMemorySaver(),
        )
        config = {"configurable": {"thread_id": "t"}, "recursion_limit": 2 * MAX_STEPS}
        raised = None
        for turn in scenario.turns:
            try:
                self._drive(agent, {"messages": [HumanMessage(turn.person)]}, config)
            except LoopDetected as error:
                raised = error
        messages = agent.get_state(config).values["messages"]
        assert_sendable(messages)
        return Report(_outcome(messages, model, world, ear, raised), ear.verdicts)

    def _drive(self, agent: Any, given: Any, config: Any) -> None:
        match self._mode:
            case "invoke":
                agent.invoke(given, config)
            case "ainvoke":
                asyncio.run(agent.ainvoke(given, config))
            case "stream":
                list(agent.stream(given, config, stream_mode="messages"))
            case "astream":
                asyncio.run(_drain(agent.astream(given, config, stream_mode="updates")))


async def _drain(events: Any) -> None:
    async for _ in events:
        pass


def _message(step: Step) -> AIMessage:
    calls = [tool_call(name, dict(arguments)) for name, arguments in step.calls]
    return reply(step.text, *calls, reasoning=step.reasoning)


def _tool(name: str, world: World) -> BaseTool:
    def run(**arguments: Any) -> str:
        try:
            return world.run(name, arguments)
        except ToolFailed as error:
            raise ToolException(str(error)) from error

    return StructuredTool.from_function(
        run,
        name=name,
        description=f"The tool {name}.",
        args_schema=_ANY_ARGUMENTS,
        handle_tool_error=True,
    )


def _outcome(
    messages: Sequence[BaseMessage],
    model: ScriptedModel,
    world: World,
    ear: Ear,
    raised: LoopDetected | None,
) -> Outcome:
    final = messages[-1]
    record = final.response_metadata.get("loopguard")
    end, detector = "done", ear.first
    if raised is not None:
        end, detector = "raise", raised.verdict.reason
    elif record is not None:
        end = "end" if str(final.content).startswith("I stopped here") else "answer"
        detector = record["detector"]
    return Outcome(world.executed, _blocked(messages), _nudges(model), ear.cuts, end, detector)


def _blocked(messages: Sequence[BaseMessage]) -> int:
    """Count answers without a run, those left out that ended the run."""
    ended = messages[-1].response_metadata.get("loopguard") is not None
    last = max((i for i, m in enumerate(messages) if getattr(m, "tool_calls", None)), default=0)
    counted = messages[:last] if ended else messages
    return sum(_is_refusal(message) for message in counted)


def _is_refusal(message: BaseMessage) -> bool:
    return isinstance(message, ToolMessage) and without_guidance(str(message.content)) == ""


def _nudges(model: ScriptedModel) -> int:
    """Count the notes that the model read and that are stored nowhere."""
    return sum(_is_note(message) for messages in model.inputs for message in messages)


def _is_note(message: BaseMessage) -> bool:
    text = str(message.content)
    if "Your reply was cut" in text or "No further tool calls" in text or _is_refusal(message):
        return False
    return without_guidance(text) != text


DRIVERS = [LangChainDriver(mode) for mode in ("invoke", "ainvoke", "stream", "astream")]

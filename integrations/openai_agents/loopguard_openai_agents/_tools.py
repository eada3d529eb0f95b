"""Guarded copies of function tools: guardrails that refuse, tell, and ask a person."""

from __future__ import annotations

import copy
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents import (
    FunctionTool,
    RunContextWrapper,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolInputGuardrailData,
    ToolOutputGuardrail,
    ToolOutputGuardrailData,
)

from loopguard_core import Action
from loopguard_core.guard.guidance import append_guidance, nudge_text, verdict_record

from ._hygiene import EncodedResult
from ._items import Call, as_json

if TYPE_CHECKING:
    from agents import Tool
    from agents.tool_context import ToolContext

    from ._live import LiveRun
    from ._table import RunTable

__all__ = ["guarded_tool", "is_approved", "is_guarded"]


@dataclass
class _CallGuardrail(ToolInputGuardrail[Any]):
    """The guardrail that refuses calls, and the mark of a guarded tool."""

    watch: _ToolWatch | None = None
    """What it belongs to."""
    asks: Any = False
    """What the tool itself had as its `needs_approval`."""


@dataclass
class _ResultGuardrail(ToolOutputGuardrail[Any]):
    """The guardrail that tells the model about a result."""


def guarded_tool(tool: Tool, runs: RunTable, *, watched: bool = False) -> Tool:
    """Return a guarded copy of a function tool; any other tool as it is.

    A tool that is guarded for the same runs comes back as it is. One that was guarded for others,
    as by an earlier `guarded_run`, is guarded for these instead: two guards would count one call
    each for itself.

    Args:
        tool: The tool; it is not changed.
        runs: The runs that the copy will be part of.
        watched: True if hooks will see every result, so that the copy need not look at them.
    """
    if not isinstance(tool, FunctionTool):
        return tool
    before = _guardrail_of(tool)
    if before is not None:
        if before.watch is not None and before.watch.runs is runs:
            return tool
        tool = _unguarded(tool, before)
    watch = _ToolWatch(runs)
    guarded = copy.copy(tool)
    check = _CallGuardrail(watch.check, name="loopguard", watch=watch, asks=tool.needs_approval)
    guarded.tool_input_guardrails = [*(tool.tool_input_guardrails or ()), check]
    if (
        not watched and tool.output_json_schema is None
    ):  # what such a tool answers is data, and no text to add to
        observe = _ResultGuardrail(watch.observe, name="loopguard")
        guarded.tool_output_guardrails = [*(tool.tool_output_guardrails or ()), observe]
    if runs.guard.policy.on_block == "ask":
        _ask(guarded, tool, watch)
    return guarded


def is_approved(context: RunContextWrapper[Any], call: Call) -> bool:
    """Return True if a person allowed *call*."""
    return context.is_tool_approved(call.name, call.call_id or "") is True


def is_guarded(tool: Tool) -> bool:
    """Return True if *tool* is a guarded copy."""
    return isinstance(tool, FunctionTool) and _guardrail_of(tool) is not None


def _guardrail_of(tool: FunctionTool) -> _CallGuardrail | None:
    guardrails = tool.tool_input_guardrails or ()
    return next((one for one in guardrails if isinstance(one, _CallGuardrail)), None)


def _unguarded(tool: FunctionTool, guardrail: _CallGuardrail) -> FunctionTool:
    """Return a copy of a guarded tool without what makes it one."""
    bare = copy.copy(tool)
    inputs, outputs = tool.tool_input_guardrails or (), tool.tool_output_guardrails or ()
    bare.tool_input_guardrails = [one for one in inputs if one is not guardrail]
    bare.tool_output_guardrails = [one for one in outputs if not isinstance(one, _ResultGuardrail)]
    bare.needs_approval = guardrail.asks
    return bare


class _ToolWatch:
    """What happens around a guarded tool."""

    def __init__(self, runs: RunTable) -> None:
        self.runs = runs

    def check(self, data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        """Refuse a call that must not run."""
        context = data.context
        live, call = self._call(context)
        refusal = live.refusal(call, lambda made: is_approved(context, made))
        if refusal is None:
            return ToolGuardrailFunctionOutput.allow()
        verdict, text = refusal
        return ToolGuardrailFunctionOutput.reject_content(text, verdict_record(verdict))

    def observe(self, data: ToolOutputGuardrailData) -> ToolGuardrailFunctionOutput:
        """Take a result, where no hooks will see it in the next input."""
        live, call = self._call(data.context)
        if live.begun:
            return ToolGuardrailFunctionOutput.allow()
        verdict = live.run.observe_result(call.name, call.arguments, data.output, call_id=call.key)
        note = verdict.guidance
        if verdict.action is Action.HALT:  # the call ran, so what a refused one reads is wrong here
            note = nudge_text(verdict.findings)
        if not note or not isinstance(data.output, str):
            return ToolGuardrailFunctionOutput.allow()
        noted = append_guidance(data.output, note)
        if isinstance(data.output, EncodedResult):
            noted = EncodedResult(noted, data.output.raw)
        return ToolGuardrailFunctionOutput.reject_content(noted, verdict_record(verdict))

    def is_blocked(
        self, context: RunContextWrapper[Any], name: str, arguments: object, call_id: str
    ) -> bool:
        """Return True if a person is to be asked about a call."""
        live = self.runs.calling(context, call_id)
        call = _made(live, call_id) or Call(name, arguments, call_id)
        verdict = live.verdict_on(call)
        return live.halt is None and verdict.action is Action.BLOCK

    def _call(self, context: ToolContext[Any]) -> tuple[LiveRun, Call]:
        call_id = context.tool_call_id
        live = self.runs.calling(context, call_id)
        made = _made(live, call_id)
        return live, made or Call(context.tool_name, as_json(context.tool_arguments), call_id)


def _made(live: LiveRun, call_id: str) -> Call | None:
    """Return the call as the model made it, which is how it was judged before."""
    return next((call for call in live.calls if call.call_id == call_id), None)


def _ask(guarded: FunctionTool, tool: FunctionTool, watch: _ToolWatch) -> None:
    """Let the SDK ask a person about a blocked call, and about what the tool asks for itself.

    Of a tool with such a policy the SDK asks by itself about arguments that are no JSON object.
    """
    asks = tool.needs_approval
    if asks is True:
        return

    async def needs_approval(
        context: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str
    ) -> bool:
        if callable(asks):
            asked: Any = asks(context, arguments, call_id)  # the SDK takes plain functions too
            if await asked if inspect.isawaitable(asked) else asked:
                return True
        return watch.is_blocked(context, tool.name, arguments, call_id)

    guarded.needs_approval = needs_approval
    if asks is False:
        # Of a decorated function with a callable policy the SDK asks a person about every call
        # whose arguments have defaults; a plain invoker keeps the tool free to run.
        invoke = guarded.on_invoke_tool

        async def on_invoke_tool(context: ToolContext[Any], arguments: str) -> Any:  # noqa: ANN401
            return await invoke(context, arguments)

        guarded.on_invoke_tool = on_invoke_tool

"""Function tools whose arguments are checked first, and whose results take fewer tokens."""

from __future__ import annotations

import copy
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Self, TypeGuard

from agents import (
    FunctionTool,
    ToolCallOutputItem,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolInputGuardrailData,
)
from typing_extensions import override

from loopguard_core.agent import Slots, ToolDefinition, ToolHygiene
from loopguard_core.errors import checked
from loopguard_core.guard.guidance import without_guidance

from ._given import tools_in
from ._items import content_of, field

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agents import RunItem, RunResultBase, Tool
    from agents.tool_context import ToolContext

__all__ = ["EncodedResult", "expanded_output", "prepare_tools"]


class EncodedResult(str):
    """A result as the model reads it, with what the tool returned.

    Args:
        encoded: What the model reads.
        raw: What the tool returned.
    """

    __slots__ = ("raw",)

    raw: str

    def __new__(cls, encoded: str, raw: str) -> Self:
        """Make one; it is a string in every other way."""
        result = super().__new__(cls, encoded)
        result.raw = raw
        return result

    @override
    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]  # as `__new__` has them
        """Return what a copy is made of."""
        return str(self), self.raw


def prepare_tools(tools: Iterable[Tool], *, hygiene: ToolHygiene | None = None) -> list[Tool]:
    """Return copies of function tools with checks in front and an encoder behind.

    A call whose arguments are cut off, malformed or against the schema does not run, and its
    answer says why; loose JSON is mended where that is safe. Results that are text are encoded.
    Everything else of a tool stays, guardrails included, so `guard_tools` goes with it in either
    order. What a tool with an `output_json_schema` returns is data, and not encoded. Tools that are
    no function tools come back as they are.

    A result that ends a run is encoded like any other: `expanded_output` gives what the tool
    returned, and a `tool_use_behavior` of your own finds it as `raw` of the result's text.

    Args:
        tools: They are not changed.
        hygiene: What is checked and how results are written; None is `ToolHygiene()`.

    Raises:
        InvalidInputError: *hygiene* is something else.
    """
    how = checked("hygiene", hygiene, ToolHygiene)
    return [_prepared(t, how) if isinstance(t, FunctionTool) else t for t in tools_in(tools)]


def expanded_output(result: RunResultBase) -> Any:  # noqa: ANN401 - the SDK's own type
    """Return the final output as a reader wants it: placeholders replaced, nothing encoded.

    The placeholders of `transclude=True` stand for what the tools of this run returned, before it
    was encoded or cut, as a text. Session and items keep them. Where a tool ends the run, as with
    `stop_on_first_tool`, its result comes as the tool returned it. After a run was saved and
    resumed, results from before are those that the model read.

    Args:
        result: Of a run; an output that is no text comes back as it is.
    """
    output = result.final_output
    if not isinstance(output, str):
        return output
    for item in takewhile(_is_answer, reversed(result.new_items)):  # a tool ended the run
        if isinstance(item.output, EncodedResult) and item.output == output:
            return item.output.raw
    slots = Slots()
    for item in result.new_items:
        if isinstance(item, ToolCallOutputItem):
            slots.capture(_returned(item))
    return slots.expand(output)


def _is_answer(item: RunItem) -> TypeGuard[ToolCallOutputItem]:
    return isinstance(item, ToolCallOutputItem)


def _returned(item: ToolCallOutputItem) -> str:
    """Return what a tool returned, as a text; what the guard wrote behind it is for the model."""
    if isinstance(item.output, EncodedResult):
        return item.output.raw
    said = content_of(field(item.raw_item, "output")).text
    return without_guidance(item.output if isinstance(item.output, str) else said)


def _prepared(tool: FunctionTool, hygiene: ToolHygiene) -> FunctionTool:
    check = hygiene.checks([ToolDefinition(name=tool.name, parameters=tool.params_json_schema)])
    invoke = tool.on_invoke_tool
    returns_data = tool.output_json_schema is not None

    def refuse(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        refusal = check(tool.name, data.context.tool_arguments).refusal
        if refusal:
            return ToolGuardrailFunctionOutput.reject_content(refusal)
        return ToolGuardrailFunctionOutput.allow()

    async def on_invoke_tool(context: ToolContext[Any], arguments: str) -> Any:  # noqa: ANN401
        called = check(tool.name, arguments)
        if called.refusal:
            return called.refusal
        result = await invoke(context, called.text)
        if returns_data or not isinstance(result, str):
            return result
        encoded = hygiene.encoded(result)
        return result if encoded == result else EncodedResult(encoded, result)

    prepared = copy.copy(tool)
    prepared.on_invoke_tool = on_invoke_tool
    if returns_data:  # a refusal is no such data, and only a guardrail may answer something else
        guardrail = ToolInputGuardrail[Any](refuse, name="loopguard_hygiene")
        prepared.tool_input_guardrails = [*(tool.tool_input_guardrails or ()), guardrail]
    return prepared

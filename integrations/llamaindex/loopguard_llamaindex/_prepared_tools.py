"""`prepare_tools`: arguments checked in front of a tool, results made short and safe behind it."""

from __future__ import annotations

import json
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

from llama_index.core.tools import AsyncBaseTool, BaseTool, ToolOutput
from typing_extensions import override
from workflows.runtime.types.results import WaitingForEvent

from loopguard_core.agent import ToolDefinition, neutralize_special_tokens
from loopguard_core.agent.arguments import refusal_in
from loopguard_core.agent.result_cut import cut_result
from loopguard_core.agent.tool_hygiene import ArgumentCheck, ToolHygiene
from loopguard_core.agent.transclusion import Slots
from loopguard_core.errors import InvalidInputError, checked, checked_flag

from ._asking import refusal
from ._shaped import text_in_place
from ._slots import capture
from ._tool_copies import copy_of, given_by_model, marked, tools_in
from ._tool_runs import store_underway

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["PreparedTool", "prepare_tools"]

_UNDERWAY: ContextVar[object] = ContextVar("loopguard_prepared_tool", default=None)


def prepare_tools(
    tools: Iterable[BaseTool | Callable[..., Any]],
    *,
    hygiene: ToolHygiene | None = None,
    max_result_bytes: int = 0,
    transclude: bool = False,
    slots: Slots | None = None,
) -> list[BaseTool]:
    """Return copies of *tools* that check their arguments and shorten what the model reads.

    A call whose arguments do not fit is not executed: its result is the refusal, marked as an
    error. In a guarded agent that goes for arguments as the model wrote them, where the model's
    integration keeps their text: safe repairs are made, cut ones are refused. In other agents a
    tool gets what LlamaIndex made of them.

    Of a result the content is encoded, made harmless and cut; `raw_output` stays what the tool
    returned. A dict or a list is encoded as the JSON that it is. A result that ends the run
    (`return_direct`) is read by a person and stays. What a tool raises goes on as it is.

    Composes with `guard_tools` in either order; `guard_tools(prepare_tools(tools))` also sees
    calls that are refused.

    Args:
        tools: Tools, or functions that become tools as agents make them; not changed.
        hygiene: What is checked and how results are encoded; None is `ToolHygiene()`.
        max_result_bytes: Bytes of one result that the model reads; the rest is cut out of its
            middle. 0 is no limit.
        transclude: True keeps this turn's whole results in the run's `ctx.store`, for
            `Transcluding` agents and `expanded`. Calls outside a workflow keep nothing there.
        slots: Captures the whole results too, wherever a tool is called; it is for one turn of one
            run.

    Raises:
        ImportError: `validate_schema="strict"` without the extra `agent`.
        InvalidInputError: It is strict, and the schema of a tool is none; or an argument cannot be
            used, by its name.
    """
    how = checked("hygiene", hygiene, ToolHygiene)
    checked_flag("transclude", transclude)
    if type(max_result_bytes) is not int or max_result_bytes < 0:
        raise InvalidInputError("max_result_bytes", max_result_bytes, "a whole number from 0")
    if not (slots is None or isinstance(slots, Slots)):
        raise InvalidInputError("slots", slots, "Slots or None")
    preparation = Preparation(how, max_result_bytes, transclude, slots)
    return [_prepared(tool, preparation) for tool in tools_in(tools)]


@dataclass(frozen=True, slots=True)
class Preparation:
    """What is done around the tools of one `prepare_tools` call."""

    hygiene: ToolHygiene
    max_result_bytes: int
    transclude: bool
    slots: Slots | None

    def capture(self, result: str) -> None:
        """Keep a result whole, outside of any run."""
        if self.slots is not None:
            self.slots.capture(result)

    async def acapture(self, result: str) -> None:
        """Keep a result whole, also in the run that goes on."""
        self.capture(result)
        if self.transclude and (store := store_underway()) is not None:
            await capture(store, result)

    def shown(self, output: ToolOutput) -> ToolOutput:
        """Return what the model reads of a result: the very output if nothing is to be done."""
        text = output.content
        harmless = neutralize_special_tokens(self.hygiene.encoded(self._written(output)))
        expandable = self.transclude or self.slots is not None
        shown = cut_result(harmless, self.max_result_bytes, expandable=expandable)
        if shown == text:
            return output
        return output.model_copy(update={"blocks": text_in_place(output.blocks, shown)})

    def _written(self, output: ToolOutput) -> str:
        """Return the text of a result; LlamaIndex writes a dict or a list as Python does."""
        raw, text = output.raw_output, output.content
        if self.hygiene.encode is None or not isinstance(raw, (dict, list)) or str(raw) != text:
            return text
        try:
            return json.dumps(raw, ensure_ascii=False)
        except (TypeError, ValueError):
            return text


class PreparedTool(AsyncBaseTool):
    """What a prepared copy does around its tool."""

    _preparation: ClassVar[Preparation]
    _check: ClassVar[ArgumentCheck]

    @override
    def call(self, *args: Any, **kwargs: Any) -> ToolOutput:
        """Run the tool if its arguments fit; return what the model reads of its result."""
        call = cast("Callable[..., ToolOutput]", super().call)  # type: ignore[safe-super]  # the tool's
        if _UNDERWAY.get() is self:
            return call(*args, **kwargs)
        output = None if args else self._refused(kwargs)
        try:
            if output is None:
                with marked(_UNDERWAY, self):
                    output = call(*args, **kwargs)
        except Exception as error:  # of the tool, which may raise anything; it goes on
            self._preparation.capture(str(error))
            raise
        self._preparation.capture(output.content)
        return self._shown(output)

    @override
    async def acall(self, *args: Any, **kwargs: Any) -> ToolOutput:
        """Run the tool if its arguments fit; return what the model reads of its result."""
        acall = cast("Callable[..., Any]", super().acall)  # type: ignore[safe-super]  # the tool's
        if _UNDERWAY.get() is self:
            return cast("ToolOutput", await acall(*args, **kwargs))
        output = None if args else self._refused(kwargs)
        try:
            if output is None:
                with marked(_UNDERWAY, self):
                    output = cast("ToolOutput", await acall(*args, **kwargs))
        except WaitingForEvent:
            raise
        except Exception as error:  # of the tool, which may raise anything; it goes on
            await self._preparation.acapture(str(error))
            raise
        await self._preparation.acapture(output.content)
        return self._shown(output)

    def _refused(self, kwargs: Mapping[str, Any]) -> ToolOutput | None:
        """Return the result of a call that is not executed; None for one that is."""
        arguments = given_by_model(self, kwargs)
        name = self.metadata.get_name()
        why = refusal_in(arguments) or self._check(name, arguments).refusal
        return refusal(name, arguments, why) if why else None

    def _shown(self, output: ToolOutput) -> ToolOutput:
        is_last = self.metadata.return_direct and not output.is_error
        return output if is_last else self._preparation.shown(output)


def _prepared(tool: AsyncBaseTool, preparation: Preparation) -> BaseTool:
    metadata = tool.metadata
    definition = ToolDefinition(
        name=metadata.get_name(),
        description=metadata.description,
        parameters=metadata.get_parameters_dict(),
    )
    check = preparation.hygiene.checks([definition])
    return copy_of(tool, PreparedTool, {"_preparation": preparation, "_check": check})

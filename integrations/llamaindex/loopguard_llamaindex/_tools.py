"""Guarded copies of tools: blocked calls are answered, warnings appended, persons asked."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, cast

from llama_index.core.tools import AsyncBaseTool, BaseTool, ToolOutput
from typing_extensions import override
from workflows.runtime.types.results import WaitingForEvent

from loopguard_core import LoopGuard
from loopguard_core.errors import checked

from ._asking import refusal
from ._tool_copies import copy_of, given_by_model, marked, tools_in
from ._tool_runs import RunByHand, tool_run_underway

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["GuardedTool", "guard_tools"]

_UNDERWAY: ContextVar[object] = ContextVar("loopguard_tool", default=None)


def guard_tools(
    tools: Iterable[BaseTool | Callable[..., Any]], *, guard: LoopGuard | None = None
) -> list[BaseTool]:
    """Return guarded copies of *tools*, for agents and workflows that are not guarded themselves.

    A call that loops is not executed: its result is the guidance, marked as an error. A warning
    is appended to the result that it is about. Tools alone cannot end a run, because what they
    raise becomes text: a halt is one more blocked call, unless the run's memory is a
    `LoopGuardMemory`, whose next reading ends it.

    With `on_block="ask"`, a blocked call waits in a workflow: the stream has an
    `InputRequiredEvent` with `call_id`, `tool_name`, `tool_kwargs` and, as `prefix`, the reason.
    Answer with `ctx.send_event(HumanResponseEvent(call_id=event.call_id, allow=True))`, or with
    `allow=False` and, if you like, a `message` for the model. Equal calls are one question.

    In a workflow the state is kept in its `ctx.store`, and a new `run` is a new turn. Elsewhere
    all copies of one `guard_tools` call share one run, from any thread: call it for each run.

    Args:
        tools: Tools, or functions that become tools as agents make them. The originals are not
            changed, and the copies do all that they do.
        guard: What is watched for and what is done about it; None is `LoopGuard()`.

    Raises:
        InvalidInputError: *guard*, *tools* or one of them is something else.
    """
    guard = checked("guard", guard, LoopGuard)
    by_hand = RunByHand(guard)
    beside = {"_guard": guard, "_by_hand": by_hand}
    return [copy_of(tool, GuardedTool, beside) for tool in tools_in(tools)]


class GuardedTool(AsyncBaseTool):
    """What a guarded copy does around its tool."""

    _guard: ClassVar[LoopGuard]
    _by_hand: ClassVar[RunByHand]

    @override
    def call(self, *args: Any, **kwargs: Any) -> ToolOutput:
        """Run the tool, unless the guard blocks the call."""
        call = cast("Callable[..., ToolOutput]", super().call)  # type: ignore[safe-super]  # the tool's
        if _UNDERWAY.get() is self:
            return call(*args, **kwargs)
        name, arguments = self._asked_for(args, kwargs)
        why = self._by_hand.refuses_now(name, arguments)
        if why is not None:
            return refusal(name, arguments, why)
        try:
            with marked(_UNDERWAY, self):
                output = call(*args, **kwargs)
        except Exception as error:  # of the tool, which may raise anything; it goes on
            self._by_hand.fail_now(name, arguments, error)
            raise
        return self._by_hand.observe_now(name, arguments, output)

    @override
    async def acall(self, *args: Any, **kwargs: Any) -> ToolOutput:
        """Run the tool, unless the guard blocks the call."""
        acall = cast("Callable[..., Any]", super().acall)  # type: ignore[safe-super]  # the tool's
        if _UNDERWAY.get() is self:
            return cast("ToolOutput", await acall(*args, **kwargs))
        name, arguments = self._asked_for(args, kwargs)
        run = await tool_run_underway(self._by_hand, self._guard)
        why = await run.refuses(name, arguments)
        if why is not None:
            return refusal(name, arguments, why)
        try:
            with marked(_UNDERWAY, self):
                output = await acall(*args, **kwargs)
        except WaitingForEvent:
            await run.wait(name, arguments)
            raise
        except Exception as error:  # of the tool, which may raise anything; it goes on
            await run.fail(name, arguments, error)
            raise
        return await run.observe(name, arguments, output)

    def _asked_for(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        """Return the name and what the model asked for, without what the framework injects."""
        given = given_by_model(self, kwargs)
        if args:
            given["args"] = list(args)
        return self.metadata.get_name(), given

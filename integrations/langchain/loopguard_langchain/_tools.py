"""Guarded copies of tools, for graphs that are built by hand.

A guarded tool asks LangGraph's `ToolNode`, by an annotation, for the graph's state, and rebuilds
the run from the messages in it: nothing is kept between two calls, so an interrupted or
checkpointed graph needs nothing else. Where nobody injects a state, the copies share one run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable  # noqa: TC003 - pydantic reads annotations
from typing import Annotated, Any, Final, get_type_hints

from langchain_core.tools import ArgsSchema, BaseTool, Tool, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.prebuilt import InjectedState
from pydantic import Field
from typing_extensions import override

from loopguard_core import LoopGuard
from loopguard_core.errors import checked

from ._replay import CallUnderway, RunSource

__all__ = ["GuardedTool", "guard_tools"]

_STATE: Final = "loopguard_state"
"""The argument that `ToolNode` fills with the graph's state; no model and no tool sees it."""


def guard_tools(
    tools: Iterable[BaseTool | Callable[..., Any]],
    *,
    guard: LoopGuard | None = None,
    messages_key: str = "messages",
) -> list[BaseTool]:
    """Return guarded copies of *tools*, to be given to a `ToolNode` or to be called by hand.

    A call that loops is not executed: its result is the guidance, marked as an error. A warning
    is appended to the result that it is about. Tools alone cannot end a run, so a halt is one
    more blocked call: `LoopGuardMiddleware` and `LoopGuardCallbackHandler` stop runs.
    `on_block="ask"` acts like `"tell"`.

    In a graph, the run is what the state's messages say since a person last spoke. Without one,
    all copies of one `guard_tools` call share one run, from any thread: call it for each run.

    Args:
        tools: Tools, or functions that become tools as the `tool` decorator makes them. The
            originals are not changed.
        guard: What is watched for and what is done about it; None is `LoopGuard()`.
        messages_key: Where the graph's state holds its messages, as given to `ToolNode`. A state
            without it counts as no graph.
    """
    source = RunSource(checked("guard", guard, LoopGuard), messages_key)
    return [_guarded(one if isinstance(one, BaseTool) else tool(one), source) for one in tools]


class GuardedTool(BaseTool):
    """A tool whose calls are judged before they run, and whose results after."""

    inner: BaseTool = Field(repr=False, exclude=True)
    source: Any = Field(repr=False, exclude=True)
    func: Callable[..., Any] = Field(repr=False, exclude=True)
    """Never called: `ToolNode` reads from its annotations what to inject."""

    @override
    def run(
        self,
        tool_input: str | dict[str, Any],
        *args: Any,
        tool_call_id: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run the tool, unless the guard blocks the call."""
        given, call = self._open(tool_input, tool_call_id)
        if call.is_blocked:
            return call.refusal()
        with call.watched():
            output = self.inner.run(given, *args, tool_call_id=tool_call_id, **kwargs)
        return call.answered(output)

    @override
    async def arun(
        self,
        tool_input: str | dict[str, Any],
        *args: Any,
        tool_call_id: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run the tool, unless the guard blocks the call."""
        given, call = self._open(tool_input, tool_call_id)
        if call.is_blocked:
            return call.refusal()
        with call.watched():
            output = await self.inner.arun(given, *args, tool_call_id=tool_call_id, **kwargs)
        return call.answered(output)

    @override
    def _run(self, **kwargs: Any) -> Any:
        return self.run(kwargs)

    def _open(
        self, tool_input: str | dict[str, Any], call_id: str | None
    ) -> tuple[str | dict[str, Any], CallUnderway]:
        """Take the state out of the arguments, and judge the call."""
        if isinstance(tool_input, str):
            return tool_input, self.source.open(self.name, tool_input, call_id, None)
        given = {key: value for key, value in tool_input.items() if key != _STATE}
        return given, self.source.open(self.name, given, call_id, tool_input.get(_STATE))


def _guarded(inner: BaseTool, source: RunSource) -> GuardedTool:
    same = {name: getattr(inner, name) for name in BaseTool.model_fields if name != "args_schema"}
    return GuardedTool(
        **same,
        args_schema=_schema_of(inner),
        inner=inner,
        source=source,
        func=_declaration(inner),
    )


def _schema_of(inner: BaseTool) -> ArgsSchema:
    """Return what the model is told about the arguments."""
    if inner.args_schema is not None:
        return inner.args_schema
    if isinstance(inner, Tool):  # its one argument has a name that only the conversion knows
        schema: dict[str, Any] = convert_to_openai_tool(inner)["function"]["parameters"]
        return schema
    return inner.get_input_schema()


def _declaration(inner: BaseTool) -> Callable[..., Any]:
    """Return a function that asks for what *inner* has injected, and for the state."""
    asking = getattr(inner, "func", None) or getattr(inner, "coroutine", None)

    def declared() -> None: ...

    # First, so that a graph whose state is a bare list can be injected as well.
    declared.__annotations__ = {
        _STATE: Annotated[Any, InjectedState],
        **(get_type_hints(asking, include_extras=True) if asking is not None else {}),
    }
    return declared

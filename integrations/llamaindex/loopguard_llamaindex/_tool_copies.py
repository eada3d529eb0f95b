"""Copies of tools that do something around their tool, and are otherwise that tool.

A copy is an instance of a subclass of its tool's own class, with the same attributes: the
framework looks at the class before it injects a context, and at many attributes.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from llama_index.core.tools import AsyncBaseTool, BaseTool, FunctionTool
from llama_index.core.tools.types import adapt_to_async_tool

from loopguard_core import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextvars import ContextVar

__all__ = ["as_tool", "copy_of", "given_by_model", "marked", "tools_in"]


def tools_in(tools: Iterable[BaseTool | Callable[..., Any]]) -> list[AsyncBaseTool]:
    """Return the tools that a caller passed, as agents make them.

    Raises:
        InvalidInputError: *tools* is no collection, or something in it is no tool or function.
    """
    passed: object = tools
    if isinstance(passed, str) or not isinstance(passed, Iterable):
        raise InvalidInputError("tools", passed, "tools or functions")
    given = list(tools)
    for at, tool in enumerate(given):
        if not (isinstance(tool, BaseTool) or callable(tool)):
            raise InvalidInputError(f"tools[{at}]", tool, "a tool or a function")
    return [as_tool(tool) for tool in given]


def as_tool(tool: BaseTool | Callable[..., Any]) -> AsyncBaseTool:
    """Return a tool as agents make it of a tool or a function."""
    known = tool if isinstance(tool, BaseTool) else FunctionTool.from_defaults(tool)
    return adapt_to_async_tool(known)


def copy_of(tool: AsyncBaseTool, around: type, beside: Mapping[str, object]) -> BaseTool:
    """Return a copy of *tool*; one that was copied like that before gets the new attributes.

    Args:
        tool: The tool; it is not changed.
        around: What the copy does before its own class.
        beside: Attributes of the copy's class.
    """
    kind = type(tool)
    bases = (kind,) if issubclass(kind, around) else (around, kind)
    name = f"{around.__name__.removesuffix('Tool')}{kind.__name__}"
    copy: BaseTool = object.__new__(type(name, bases, {**beside, "__module__": kind.__module__}))
    copy.__dict__.update(vars(tool))
    return copy


def given_by_model(tool: BaseTool, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments without what the framework injects."""
    injected = tool.ctx_param_name if isinstance(tool, FunctionTool) else None
    return {key: value for key, value in kwargs.items() if key != injected}


@contextmanager
def marked(underway: ContextVar[object], tool: BaseTool) -> Iterator[None]:
    """Mark that *tool* runs: one half of many tools runs the other half, which is no call."""
    token = underway.set(tool)
    try:
        yield
    finally:
        underway.reset(token)

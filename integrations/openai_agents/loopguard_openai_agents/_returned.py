"""What tools returned in a run, whatever an input filter makes of it on its way to the model.

Hooks are told of each result as it came; the input that a model is shown may hold it cut, as a
stub, or not at all, and results that differ only where they were cut would look equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from agents import FunctionTool
from agents.tool_context import ToolContext

from loopguard_core.agent import is_shortened
from loopguard_core.fingerprint import digest

from ._items import field, result_in

if TYPE_CHECKING:
    from agents import RunContextWrapper, Tool

__all__ = ["Returned"]

_MISSING: Final = object()


class Returned:
    """The results of one run by the ids of their calls; the newest one of an id counts."""

    def __init__(self) -> None:
        self._results: dict[str, object] = {}

    @staticmethod
    def call_id(context: RunContextWrapper[Any], tool: Tool) -> str | None:
        """Return the call that a hook for the end of a tool is about; None if it does not say."""
        if isinstance(context, ToolContext) and isinstance(tool, FunctionTool):
            return context.tool_call_id
        return None

    def keep(self, call_id: str, result: object) -> None:
        """Keep what a tool returned; what is no text is compared by its digest."""
        self._results[call_id] = str(result) if isinstance(result, str) else digest(result)

    def has(self, call_id: str | None) -> bool:
        """Return True if the result of a call is known."""
        return call_id in self._results

    def of(self, call_id: str | None, item: object = None) -> object:
        """Return the result of a call.

        Args:
            call_id: The call.
            item: The output item that answers it, where hooks told nothing. One that was
                shortened does not say whether it is new, so it equals no other.
        """
        known = self._results.get(call_id or "", _MISSING)
        if known is not _MISSING:
            return known
        result = result_in(item)
        if isinstance(field(item, "output"), str) and is_shortened(str(result)):
            return {"shortened": call_id}
        return result

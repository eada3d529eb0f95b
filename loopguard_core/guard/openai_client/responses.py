"""Streamed responses: `ResponseReading` and what an event says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard_core.guard.streams import is_cut
from loopguard_core.guard.verdict import Action

from .reading import fields_of, string_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from loopguard_core.guard.config import LoopGuard

__all__ = ["ResponseReading"]

_CHANNELS: Final = {
    "response.output_text.delta": "content",
    "response.refusal.delta": "refusal",
    "response.reasoning_text.delta": "reasoning",
    # A summary tells what the reasoning said: together they would be said twice.
    "response.reasoning_summary_text.delta": "reasoning summary",
}
_WRITTEN: Final = frozenset(
    {
        "response.function_call_arguments.delta",
        "response.custom_tool_call_input.delta",
        "response.mcp_call_arguments.delta",
        "response.code_interpreter_call_code.delta",
        "response.shell_call_command.delta",
    }
)
"""Events that bring a piece of what a tool is given."""

_CALLS: Final = {"function_call": "arguments", "custom_tool_call": "input"}
"""Items that are a whole call, with the field that holds what the tool is given.

Calls that the provider runs itself are none of them: their results come within the response, and
the same call may well bring another one.
"""


class ResponseReading:
    """Reads the events of one response."""

    def __init__(self, guard: LoopGuard, request: Mapping[str, object]) -> None:  # noqa: ARG002 - a `NewReading`
        self.watch = guard.start_run().watch_reply()

    def take(self, piece: object) -> bool:
        """Read an event; whole items say again what came in pieces, so only calls count there."""
        event = fields_of(piece)
        kind = string_of(event, "type")
        if kind == "response.output_item.done":
            return self._takes_item(fields_of(event.get("item")))
        channel = _CHANNELS.get(kind)
        if kind in _WRITTEN:
            channel = f"tool:{event.get('output_index')}"
        return channel is not None and is_cut(self.watch, [(channel, string_of(event, "delta"))])

    def _takes_item(self, item: Mapping[str, object]) -> bool:
        written = _CALLS.get(string_of(item, "type"))
        if written is None:
            return False
        verdict = self.watch.feed_call(string_of(item, "name"), string_of(item, written))
        return verdict.action is Action.HALT

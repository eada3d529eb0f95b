"""Tool calls while they arrive in fragments, each watched for repetition.

Source: agent specification, sections 8 and 18.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from loopguard_core.agent.chat import ToolCall
from loopguard_core.reply import ExactConfig, ExactFinding, ExactRepetition

from .events import argument_text, fields_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OpenCalls"]


@dataclass(slots=True)
class _OpenCall:
    watch: ExactRepetition
    id: str = ""
    name: str = ""
    type: str = ""
    arguments: list[str] = field(default_factory=list)

    def add(self, text: str) -> ExactFinding | None:
        """Take a piece of the arguments; a finding names the tool, as far as it has a name."""
        self.arguments.append(text)
        finding = self.watch.feed(text)
        if finding is None:
            return None
        whose = f"tool:{self.name}" if self.name else "tool"
        return replace(finding, where=f"{whose} arguments")

    def closed(self) -> ToolCall:
        text = "".join(self.arguments)
        return ToolCall(self.id, self.name, text, self.type or "function")


class OpenCalls:
    """The calls of one reply, in the order in which they first appeared.

    A fragment belongs to the call of its index. One without an index counts by its place among
    the fragments of its event. Some servers give all their calls one index: a fragment with
    another id and a name begins another call there.

    Args:
        repetition: Thresholds of the watch over each call's arguments.
    """

    __slots__ = ("_at_index", "_calls", "_repetition")

    def __init__(self, repetition: ExactConfig) -> None:
        self._repetition = repetition
        self._calls: list[_OpenCall] = []
        self._at_index: dict[int, _OpenCall] = {}

    def __len__(self) -> int:
        """Return how many calls are open."""
        return len(self._calls)

    def add(self, fragment: Mapping[str, object], place: int, payload: str) -> ExactFinding | None:
        """Take a fragment.

        Args:
            fragment: One of the `tool_calls` of a delta.
            place: Its place among them, from 0.
            payload: The event that it came with.

        Returns:
            What goes round in the call's arguments, if something does.
        """
        function = fields_of(fragment.get("function"))
        index = fragment.get("index")
        name, call_id = _text(function, "name"), _text(fragment, "id")
        call = self._call_at(index if isinstance(index, int) else place, call_id, name)
        call.id = call.id or call_id
        call.type = call.type or _text(fragment, "type")
        if name != call.name:  # some servers say the name with every fragment
            call.name += name
        return call.add(argument_text(function.get("arguments"), payload))

    def take(self) -> tuple[ToolCall, ...]:
        """Return the calls as far as they came, and forget them."""
        calls = tuple(call.closed() for call in self._calls)
        self._calls.clear()
        self._at_index.clear()
        return calls

    def _call_at(self, index: int, call_id: str, name: str) -> _OpenCall:
        call = self._at_index.get(index)
        if call is None or (name and call_id and call.id and call_id != call.id):
            call = self._at_index[index] = _OpenCall(ExactRepetition(self._repetition))
            self._calls.append(call)
        return call


def _text(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""

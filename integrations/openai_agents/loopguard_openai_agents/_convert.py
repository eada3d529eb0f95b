"""Items of the Responses protocol as neutral messages, one for one; nothing here decides.

An item is converted where it is read, so a thread that grows is not converted anew at every step,
and a position in the neutral thread is the same position in the native one: the way back is never
a conversion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, overload

from typing_extensions import override

from loopguard_core import Message
from loopguard_core.fingerprint import canonical
from loopguard_core.guard.guidance import without_guidance
from loopguard_core.message import activity_of
from loopguard_core.tokens import written

from ._items import (
    call_in,
    content_of,
    field,
    hosted_result,
    is_hosted,
    is_output,
    kind,
    plain,
    result_in,
    thought,
)
from ._returned import Returned

__all__ = ["NATIVE", "NeutralThread"]

NATIVE: Final = "openai_agents"
"""The key under which a neutral message carries the item it was made from."""

_ROLES: Final = {"user": "user", "assistant": "bot", "system": "system", "developer": "system"}
# Kinds that a reply may hold and that are not read here.
_SAID_BY_MODEL: Final = frozenset({"program", "mcp_list_tools", "mcp_approval_request"})


class NeutralThread(Sequence[Message]):
    """The neutral reading of a list of items.

    Args:
        items: The thread, oldest first. It must not change while this view is in use.
        stop: How many of the items count; None takes all.
        as_sent: True reads it to be priced and trimmed: texts as a model gets them, and calls
            that the provider executed as one opaque message each, which no result answers.
        before: The reading of the same thread one step ago; what it read need not be read again.
        returned: What tools returned, which the items may no longer say.
    """

    def __init__(
        self,
        items: Sequence[object],
        *,
        stop: int | None = None,
        as_sent: bool = False,
        before: NeutralThread | None = None,
        returned: Returned | None = None,
    ) -> None:
        self._items = items
        self._stop = len(items) if stop is None else stop
        self._as_sent = as_sent
        self._returned = Returned() if returned is None else returned
        self._known = before._read if before is not None else {}  # noqa: SLF001 - its own class
        self._read: dict[int, Message] = {}

    @override
    def __len__(self) -> int:
        return self._stop

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    @override
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        if isinstance(index, slice):
            return [self._message(position) for position in range(self._stop)[index]]
        return self._read.get(index) or self._message(range(self._stop)[index])

    @override
    def __iter__(self) -> Iterator[Message]:
        return map(self._message, range(self._stop))

    def _message(self, position: int) -> Message:
        item = self._items[position]
        message = self._read.get(position)
        if message is None:
            message = self._known.get(position)
            if message is None or message[NATIVE] != item:
                message = self._convert(item, position)
                message[NATIVE] = item
            self._read[position] = message
        return message

    def _convert(self, item: object, position: int) -> Message:
        match kind(item):
            case "message":
                return self._spoken(item)
            case "reasoning":
                return Message.reasoning(thought(item))
            case _ if is_output(item):
                return self._response(item, position)
            case _:
                return self._called(item)

    def _called(self, item: object) -> Message:
        hosted = is_hosted(item)
        call = None if hosted and self._as_sent else call_in(item, as_sent=self._as_sent)
        if call is None:
            return self._opaque(item)
        result = hosted_result(item) if hosted else None
        if result is None:
            message = Message.tool_request(call.name, call.arguments, call.call_id)
        else:
            message = Message.tool_response(
                call.name, call.arguments, result[0], call.call_id, is_error=result[1]
            )
        if hosted:
            message["hosted"] = True
        return message

    def _spoken(self, item: object) -> Message:
        content = content_of(field(item, "content"))
        text = content.text if self._as_sent else without_guidance(content.text)
        message = Message(type=_ROLES.get(str(field(item, "role")), "other"), text=text)
        if content.kinds:
            message["blocks"] = list(content.kinds)
            message["meta"] = {"blocks": list(content.identity)}
        return message

    def _opaque(self, item: object) -> Message:
        """Keep what is not read here as a message that differs where the item differs.

        A compaction at the head stays as a system message does. What a model said is its message
        when it is trimmed, so that reasoning in front of it stays with it.
        """
        content, name = plain(item), kind(item)
        if isinstance(content, dict):
            content = {key: value for key, value in content.items() if key != "id"}
        if self._as_sent and name == "compaction":
            name = "system"
        elif self._as_sent and (is_hosted(item) or name in _SAID_BY_MODEL):
            name = "bot"
        return Message(type=name, text=written(content) if self._as_sent else canonical(content))

    def _response(self, item: object, position: int) -> Message:
        call_id = field(item, "call_id")
        known = call_id if isinstance(call_id, str) else None
        # with its notes: the core tells a refusal by them
        result = result_in(item) if self._as_sent else self._returned.of(known, item)
        name, arguments = self._call(known, position)
        message = Message.tool_response(name, arguments, result, known)
        if isinstance(result, list) and self._as_sent:
            message["blocks"] = list(content_of(field(item, "output")).kinds)
        return message

    def _call(self, call_id: str | None, before: int) -> tuple[str, object]:
        """Find the nearest earlier call with *call_id*: providers reuse ids in later turns."""
        for position in range(before - 1, -1, -1):
            item = self._items[position]
            if field(item, "call_id") == call_id and not is_output(item):
                call = activity_of(self._message(position))
                return (call.name, call.arguments) if call is not None else ("", None)
        return "", None

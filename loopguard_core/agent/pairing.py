"""Calls and results brought together, as strict providers demand.

A fold, an arrival while tools ran, or a crash can part a call from its result. A provider refuses
the whole request then. Source: agent specification, quirks Q11 and Q15.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from .chat import ChatMessage, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["UNANSWERED", "repair_pairs"]

UNANSWERED: Final = (
    "No result was recorded for this call. It may or may not have run: check before you repeat it."
)
"""What answers a call that nothing else answers."""


@dataclass(slots=True)
class _Round:
    """An assistant message, and the results of its calls as they are found.

    Args:
        message: The message.
        results: For each of its calls the results, oldest first.
    """

    message: ChatMessage
    results: list[list[ChatMessage]] = field(default_factory=list)

    def answered(self) -> Iterator[ChatMessage]:
        """Yield the message and one result for each call, under one id that is theirs alone."""
        taken: set[str] = set()
        calls: list[ToolCall] = []
        answers: list[ChatMessage] = []
        for at, (call, results) in enumerate(
            zip(self.message.tool_calls, self.results, strict=True)
        ):
            # Of several results that the model saw none of, the last counts.
            answer = results[-1] if results else ChatMessage(role="tool", content=UNANSWERED)
            call_id = _unused(call.id or answer.tool_call_id or f"call_{at}", taken)
            taken.add(call_id)
            calls.append(call if call.id == call_id else replace(call, id=call_id))
            same = answer.tool_call_id == call_id
            answers.append(answer if same else replace(answer, tool_call_id=call_id))
        same_calls = tuple(calls) == self.message.tool_calls
        yield self.message if same_calls else replace(self.message, tool_calls=tuple(calls))
        yield from answers


def repair_pairs(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return the messages so that each call is answered right behind it, exactly once.

    * What stands between a call and its result comes behind the result.
    * A result belongs to the nearest earlier call with its id. A second one takes the place of the
      first, unless the model has spoken since. Then it has read the first, such as "pending", and
      what has come of it is news: a user message that carries the call's id (quirk Q15).
    * A result without a call becomes a user message that says so; a call without one is answered
      with `UNANSWERED`. Calls without an id are answered in their order, and get an id.

    Nothing else is changed, and a second time changes nothing. Only for native calls: those that
    are written as text have no pairs.
    """
    pairs = _Pairs()
    for message in messages:
        pairs.take(message)
    return list(_flattened(pairs.slots))


_Place: TypeAlias = tuple[_Round, int]
"""One call: its message, and which of the message's calls it is."""


class _Pairs:
    """What has been read of a thread, and the calls that results may still belong to."""

    def __init__(self) -> None:
        self.slots: list[ChatMessage | _Round] = []
        self._called: dict[str, list[_Place]] = {}  # nothing for an id that is done with
        self._nameless: list[_Place] = []
        self._unread: set[str] = set()

    def take(self, message: ChatMessage) -> None:
        """Read the next message."""
        if message.role == "assistant":
            self._read()
        if message.tool_calls:
            self._wait(_Round(message, [[] for _ in message.tool_calls]))
        elif message.role != "tool":
            self.slots.append(message)
        elif not self._answers(message):
            self.slots.append(self._notice(message))

    def _read(self) -> None:
        """Be done with the calls whose results the model has read, now that it speaks."""
        for call_id in self._unread:
            if all(map(_results, self._called[call_id])):
                self._called[call_id] = []
        self._unread.clear()

    def _wait(self, turn: _Round) -> None:
        self.slots.append(turn)
        named: defaultdict[str, list[_Place]] = defaultdict(list)  # one id can name several calls
        for at, call in enumerate(turn.message.tool_calls):
            named[call.id].append((turn, at))
        self._nameless = named.pop("", [])
        self._called.update(named)

    def _answers(self, result: ChatMessage) -> bool:
        """Give *result* to its call, and say whether it has one."""
        call_id = result.tool_call_id
        places = self._called.get(call_id)
        if places is None and self._nameless:
            places = [self._nameless.pop(0)]
            if call_id:  # another result under this id answers the same call
                self._called[call_id] = places
        if not places:
            return False
        turn, at = next((place for place in places if not _results(place)), places[-1])
        turn.results[at].append(result)
        if call_id:
            self._unread.add(call_id)
        return True

    def _notice(self, result: ChatMessage) -> ChatMessage:
        """Say what a result is that cannot stand with a call: of one above, or of none."""
        call_id = result.tool_call_id
        known = f" {call_id}" if call_id in self._called else ""
        return ChatMessage(role="user", content=f"[tool_result{known}] {result.content}")


def _results(place: _Place) -> list[ChatMessage]:
    turn, at = place
    return turn.results[at]


def _unused(call_id: str, taken: set[str]) -> str:
    if call_id not in taken:
        return call_id
    number = 2
    while f"{call_id}_{number}" in taken:
        number += 1
    return f"{call_id}_{number}"


def _flattened(slots: Iterable[ChatMessage | _Round]) -> Iterator[ChatMessage]:
    for slot in slots:
        if isinstance(slot, _Round):
            yield from slot.answered()
        else:
            yield slot

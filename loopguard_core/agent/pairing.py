"""Calls and results brought together, as strict providers demand.

A fold, an arrival while tools ran, or a crash can part a call from its result. A provider refuses
the whole request then. Source: agent specification, quirks Q11 and Q15.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

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
            # Of several results the last counts: the first of a lifted call only says "pending".
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
    * A result belongs to the nearest earlier call with its id. Of several, the newest takes the
      place of the first, as when a call that was answered with "pending" is done (quirk Q15).
    * A result without a call becomes a user message that says so; a call without one is answered
      with `UNANSWERED`. Calls without an id are answered in their order, and get an id.

    Nothing else is changed, and a second time changes nothing. Only for native calls: those that
    are written as text have no pairs.
    """
    slots: list[ChatMessage | _Round] = []
    waiting: dict[str, list[tuple[_Round, int]]] = {}
    nameless: list[tuple[_Round, int]] = []
    for message in messages:
        if message.tool_calls:
            turn = _Round(message, [[] for _ in message.tool_calls])
            slots.append(turn)
            places = [(turn, at) for at in range(len(message.tool_calls))]
            nameless = [place for place in places if not message.tool_calls[place[1]].id]
            waiting.update(_by_id(places))
        elif message.role != "tool":
            slots.append(message)
        elif not _place(message, waiting, nameless):
            slots.append(_orphan(message))
    return list(_flattened(slots))


def _by_id(places: Iterable[tuple[_Round, int]]) -> dict[str, list[tuple[_Round, int]]]:
    """Sort the calls of one message by id; a model can give one id to several."""
    named: defaultdict[str, list[tuple[_Round, int]]] = defaultdict(list)
    for turn, at in places:
        if call_id := turn.message.tool_calls[at].id:
            named[call_id].append((turn, at))
    return dict(named)


def _place(
    result: ChatMessage,
    waiting: dict[str, list[tuple[_Round, int]]],
    nameless: list[tuple[_Round, int]],
) -> bool:
    """Give *result* to its call, and say whether it has one."""
    places = waiting.get(result.tool_call_id)
    if places is None and nameless:
        places = [nameless.pop(0)]
        if result.tool_call_id:  # a later result under this id answers the same call
            waiting[result.tool_call_id] = places
    if not places:
        return False
    turn, at = next((place for place in places if not _results(place)), places[-1])
    turn.results[at].append(result)
    return True


def _results(place: tuple[_Round, int]) -> list[ChatMessage]:
    turn, at = place
    return turn.results[at]


def _orphan(result: ChatMessage) -> ChatMessage:
    return ChatMessage(role="user", content=f"[tool_result] {result.content}")


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

"""Calls and results of a thread brought together, by position (quirk Q11)."""

from __future__ import annotations

import itertools
from operator import itemgetter
from typing import TYPE_CHECKING

from loopguard_core.agent.pairing import UNANSWERED
from loopguard_core.message import Message, activity_of, type_of

from .entries import sent_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from loopguard_core.thread import Exchange

__all__ = ["paired"]


def paired(
    messages: Sequence[Mapping[str, object]],
    units: Sequence[Exchange],
    texts: Mapping[int, str],
) -> tuple[int | Message, ...]:
    """Return the positions in the order in which a provider takes them.

    What stands between a call and its result comes behind it. A second result of a call takes the
    place of the first, unless the model has spoken since: then it is news, and a user message
    (quirk Q15). So is a result without a call, and a call without a result is answered.

    Args:
        messages: The thread.
        units: Its exchanges, in order.
        texts: What is shown in the place of texts, by position.
    """
    placed: list[tuple[int, list[int | Message]]] = []
    for unit in units:
        late = set(unit.positions if unit.is_orphan else _late(messages, unit))
        for at in sorted(late):
            label = "" if unit.is_orphan else f" {_answered(messages[at])}"
            text = texts.get(at, sent_text(messages[at]))
            placed.append((at, [Message.user(f"[tool_result{label}] {text}")]))
        if not unit.is_orphan:
            placed.append((unit.start, list(_unit(messages, unit, late))))
    placed.sort(key=itemgetter(0))
    return tuple(itertools.chain.from_iterable(pieces for _, pieces in placed))


def _is_said(message: Mapping[str, object]) -> bool:
    """Return True for what a model says: a text or a call."""
    activity = activity_of(message)
    return type_of(message) == "bot" if activity is None else activity.type == "request"


def _late(messages: Sequence[Mapping[str, object]], unit: Exchange) -> Iterator[int]:
    """Yield the positions of results that come again after the model has read the first."""
    first: dict[str, int] = {}
    for at, message in zip(unit.positions, unit.messages, strict=True):
        if call_id := _answered(message):
            before = first.setdefault(call_id, at)
            if any(_is_said(messages[between]) for between in range(before + 1, at)):
                yield at


def _unit(
    messages: Sequence[Mapping[str, object]], unit: Exchange, late: set[int]
) -> Iterator[int | Message]:
    newest = {
        _answered(message) or at: at
        for at, message in zip(unit.positions, unit.messages, strict=True)
        if at not in late
    }
    kept = set(newest.values())
    yield from (at for at in unit.positions if at in kept)
    for open_call in unit.open_calls:
        at = _position_of(unit, open_call)
        activity = None if at is None else activity_of(messages[at])
        if activity is not None and isinstance(open_call, str):
            yield Message.tool_response(
                activity.name, activity.arguments, UNANSWERED, open_call, is_error=True
            )


def _answered(message: Mapping[str, object]) -> str:
    """Return the id of the call that *message* is a result of; empty if it is none."""
    activity = activity_of(message)
    call_id = message.get("call_id")
    is_result = activity is not None and activity.type == "response"
    return call_id if is_result and isinstance(call_id, str) else ""


def _position_of(unit: Exchange, call: str | int) -> int | None:
    if isinstance(call, int):
        return call
    for at, message in zip(unit.positions, unit.messages, strict=True):
        if message.get("call_id") == call:
            return at
    return None

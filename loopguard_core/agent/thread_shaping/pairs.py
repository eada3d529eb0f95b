"""Calls and results of a thread brought together, by position (quirk Q11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_core.agent.pairing import UNANSWERED
from loopguard_core.message import Message, activity_of

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

    What stands between a call and its result comes behind it. Of several results of one call the
    newest takes the place of all. A result without a call becomes a user message, and a call
    without one is answered.

    Args:
        messages: The thread.
        units: Its exchanges, in order.
        texts: What is sent in the place of texts, by position.
    """
    sent: list[int | Message] = []
    for unit in units:
        sent += _orphans(unit, texts) if unit.is_orphan else _unit(messages, unit)
    return tuple(sent)


def _orphans(unit: Exchange, texts: Mapping[int, str]) -> Iterator[Message]:
    for at, message in zip(unit.positions, unit.messages, strict=True):
        yield Message.user(f"[tool_result] {texts.get(at, sent_text(message))}")


def _unit(messages: Sequence[Mapping[str, object]], unit: Exchange) -> Iterator[int | Message]:
    newest = {
        _answered(message) or at: at
        for at, message in zip(unit.positions, unit.messages, strict=True)
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

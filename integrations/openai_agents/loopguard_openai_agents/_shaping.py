"""What is sent of a thread, as items: the same objects, or copies cut short."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from loopguard_core.agent.thread_shaping import NativePiece
from loopguard_core.message import Message, activity_of, text_of

from ._closing import answer_to
from ._convert import NATIVE, NeutralThread
from ._items import field, kind
from ._notes import user_note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents import TResponseInputItem

    from loopguard_core.agent.thread_shaping import ThreadShape

__all__ = ["folded", "neutral", "sent_items", "summary_at_head"]

_SUMMARY: Final = "[compacted]\n"


def neutral(items: Sequence[TResponseInputItem]) -> list[Message]:
    """Return the neutral reading of *items*, the summaries of folds marked as such."""
    messages = list(NeutralThread(items, as_sent=True))
    for message in messages:
        if message["type"] == "user" and text_of(message).startswith(_SUMMARY):
            message["compacted"] = True
    return messages


def sent_items(
    items: Sequence[TResponseInputItem], messages: Sequence[Message], shape: ThreadShape
) -> list[TResponseInputItem]:
    """Return what is sent of *items*; what is not cut short is the very same object."""
    kinds = {message.get("call_id"): kind(message[NATIVE]) for message in messages}
    sent: list[TResponseInputItem] = []
    for piece in shape.natives(lambda position: position):
        if isinstance(piece, NativePiece):
            sent.append(_shortened(items[piece.index], next(iter(piece.texts.values()), None)))
        else:
            sent += _made(piece, kinds)
    return sent


def folded(
    items: Sequence[TResponseInputItem], fold: Sequence[int], text: str
) -> list[TResponseInputItem]:
    """Return *items* with a summary in the place of those at the positions of *fold*."""
    gone = set(fold)
    return [
        user_note(text) if position == fold[0] else item
        for position, item in enumerate(items)
        if position == fold[0] or position not in gone
    ]


def summary_at_head(items: Sequence[object]) -> str:
    """Return the summary that a thread begins with, behind system messages; empty for none."""
    for item in items:
        if field(item, "role") in {"system", "developer"}:
            continue
        content = field(item, "content")
        is_summary = isinstance(content, str) and content.startswith(_SUMMARY)
        return str(content) if is_summary and field(item, "role") == "user" else ""
    return ""


def _shortened(item: TResponseInputItem, text: str | None) -> TResponseInputItem:
    """Return a copy of *item* with a shorter text; arguments, parts and opaque items stay."""
    key = "output" if isinstance(field(item, "output"), str) else "content"
    if text is None or not isinstance(field(item, key), str):
        return item
    edited = {**cast("dict[str, object]", item), key: text}
    return cast("TResponseInputItem", edited)


def _made(message: Message, kinds: dict[object, str]) -> list[TResponseInputItem]:
    """Make what answers a call without a result, or stands for a result without a call."""
    activity = activity_of(message)
    if activity is None:
        return [user_note(text_of(message))]
    call_id = str(message["call_id"])
    answer = answer_to(kinds.get(call_id, ""), call_id, str(activity.result))
    return [] if answer is None else [answer]

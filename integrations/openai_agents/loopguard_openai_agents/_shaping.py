"""What is sent of a thread, as items: the same objects, or copies cut short."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from loopguard_core.agent.thread_shaping import NativePiece
from loopguard_core.message import Message, activity_of, text_of
from loopguard_core.tokens import written

from ._closing import answer_to
from ._convert import NeutralThread
from ._edits import edited
from ._items import call_in, field, is_passed_through, kind, plain
from ._notes import user_note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents import TResponseInputItem

    from loopguard_core.agent.thread_shaping import ThreadShape

__all__ = ["folded", "neutral", "sent_items", "summary_at_head"]

_SUMMARY: Final = "[compacted]\n"


def neutral(items: Sequence[TResponseInputItem]) -> list[Message]:
    """Return the neutral reading of *items*, marked with what may be done to them.

    Summaries of folds are marked as such. What the server made sense of alone is pinned, as is what
    a developer says. What has no text of its own that could be another is sealed.
    """
    thread = NeutralThread(items, as_sent=True)
    messages = [_priced_as_text(*pair) for pair in zip(items, thread, strict=True)]
    for item, message in zip(items, messages, strict=True):
        if message["type"] == "user" and text_of(message).startswith(_SUMMARY):
            message["compacted"] = True
        elif message["type"] == "system" or is_passed_through(item):
            message["pinned"] = True
        elif edited(item, "") is item:
            message["sealed"] = True
    return messages


def _priced_as_text(item: TResponseInputItem, message: Message) -> Message:
    """Return a result of several parts as the text that it holds; pictures are priced apart.

    What a shell wrote is text, though in parts of a kind of its own.
    """
    activity = activity_of(message)
    if isinstance(screen := field(item, "output"), Mapping):
        message["blocks"] = [kind(screen)]
    if activity is None or not isinstance(activity.result, list):
        return message
    call_id = message.get("call_id")
    is_shell = kind(item) == "shell_call_output"
    priced = Message.tool_response(
        activity.name,
        activity.arguments,
        written(plain(field(item, "output"))) if is_shell else activity.result[0],
        call_id if isinstance(call_id, str) else None,
    )
    priced["blocks"] = [] if is_shell else message.get("blocks", [])
    return priced


def sent_items(items: Sequence[TResponseInputItem], shape: ThreadShape) -> list[TResponseInputItem]:
    """Return what is sent of *items*; what is not cut short is the very same object."""
    sent: list[TResponseInputItem] = []
    for piece in shape.natives(lambda position: position):
        if isinstance(piece, NativePiece):
            text = next(iter(piece.texts.values()), None)
            item = items[piece.index]
            sent.append(item if text is None else edited(item, text))
        else:
            sent += _made(piece, sent)
    return sent


def folded(
    items: Sequence[TResponseInputItem], fold: Sequence[int], text: str
) -> list[TResponseInputItem]:
    """Return *items* with a summary in the place of those at the positions of *fold*.

    It stands where the first of them was, but behind a compaction, before which nothing counts.
    """
    taken = range(fold[-1])
    newest = max((at for at in taken if kind(items[at]) == "compaction"), default=-1)
    place = next(position for position in fold if position > newest)
    gone = set(fold)
    return [
        user_note(text) if position == place else item
        for position, item in enumerate(items)
        if position == place or position not in gone
    ]


def summary_at_head(items: Sequence[object]) -> str:
    """Return the summary that a thread begins with; empty for none.

    Before it stands only what a fold leaves: what people and developers say, and what is passed
    through. So a thread without a fold is read up to its first reply.
    """
    for item in items:
        if field(item, "role") == "user":
            content = field(item, "content")
            if isinstance(content, str) and content.startswith(_SUMMARY):
                return content
        elif field(item, "role") not in {"system", "developer"} and not is_passed_through(item):
            break
    return ""


def _made(message: Message, sent: Sequence[TResponseInputItem]) -> list[TResponseInputItem]:
    """Make what answers a call without a result, or stands for a result without a call.

    Args:
        message: What is to be made.
        sent: The items before it; an id that came more than once is that of the newest call.
    """
    activity = activity_of(message)
    if activity is None:
        return [user_note(text_of(message))]
    for item in reversed(sent):
        call = call_in(item, as_sent=True)
        if call is not None and call.call_id == message["call_id"]:
            answer = answer_to(kind(item), str(call.call_id), str(activity.result))
            return [] if answer is None else [answer]
    return []

"""A neutral message as an entry, so that one plan serves sessions and frameworks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard_core.agent.entries import Entry, EntryKind
from loopguard_core.message import ABSENT, activity_of, text_of, type_of
from loopguard_core.tokens import written

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["COMPACTED", "entry_of", "sent_text"]

COMPACTED: Final = "compacted"
"""The key that is True on the neutral message of an earlier fold's summary."""

_KINDS: Final = {"user": EntryKind.USER, "bot": EntryKind.ASSISTANT}
_ACTIVITIES: Final = {"request": EntryKind.TOOL_CALL, "response": EntryKind.TOOL_RESULT}


def entry_of(message: Mapping[str, object], position: int, *, is_sealed: bool = False) -> Entry:
    """Return a neutral message as an entry.

    A message that is neither a person's, a model's nor a tool's keeps its type as its kind. Calls
    and results are labelled with their tool, for whoever summarises them.

    Args:
        message: The message.
        position: Where it stands in its thread; its time, and its id where it has none.
        is_sealed: True leaves its text out, so that no plan can shorten it.
    """
    activity = activity_of(message)
    call_id = message.get("call_id")
    if message.get(COMPACTED) is True:
        kind: str = EntryKind.COMPACTION
    elif activity is not None:
        kind = _ACTIVITIES.get(activity.type, activity.type)
    else:
        kind = _KINDS.get(type_of(message), type_of(message))
    return Entry.model_construct(
        kind=kind,
        id=call_id if isinstance(call_id, str) and call_id else str(position),
        content="" if is_sealed else sent_text(message),
        tool_call_id=call_id if isinstance(call_id, str) else "",
        tool_name="" if activity is None else activity.name,
        parts=(),
        usage=None,
        tag="" if activity is None else f"{kind} {activity.name}",
        origin="",
        created_at=position,
    )


def sent_text(message: Mapping[str, object]) -> str:
    """Return the text that a model is sent: what is said, the arguments, or the result."""
    activity = activity_of(message)
    if activity is None:
        return text_of(message)
    value = activity.result if activity.type == "response" else activity.arguments
    return "" if value is ABSENT else written(value)

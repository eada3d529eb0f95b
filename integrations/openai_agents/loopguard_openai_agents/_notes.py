"""What a model is told: items that are sent behind its input, and stored nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from loopguard_core.guard.guidance import append_guidance

from ._items import field

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agents import TResponseInputItem

__all__ = ["Note", "user_note", "with_notes"]

Note = tuple[str, str | None]
"""A text, and the id of the call whose result it is about, if it is about one."""


def with_notes(
    items: Sequence[TResponseInputItem], notes: Iterable[Note], *, editable: bool
) -> list[TResponseInputItem]:
    """Return *items*, which stay as they are, with *notes*.

    Args:
        items: The input.
        notes: A note about a result stands behind it; any other is a message at the end.
        editable: False if results must not be edited, as those of a conversation that the server
            keeps; then every note is a message.
    """
    sent = list(items)
    for text, call_id in notes:
        place = _place_of(sent, call_id) if editable else None
        if place is None:
            sent.append(user_note(text))
        else:
            sent[place] = _with_note(sent[place], text)
    return sent


def user_note(text: str) -> TResponseInputItem:
    """Return a message that tells the model *text*."""
    return {"role": "user", "content": text}


def _place_of(items: Sequence[object], call_id: str | None) -> int | None:
    """Return where the newest text result of *call_id* stands."""
    if call_id is None:
        return None
    for place in range(len(items) - 1, -1, -1):
        if field(items[place], "call_id") == call_id:
            return place if isinstance(field(items[place], "output"), str) else None
    return None


def _with_note(item: TResponseInputItem, text: str) -> TResponseInputItem:
    edited = dict(cast("dict[str, object]", item))
    edited["output"] = append_guidance(str(edited["output"]), text)
    return cast("TResponseInputItem", edited)

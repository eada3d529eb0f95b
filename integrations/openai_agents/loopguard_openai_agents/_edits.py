"""Items with another text; what they are made of stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ._items import field, is_hosted, is_output, is_text, kind, plain

if TYPE_CHECKING:
    from agents import TResponseInputItem

__all__ = ["edited"]


def edited(item: TResponseInputItem, text: str) -> TResponseInputItem:
    """Return a copy of *item* with another text, or *item* itself where nothing may be edited."""
    if kind(item) == "message":
        key = "content"
    elif is_output(item):
        key = "output"
    else:  # arguments stay the JSON that they have to be
        key = "arguments"
    value = field(item, key)
    changed = value if is_hosted(item) or value is None else _with_text(value, text)
    if changed is value:
        return item
    return cast("TResponseInputItem", {**cast("dict[str, object]", item), key: changed})


def _with_text(value: object, text: str) -> object:
    """Return the content of a message or an output with another text, in the place of its first.

    What is no text stays, as pictures and refusals do; content without a text comes back as it is.
    """
    if isinstance(value, str):
        return text
    parts: list[object] = []
    is_put = False
    for part in value if isinstance(value, list) else ():
        if not is_text(part):
            parts.append(part)
        elif not is_put:
            parts.append(_said(part, text))
            is_put = True
    return parts if is_put else value


def _said(part: object, text: str) -> dict[str, object]:
    """Return a part with another text, without what was known about places in the old one."""
    said = {**cast("dict[str, object]", plain(part)), "text": text}
    said.pop("logprobs", None)
    return {**said, "annotations": []} if "annotations" in said else said

"""Notices: what a host tells a model between its turns, and by what name it takes one back."""

from __future__ import annotations

from dataclasses import dataclass

from .entries import Entry, EntryKind, new_id

__all__ = ["NoticeKey", "notice"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeKey:
    """Which thing a notice is about; a newer one about the same replaces it.

    Args:
        group_by: The kind of thing, such as `file`.
        key: The thing, such as a path.
    """

    group_by: str
    key: str


def notice(text: str, *, tag: str, at: int) -> Entry:
    """Make the entry of a notice, which a model sees as `[tag] text`.

    Args:
        text: What it says.
        tag: Its label; empty shows the kind, `notification`.
        at: The session's clock, in nanoseconds.
    """
    return Entry(id=new_id(), kind=EntryKind.NOTIFICATION, tag=tag, content=text, created_at=at)

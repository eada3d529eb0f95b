"""Notices."""

from __future__ import annotations

from loopguard_core.agent.entries import EntryKind
from loopguard_core.agent.notices import notice


def test_a_notice_is_a_notification_of_its_own() -> None:
    """It has its text, tag and time, and an id that no other one has."""
    one, other = (notice("look out", tag="nudge", at=5) for _ in range(2))
    assert (one.kind, one.content, one.label, one.created_at) == (
        EntryKind.NOTIFICATION,
        "look out",
        "nudge",
        5,
    )
    assert one.id
    assert one.id != other.id

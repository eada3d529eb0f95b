"""What both stores do alike to entries that come in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_core.agent.entries import Entry, new_id
from loopguard_core.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["check_again", "stamped", "with_id"]


def with_id(entry: Entry) -> Entry:
    """Return *entry*, with a new id if it has none."""
    return entry if entry.id else entry.model_copy(update={"id": new_id()})


def stamped(entries: Sequence[Entry], at: int) -> list[Entry]:
    """Return what is claimed at *at*: the last entry without a time gets it, earlier ones less.

    They keep the order they came in, and none is later than the clock: what a session writes
    next comes after them all.
    """
    first = at - sum(not entry.created_at for entry in entries)
    times = iter(range(first + 1, at + 1))
    return [
        entry if entry.created_at else entry.model_copy(update={"created_at": next(times)})
        for entry in entries
    ]


def check_again(entry: Entry, kept: Entry) -> None:
    """Let the same entry come again, as from a host that did not learn whether it was kept.

    Raises:
        InvalidInputError: The session has another entry under this id.
    """
    if not entry.created_at:
        entry = entry.model_copy(update={"created_at": kept.created_at})
    if entry != kept:
        raise InvalidInputError(
            "entry.id", entry.id, "an id that no other entry of the session has"
        )

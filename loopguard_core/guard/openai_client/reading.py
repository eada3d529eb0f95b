"""What chat completions and responses have in common for whoever reads their streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from loopguard_core.guard.reply import GuardedReply

__all__ = ["Reading", "string_of"]


class Reading(Protocol):
    """Reads one stream as it comes, and says where it ends."""

    @property
    def watch(self) -> GuardedReply:
        """The watch that found something; before that, the watch of the first reply."""
        ...

    def take(self, piece: object) -> bool:
        """Read the next chunk or event; return True if it is the last one to be asked for."""
        ...


def string_of(holder: object, name: str) -> str:
    """Return a field that is a string; an empty string for any other, and for none.

    Servers that speak the protocol leave out fields, and put null where a string is due.
    """
    value = getattr(holder, name, None)
    return value if isinstance(value, str) else ""

"""What chat completions and responses have in common for whoever reads their streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from loopguard_core.guard.reply import GuardedReply

__all__ = ["Reading", "fields_of", "string_of"]

_NOTHING: Final[Mapping[str, object]] = {}


class Reading(Protocol):
    """Reads one stream as it comes, and says where it ends."""

    @property
    def watch(self) -> GuardedReply:
        """The watch that found something; before that, the watch of the first reply."""
        ...

    def take(self, piece: object) -> bool:
        """Read the next chunk or event; return True if it is the last one to be asked for."""
        ...


def fields_of(holder: object) -> Mapping[str, object]:
    """Return the fields of one of the client's objects, those it does not know included.

    They are pydantic models, which answer slowly when asked for a field that is not there.
    Servers that speak the protocol leave out objects: None has no fields.
    """
    known: Mapping[str, object] = getattr(holder, "__dict__", _NOTHING)
    unknown = getattr(holder, "model_extra", None)
    return {**known, **unknown} if unknown else known


def string_of(fields: Mapping[str, object], name: str) -> str:
    """Return a field that is a string; an empty one for a null, and where there is none."""
    value = fields.get(name)
    return value if isinstance(value, str) else ""

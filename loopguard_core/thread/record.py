"""What is kept of a message: its digests, packed for a snapshot."""

from __future__ import annotations

import base64
import struct
from typing import TYPE_CHECKING, Final, NamedTuple

from loopguard_core.errors import InvalidInputError

from .activity import Entry, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Record", "pack", "unpack"]

# Key, flags, then call, name and value of the activity: 33 bytes a message.
_LAYOUT: Final = struct.Struct("<QBQQQ")
_READ, _ACTIVITY, _REQUEST, _RESPONSE, _ARGUMENTS, _RESULT, _INTERNAL, _TURN = (
    1 << n for n in range(8)
)


class Record(NamedTuple):
    """A message, reduced to digests.

    Args:
        key: What it is recognised by, and compared by if it is read.
        is_read: False if the heuristics pass it over.
        entry: Its activity; None if it is no readable one, or passed over.
        begins_turn: True for the first message of a person's turn.
    """

    key: int
    is_read: bool
    entry: Entry | None
    begins_turn: bool = False


def pack(records: Iterable[Record]) -> str:
    """Write *records* as base64, 44 characters a message."""
    return base64.b64encode(b"".join(map(_packed, records))).decode("ascii")


def unpack(text: str) -> list[Record]:
    """Read what `pack` wrote.

    Raises:
        InvalidInputError: *text* is something else; the error names `snapshot.records`.
    """
    try:
        data = base64.b64decode(text, validate=True)
        return [_unpacked(*fields) for fields in _LAYOUT.iter_unpack(data)]
    except (ValueError, struct.error) as error:  # not base64, or not whole records
        raise InvalidInputError("snapshot.records", text, "packed records") from error


def _packed(record: Record) -> bytes:
    flags = _READ * record.is_read | _TURN * record.begins_turn
    entry = record.entry
    if entry is None:
        return _LAYOUT.pack(record.key, flags, 0, 0, 0)
    flags |= (
        _ACTIVITY
        | _REQUEST * (entry.kind == "request")
        | _RESPONSE * (entry.kind == "response")
        | _ARGUMENTS * entry.has_arguments
        | _RESULT * entry.has_result
        | _INTERNAL * entry.is_internal
    )
    return _LAYOUT.pack(record.key, flags, entry.call, entry.name, entry.value)


def _unpacked(key: int, flags: int, call: int, name: int, value: int) -> Record:
    entry = None
    if flags & _ACTIVITY:
        kind: Kind = "other"
        if flags & _REQUEST:
            kind = "request"
        elif flags & _RESPONSE:
            kind = "response"
        entry = Entry(
            kind,
            call,
            name,
            value,
            has_arguments=bool(flags & _ARGUMENTS),
            has_result=bool(flags & _RESULT),
            is_internal=bool(flags & _INTERNAL),
        )
    return Record(key, bool(flags & _READ), entry, bool(flags & _TURN))

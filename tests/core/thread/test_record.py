"""Records: what is kept of a message comes through packing as it is."""

from __future__ import annotations

import itertools

import pytest

from loopguard_core.errors import InvalidInputError
from loopguard_core.thread.activity import Entry
from loopguard_core.thread.record import Record, pack, unpack

_BOOLEANS = (False, True)
_HIGHEST = 2**64 - 1
_ENTRIES = [
    None,
    *(
        Entry(kind, 0, _HIGHEST, number, *flags)
        for number, kind in enumerate(("request", "response", "other"))
        for flags in itertools.product(_BOOLEANS, repeat=3)
    ),
]


@pytest.mark.parametrize("entry", _ENTRIES)
def test_round_trip(entry: Entry | None) -> None:
    """Every flag and the highest key survive; a message takes 44 characters."""
    records = [
        Record(_HIGHEST, is_read, entry, begins_turn)
        for is_read, begins_turn in itertools.product(_BOOLEANS, repeat=2)
    ]
    packed = pack(records)
    assert unpack(packed) == records
    assert len(packed) == 44 * len(records)


@pytest.mark.parametrize("text", ["?", "AAAA", "A" * 43, "\u00e9" * 44])
def test_damaged(text: str) -> None:
    """What was not packed here is an error that names the field."""
    with pytest.raises(InvalidInputError, match=r"snapshot\.records"):
        unpack(text)

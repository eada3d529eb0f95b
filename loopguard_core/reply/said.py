"""What cycle and phrase say about a sentence: `Said`."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Said"]


class Said(NamedTuple):
    """A sentence's place among those before it.

    Args:
        times: How often it has been said, this time included.
        loops: How often what it belongs to has been said; 0 where there is no verdict.
        first: The earliest text that counts as the same, or its beginning.
    """

    times: int
    loops: int
    first: str

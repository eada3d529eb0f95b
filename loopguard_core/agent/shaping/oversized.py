"""Results in the tail that alone are too much, cut in their middle.

The reference sends more than the budget then, which a provider refuses. Source: agent
specification, sections 5 and 10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard_core.agent.budget import byte_length
from loopguard_core.agent.entries import EntryKind
from loopguard_core.agent.result_cut import cut_result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loopguard_core.agent.entries import Entry

    from .prices import PriceList

__all__ = ["cuts_in_tail"]

_LEAST_BYTES: Final = 256
"""A result is not cut further: the model has to see what it was."""


def cuts_in_tail(
    entries: Sequence[Entry], start: int, prices: PriceList, excess: int
) -> tuple[dict[int, str], int]:
    """Cut the results in the tail until that saves enough, or no more can be cut.

    All are cut to one limit, a power of two of bytes, so it stays the same while a tail changes.

    Args:
        entries: The whole history.
        start: The index of the tail's first entry.
        prices: Says what a cut saves.
        excess: The tokens to save.

    Returns:
        What is shown of each result that is cut, by its index, and the tokens it saves.
    """
    results = {
        index: entry
        for index, entry in enumerate(entries[start:], start)
        if entry.kind == EntryKind.TOOL_RESULT
    }
    longest = max((byte_length(entry.content) for entry in results.values()), default=0)
    limit = 1 << max(longest.bit_length() - 1, 0)
    cuts: dict[int, str] = {}
    saved = 0
    while limit >= _LEAST_BYTES and saved < excess:
        cuts, saved = _cuts(results, limit, prices)
        limit //= 2
    return cuts, saved


def _cuts(
    results: Mapping[int, Entry], limit: int, prices: PriceList
) -> tuple[dict[int, str], int]:
    cuts: dict[int, str] = {}
    saved = 0
    for index, entry in results.items():
        cut = cut_result(entry.content, limit, expandable=False)
        if cut != entry.content:
            cuts[index] = cut
            saved += prices.saved(entry, cut)
    return cuts, saved

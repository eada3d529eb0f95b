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
    from collections.abc import Iterator, Sequence

    from loopguard_core.agent.entries import Entry
    from loopguard_core.agent.render import EntryGroup

    from .prices import PriceList

__all__ = ["cuts_in_tail"]

_LEAST_BYTES: Final = 256
"""A result is not cut further: the model has to see what it was."""


def cuts_in_tail(groups: Sequence[EntryGroup], prices: PriceList, *, excess: int) -> dict[int, str]:
    """Cut the results of *groups* until that saves enough, or no more can be cut.

    All are cut to one limit, a power of two of bytes, so it stays the same while a tail changes.

    Args:
        groups: The groups of the tail.
        prices: Prices texts.
        excess: The tokens to save.

    Returns:
        What is shown of each result that is cut, by its index.
    """
    results = {
        index: entry for index, entry in _entries(groups) if entry.kind == EntryKind.TOOL_RESULT
    }
    longest = max((byte_length(entry.content) for entry in results.values()), default=0)
    limit = 1 << max(longest.bit_length() - 1, 0)
    cuts: dict[int, str] = {}
    while limit >= _LEAST_BYTES:
        cuts = {index: cut_result(entry.content, limit) for index, entry in results.items()}
        cuts = {index: cut for index, cut in cuts.items() if cut != results[index].content}
        saved = sum(
            prices.text(results[index].content) - prices.text(cut) for index, cut in cuts.items()
        )
        if saved >= excess:
            break
        limit //= 2
    return cuts


def _entries(groups: Sequence[EntryGroup]) -> Iterator[tuple[int, Entry]]:
    for group in groups:
        yield from enumerate(group.entries, group.start)

"""What entries cost once they are rendered, each priced once.

A long history is built at every model call, and all but its end was priced before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_core.agent.budget import CharsByFour, TokenEstimator, message_tokens
from loopguard_core.agent.render import EntryGroup, RenderFormat, render_group

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loopguard_core.agent.entries import Entry

    from .policy import ShaperPolicy

__all__ = ["PriceList"]

_Known = dict[tuple[str, bool], tuple[tuple["Entry", ...], int]]


class PriceList:
    """Prices messages, and keeps the prices of those that were asked for last time.

    Entries are frozen, so one price holds for as long as the same entries make the message. What
    the last history did not hold is forgotten: the list is never longer than twice a history.

    Args:
        policy: How entries are rendered and counted.
        estimate: Prices one text.
    """

    def __init__(
        self, policy: ShaperPolicy, estimate: TokenEstimator = CharsByFour.estimate
    ) -> None:
        self._estimate = estimate
        self._count_arguments = policy.count_arguments
        self._form = RenderFormat(
            tool_format=policy.tool_format, verbatim_tool_results=policy.verbatim_tool_results
        )
        self._known: _Known = {}

    def text(self, text: str) -> int:
        """Return the price of one text."""
        return self._estimate(text)

    def system(self, text: str) -> int:
        """Return the price of a system message, 0 for none."""
        return self._estimate(text) + self._estimate("system") if text else 0

    def total(self, groups: Sequence[EntryGroup], stubs: Mapping[int, str]) -> int:
        """Return what the messages of *groups* cost if *stubs* are shown."""
        return sum(self._price(group, stubs) for group in groups)

    def keep_only(self, groups: Sequence[EntryGroup]) -> None:
        """Forget what is not among *groups*."""
        if len(self._known) > 2 * len(groups):
            ids = {group.entries[0].id for group in groups}
            self._known = {key: known for key, known in self._known.items() if key[0] in ids}

    def _price(self, group: EntryGroup, stubs: Mapping[int, str]) -> int:
        places = range(group.start, group.start + len(group.entries))
        key = (group.entries[0].id, bool(stubs) and any(place in stubs for place in places))
        known = self._known.get(key)
        if known is not None and known[0] == group.entries:
            return known[1]
        message = render_group(group, self._form, stubs)
        price = message_tokens(message, self._estimate, count_arguments=self._count_arguments)
        self._known[key] = (group.entries, price)
        return price

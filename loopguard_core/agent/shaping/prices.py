"""What entries cost once they are rendered, each priced once.

A long history is built at every model call, and all but its end was priced before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from loopguard_core.agent.budget import CharsByFour, TokenEstimator, message_tokens
from loopguard_core.agent.entries import Entry, EntryKind
from loopguard_core.agent.neutral import neutralize_special_tokens
from loopguard_core.agent.render import EntryGroup, RenderFormat, render_group

from .stub import stub_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .policy import ShaperPolicy

__all__ = ["PriceList"]

_MOST_BYTES_A_CHAR: Final = 4
_OPEN: Final = frozenset({EntryKind.ASSISTANT, EntryKind.TOOL_CALL})


@dataclass(slots=True)
class _Shown:
    """The stubs before an index, which only moves on while a history grows."""

    border: int = 0
    stubs: dict[int, str] = field(default_factory=dict)
    saved: int = 0


class PriceList:
    """Prices entries, and keeps the prices of the last history.

    Entries are frozen, so the price and the stub of one hold for as long as it is in the history.
    Heredoc calls are priced as if their blocks stood alone, which is a token too much for some.

    Args:
        policy: How entries are rendered, shown as stubs, and counted.
        estimate: Prices one text.
    """

    def __init__(
        self, policy: ShaperPolicy, estimate: TokenEstimator = CharsByFour.estimate
    ) -> None:
        self._policy = policy
        self._estimate = estimate
        self._form = RenderFormat(
            tool_format=policy.tool_format, verbatim_tool_results=policy.verbatim_tool_results
        )
        self._native = policy.tool_format == "native"
        self._verbatim = policy.verbatim_tool_results
        self._counts_arguments = policy.count_arguments
        self._user_role = estimate("user")
        self._tool_role = estimate("tool")
        self._assistant_role = estimate("assistant")
        # No text of that many characters or fewer has more bytes than the threshold.
        self._never_stubbed_chars = policy.lod_truncate_above_chars // _MOST_BYTES_A_CHAR
        self._last: list[Entry] = []
        self._total = 0
        self._shown = _Shown()
        self._whole: dict[str, tuple[Entry, int]] = {}
        self._stubs: dict[str, tuple[Entry, str | None, int]] = {}

    def system(self, text: str) -> int:
        """Return the price of a system message, 0 for none."""
        return self._estimate(text) + self._estimate("system") if text else 0

    def saved(self, entry: Entry, shown: str) -> int:
        """Return the tokens that are saved if *shown* stands in the place of the content."""
        known = self._whole.get(entry.id)
        whole = known[1] if known and known[0] is entry else self._price(entry)
        return whole - self._price(entry, shown)

    def total(self, entries: Sequence[Entry]) -> int:
        """Return what the messages of *entries* cost, and forget all other entries."""
        known = len(self._last)
        if entries[:known] == self._last:
            self._total += self._added(entries, known, self._whole)
        else:
            whole: dict[str, tuple[Entry, int]] = {}
            self._total = self._added(entries, 0, whole)
            self._whole = whole
            self._stubs = {key: stub for key, stub in self._stubs.items() if key in whole}
            self._shown = _Shown()
        self._last = list(entries)
        return self._total

    def _added(
        self, entries: Sequence[Entry], start: int, whole: dict[str, tuple[Entry, int]]
    ) -> int:
        """Return what the entries from *start* on cost, and keep their prices in *whole*."""
        tokens = 0
        previous = entries[start - 1].kind if start else ""
        for entry in entries[start:]:
            key, kind = entry.id, entry.kind
            known = self._whole.get(key)
            if known is None or (known[0] is not entry and known[0] != entry):
                known = entry, self._price(entry)
            whole[key] = known
            tokens += known[1]
            if kind == "tool_call" and previous in _OPEN:
                tokens -= self._assistant_role  # it stands in the message before it
            previous = kind
        return tokens

    def stubs(self, entries: Sequence[Entry], border: int) -> tuple[Mapping[int, str], int]:
        """Return the stubs of the entries before index *border*, and what they save.

        The entries are those of the last `total`.
        """
        if self._policy.lod_truncate_above_chars <= 0:
            return {}, 0
        if border < self._shown.border:
            self._shown = _Shown()
        shown = self._shown
        for index in range(shown.border, border):
            entry = entries[index]
            if len(entry.content) <= self._never_stubbed_chars:
                continue
            _, stub, saves = self._stub(entry)
            if stub is not None:
                shown.stubs[index] = stub
                shown.saved += saves
        shown.border = border
        return shown.stubs, shown.saved

    def _stub(self, entry: Entry) -> tuple[Entry, str | None, int]:
        known = self._stubs.get(entry.id)
        if known is not None and (known[0] is entry or known[0] == entry):
            return known
        stub = stub_of(entry, self._policy)
        known = entry, stub, 0 if stub is None else self.saved(entry, stub)
        self._stubs[entry.id] = known
        return known

    def _price(self, entry: Entry, shown: str | None = None) -> int:
        """Return what the entry's message costs, as `render_group` and `message_tokens` have it."""
        content = entry.content if shown is None else shown
        kind = entry.kind
        if kind == "tool_result":
            if not self._verbatim:
                content = neutralize_special_tokens(content)
            return self._tokens(content) + self._tool_role
        if kind == "assistant":
            return self._tokens(content) + self._assistant_role
        if kind == "tool_call" and self._native:
            arguments = self._tokens(entry.tool_name) + self._tokens(content)
            return self._assistant_role + arguments * self._counts_arguments
        if kind == "user" and not entry.parts:
            return self._tokens(content) + self._user_role
        message = render_group(
            EntryGroup(0, (entry,)), self._form, {} if shown is None else {0: shown}
        )
        return message_tokens(message, self._estimate, count_arguments=self._counts_arguments)

    def _tokens(self, text: str) -> int:
        return self._estimate(text) if text else 0

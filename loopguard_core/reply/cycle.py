"""The same sentences again, in any order, and passages in the same order."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from .line_kind import LineKind
from .said import Said

if TYPE_CHECKING:
    from .passage import Passage
    from .repeats import RepeatWindow

__all__ = ["CycleDetector"]


class _Known(NamedTuple):
    times: int
    place: int
    first: str


class CycleDetector:
    """Counts how often the latest sentences have been said in this turn.

    Two rules, of which the higher count is taken. The window: the share of the latest sentences
    that were said at least so often, in whatever order (reply specification, section 7). The
    passage, ours and off by default: sentences in the order in which they were said before,
    which needs no full window. Memory: fingerprint, numbers and the first text of the latest
    `memory` different sentences; one that was not said for so long is new again.

    Args:
        window: The window that judges the occurrence numbers.
        passage: The passage rule, or None.
        memory: Different sentences that are remembered.
        sample_chars: Characters of a first text that are kept.
    """

    __slots__ = ("_known", "_memory", "_passage", "_place", "_sample_chars", "_window")

    def __init__(
        self, window: RepeatWindow, passage: Passage | None, *, memory: int, sample_chars: int
    ) -> None:
        self._window = window
        self._passage = passage
        self._memory = memory
        self._sample_chars = sample_chars
        self._known: OrderedDict[int, _Known] = OrderedDict()  # the latest last
        self._place = 0

    def add(self, key: str, text: str, size: int, kind: LineKind) -> Said:
        """Take the next counted sentence.

        Args:
            key: What makes it the same as another; see `key_of`.
            text: The sentence.
            size: Its bytes.
            kind: What it looks like. Of what is not prose, only what is new is in the window:
                that speaks against a loop, and its repeats do not speak for one.
        """
        fingerprint = hash(key)
        before = self._known.get(fingerprint)
        if before is None:
            now = _Known(1, self._place, text[: self._sample_chars])
            if len(self._known) >= self._memory:
                self._known.popitem(last=False)
        else:
            now = _Known(before.times + 1, self._place, before.first)
            self._known.move_to_end(fingerprint)
        self._known[fingerprint] = now
        self._place += 1
        count = 0
        if kind is LineKind.PROSE or before is None:
            count = self._window.add(now.times, size)
        if self._passage is not None:
            last_place = None if before is None else before.place
            count = max(count, self._passage.add(fingerprint, size, kind, last_place))
        return Said(now.times, count, now.first)

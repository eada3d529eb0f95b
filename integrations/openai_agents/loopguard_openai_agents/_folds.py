"""Folds of threads: a model is asked for a summary, and the folds that were made before."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from agents import ItemHelpers, Model, ModelSettings, ModelTracing, TResponseInputItem

from loopguard_core.agent.shaping import SUMMARY_SYSTEM, summary_in
from loopguard_core.agent.thread_shaping import FoldRecord

from ._shaping import folded

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = ["Fold", "KnownFolds", "Summarizer", "summary_of"]

Summarizer: TypeAlias = Model | Callable[[str], str | Awaitable[str]]
"""A model of the SDK, or what answers a summary prompt; may wait."""

_MAX_KNOWN: Final = 512


@dataclass(frozen=True, slots=True)
class Fold:
    """A fold that was made, to be made again in the next input of the same run.

    Nothing of what it took is kept but marks, so that pictures and long results go with their run.

    Args:
        positions: What it took, in the input as it was then.
        ends: The marks of the first and the last item there.
        whole: The mark of all of them.
        text: What stands for them.
        record: What it came to.
    """

    positions: tuple[int, ...]
    ends: tuple[int, int]
    whole: int
    text: str
    record: FoldRecord

    @classmethod
    def of(
        cls,
        items: Sequence[TResponseInputItem],
        positions: tuple[int, ...],
        *,
        text: str,
        record: FoldRecord,
    ) -> Self:
        """Make the fold that takes *positions* of *items*."""
        marks = _Marks(items)
        return cls(positions, marks.ends(positions), marks.whole(positions), text, record)

    def fits(self, marks: _Marks) -> bool:
        """Return True if a thread holds what was folded, where it was."""
        if self.positions[-1] >= len(marks):
            return False
        return marks.ends(self.positions) == self.ends and marks.whole(self.positions) == self.whole


class _Marks:
    """Marks of the items of a thread, made where they are asked for; equal items have equal marks.

    Args:
        items: The thread.
    """

    def __init__(self, items: Sequence[TResponseInputItem]) -> None:
        self._items = items
        self._marks: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._items)

    def ends(self, positions: Sequence[int]) -> tuple[int, int]:
        return self._mark(positions[0]), self._mark(positions[-1])

    def whole(self, positions: Sequence[int]) -> int:
        return hash(tuple(map(self._mark, positions)))

    def _mark(self, position: int) -> int:
        mark = self._marks.get(position)
        if mark is None:
            mark = self._marks[position] = hash(repr(self._items[position]))
        return mark


class KnownFolds:
    """The newest folds of all runs of a shaper, found by what they took.

    The SDK gives a filter nothing that belongs to one run, and hands it the whole history at every
    model call. Runs with the same history share a summary, and see nothing else of each other.
    """

    def __init__(self) -> None:
        self._folds: OrderedDict[Fold, None] = OrderedDict()

    def add(self, fold: Fold) -> None:
        """Keep *fold*; of more than 512 the one that was not used for longest is forgotten."""
        self._folds[fold] = None
        if len(self._folds) > _MAX_KNOWN:
            self._folds.popitem(last=False)

    def apply(
        self, items: list[TResponseInputItem]
    ) -> tuple[list[TResponseInputItem], list[FoldRecord]]:
        """Return *items* with every fold that was made of them, and what these came to."""
        records: list[FoldRecord] = []
        while (fold := self._fitting(items)) is not None:
            self._folds.move_to_end(fold)
            items = folded(items, fold.positions, fold.text)
            records.append(fold.record)
        return items, records

    def _fitting(self, items: Sequence[TResponseInputItem]) -> Fold | None:
        marks = _Marks(items)
        return next((fold for fold in self._folds if fold.fits(marks)), None)


async def summary_of(summarizer: Summarizer, prompt: str) -> str:
    """Ask for a summary, and wait for it; raises what *summarizer* raises."""
    if not isinstance(summarizer, Model):
        answer = summarizer(prompt)
        return summary_in(await answer if inspect.isawaitable(answer) else answer)
    response = await summarizer.get_response(
        SUMMARY_SYSTEM,
        prompt,
        ModelSettings(),
        [],
        None,
        [],
        ModelTracing.DISABLED,
        previous_response_id=None,
        conversation_id=None,
        prompt=None,
    )
    texts = [ItemHelpers.extract_text(item) for item in response.output]
    return summary_in("".join(text for text in texts if text))

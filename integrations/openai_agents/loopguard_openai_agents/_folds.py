"""Folds of threads: a model is asked for a summary, and the folds that were made before."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from agents import ItemHelpers, Model, ModelSettings, ModelTracing, TResponseInputItem

from loopguard_core.agent.shaping import SUMMARY_SYSTEM
from loopguard_core.agent.thread_shaping import FoldRecord

from ._shaping import folded

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = ["Fold", "KnownFolds", "Summarizer", "summary_of"]

Summarizer: TypeAlias = Model | Callable[[str], str | Awaitable[str]]
"""A model of the SDK, or what answers a summary prompt; may wait."""

_MAX_KNOWN: Final = 32


@dataclass(frozen=True, slots=True)
class Fold:
    """A fold that was made, to be made again in the next input of the same run.

    Args:
        positions: What it took, in the input as it was then.
        items: The items there.
        text: What stands for them.
        record: What it came to.
    """

    positions: tuple[int, ...]
    items: tuple[TResponseInputItem, ...]
    text: str
    record: FoldRecord

    def fits(self, items: Sequence[TResponseInputItem]) -> bool:
        """Return True if *items* holds what was folded, where it was."""
        if self.positions[-1] >= len(items):
            return False
        # Most runs hand the same objects in again, and identity is looked at first.
        return all(
            items[at] is mine or items[at] == mine
            for at, mine in zip(self.positions, self.items, strict=True)
        )


class KnownFolds:
    """The newest folds of all runs of a shaper, found by what they took.

    The SDK gives a filter nothing that belongs to one run, and hands it the whole history at every
    model call. Runs with the same history share a summary, and see nothing else of each other.
    """

    def __init__(self) -> None:
        self._folds: deque[Fold] = deque(maxlen=_MAX_KNOWN)

    def add(self, fold: Fold) -> None:
        """Keep *fold*; the oldest of more than 32 is forgotten."""
        self._folds.append(fold)

    def apply(
        self, items: list[TResponseInputItem]
    ) -> tuple[list[TResponseInputItem], list[FoldRecord]]:
        """Return *items* with every fold that was made of them, and what these came to."""
        records: list[FoldRecord] = []
        while (fold := next((f for f in self._folds if f.fits(items)), None)) is not None:
            items = folded(items, fold.positions, fold.text)
            records.append(fold.record)
        return items, records


async def summary_of(summarizer: Summarizer, prompt: str) -> str:
    """Ask for a summary, and wait for it; raises what *summarizer* raises."""
    if not isinstance(summarizer, Model):
        answer = summarizer(prompt)
        return await answer if inspect.isawaitable(answer) else answer
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
    return "".join(text for text in texts if text)

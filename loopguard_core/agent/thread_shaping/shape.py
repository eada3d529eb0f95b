"""What is sent of a thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from loopguard_core.message import Message

__all__ = ["NativePiece", "ThreadShape"]


@dataclass(frozen=True, slots=True)
class NativePiece:
    """A native message that is sent.

    Args:
        index: Which, in the framework's list.
        texts: What is sent in the place of a part's text, by the part's position in the neutral
            thread. Empty for a message that is sent as it is: the very same object.
    """

    index: int
    texts: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadShape:
    """What is sent of a thread, and what a fold would take.

    Args:
        sent: The positions that are sent, in their order; among them new messages, which answer
            calls without a result and stand for results without a call.
        texts: What is sent in the place of texts, arguments and results, by position.
        fold: The positions that a fold would take; empty unless only a fold can make it fit.
        tokens: What is sent costs that much, with what stands beside the thread.
        target: What it is to be brought down to; 0 for no limit.
        budget: What it may cost at most; 0 for no limit.
    """

    sent: tuple[int | Message, ...]
    texts: Mapping[int, str] = field(default_factory=dict)
    fold: tuple[int, ...] = ()
    tokens: int = 0
    target: int = 0
    budget: int = 0

    @property
    def over_budget(self) -> bool:
        """True if it costs more than the budget all the same."""
        return 0 < self.budget < self.tokens

    def natives(self, native_at: Callable[[int], int]) -> Iterator[NativePiece | Message]:
        """Yield what is sent in terms of the framework's own messages.

        Args:
            native_at: Says which native message the part at a position belongs to.
        """
        seen: set[int] = set()
        texts: dict[int, dict[int, str]] = {}
        for position, text in self.texts.items():
            texts.setdefault(native_at(position), {})[position] = text
        for piece in self.sent:
            if isinstance(piece, Message):
                yield piece
                continue
            index = native_at(piece)
            if index not in seen:
                seen.add(index)
                yield NativePiece(index, texts.get(index, {}))

"""Does the thread end in copies of its own last messages."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from .identity import checked_messages, message_key
from .options import CycleLimits, CycleOptions, cycle_limits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["ends_in_copies", "has_repeated_suffix"]


def has_repeated_suffix(
    messages: Sequence[Mapping[str, object]], options: CycleOptions | None = None
) -> bool:
    """Return whether the newest messages are several copies of one pattern, of any length.

    Source: thread specification, section 4.

    Args:
        messages: The thread, oldest first. Messages of every type take part.
        options: `min_repetitions`, `min_pattern_length` and `max_pattern_length` count here.

    Raises:
        InvalidInputError: *messages* is no sequence of mappings.
    """
    return ends_in_copies(checked_messages(messages), cycle_limits(options))


def ends_in_copies(messages: Sequence[Mapping[str, object]], limits: CycleLimits) -> bool:
    """Do what `has_repeated_suffix` does, with everything checked and resolved."""

    @cache
    def key(index: int) -> int:
        return message_key(messages[index])

    fitting = len(messages) // limits.repetitions
    longest = fitting if limits.longest is None else min(fitting, limits.longest)
    lengths = range(limits.shortest, longest + 1)
    return any(_copies(key, len(messages), length, limits.repetitions) for length in lengths)


def _copies(key: Callable[[int], int], count: int, length: int, repetitions: int) -> bool:
    """Return whether each of the last messages equals the one a pattern later, newest first."""
    newest, oldest = count - length - 1, count - repetitions * length
    return all(key(index) == key(index + length) for index in range(newest, oldest - 1, -1))

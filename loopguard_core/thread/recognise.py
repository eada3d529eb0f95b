"""Find in a thread that was trimmed or rewritten where it was left."""

from __future__ import annotations

from collections import defaultdict
from itertools import takewhile
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["recognise"]

# A stuck thread repeats itself, so one equal key is no proof of the place; this many decide.
_COMPARED: Final = 16


def recognise(known: Sequence[int], thread: Sequence[int]) -> tuple[int, int] | None:
    """Find the newest known message that is still there.

    Args:
        known: Keys of the messages that were seen, oldest first.
        thread: Keys of the newest messages that the thread has now, oldest first.

    Returns:
        How many of *known* are up to it, and how many of *thread* are, itself included; None
        if not one is left. Where the same key stands several times, the place counts where
        most of what came before is the same too, and of such places the newest, so that
        nothing is taken for new which may be old.
    """
    places: defaultdict[int, list[int]] = defaultdict(list)
    for stop, key in enumerate(thread, start=1):
        places[key].append(stop)
    for seen in range(len(known), 0, -1):
        stops = places.get(known[seen - 1])
        if stops:
            before = known[max(0, seen - _COMPARED) : seen]
            return seen, max(stops, key=lambda stop: (_equal_before(before, thread, stop), stop))
    return None


def _equal_before(known: Sequence[int], thread: Sequence[int], stop: int) -> int:
    """Count how many of the last keys of *known* are those before *stop* in *thread*."""
    placed = thread[max(0, stop - len(known)) : stop]
    newest_first = zip(reversed(known), reversed(placed), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], newest_first))

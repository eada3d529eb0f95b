"""Does the same call give the same result again and again."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from loopguard_core.message import activity_of

from .activity import Entry, entry_of
from .identity import checked_messages
from .options import CycleLimits, CycleOptions, cycle_limits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["ResultRun", "ends_in_equal_results", "has_repeated_result_run", "is_settled"]


def has_repeated_result_run(
    messages: Sequence[Mapping[str, object]], options: CycleOptions | None = None
) -> bool:
    """Return whether the newest tool results are equal, with equal arguments, whatever is between.

    Other messages, requests, responses that are still streaming and notices of tools whose name
    starts with an underscore neither count nor break a run. Absent arguments equal None.
    Source: thread specification, section 5.3.

    Args:
        messages: The thread, oldest first.
        options: `min_result_repetitions` counts here.

    Raises:
        InvalidInputError: *messages* is no sequence of mappings.
    """
    return ends_in_equal_results(checked_messages(messages), cycle_limits(options))


def ends_in_equal_results(messages: Sequence[Mapping[str, object]], limits: CycleLimits) -> bool:
    """Do what `has_repeated_result_run` does, with everything checked and resolved."""
    newest = list(islice(_settled_calls(messages), limits.results))
    return len(newest) == limits.results and len(set(newest)) == 1


def is_settled(entry: Entry) -> bool:
    """Return whether *entry* is a result that counts in a run; its `call` is what must be equal."""
    return entry.is_output and not entry.is_internal


def _settled_calls(messages: Sequence[Mapping[str, object]]) -> Iterator[int]:
    """Yield the call keys of the settled results, newest first."""
    for message in reversed(messages):
        activity = activity_of(message)
        if activity is not None and activity.type == "response":
            entry = entry_of(activity)
            if is_settled(entry):
                yield entry.call


class ResultRun:
    """Counts the equal newest results while both ends of the thread move.

    Attributes:
        count: How many of the newest settled results are equal.
    """

    __slots__ = ("_call", "_settled", "count")

    def __init__(self) -> None:
        self.count = 0
        self._settled = 0
        self._call: int | None = None

    def push(self, entry: Entry) -> None:
        """Add the activity that is newer than all others."""
        if is_settled(entry):
            self._settled += 1
            self.count = self.count + 1 if entry.call == self._call else 1
            self._call = entry.call

    def start_over(self) -> None:
        """Let the results so far be no evidence for what comes."""
        self.count = 0
        self._call = None

    def drop_oldest(self, entry: Entry) -> None:
        """Forget *entry*, which must be the oldest activity."""
        if is_settled(entry):
            self._settled -= 1
            self.count = min(self.count, self._settled)

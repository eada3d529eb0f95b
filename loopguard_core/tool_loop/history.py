"""The calls of one run that finished, and what can be counted in them."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["CallHistory", "FinishedCall"]

FinishedCall: TypeAlias = tuple[str, str]
"""A call that ran: its fingerprint and its outcome."""


class CallHistory:
    """The newest finished calls, oldest first, and the outcomes of each call on their own.

    Counting looks only at the entries that count, so a long history costs no more than a short
    one. Source: tool-loop specification, sections 3 and 4, whose letters the methods name.

    Args:
        limit: How many calls are kept; the oldest are dropped.
        calls: What to begin with.
    """

    __slots__ = ("_calls", "_limit", "_outcomes")

    def __init__(self, limit: int, calls: Iterable[FinishedCall] = ()) -> None:
        self._limit = limit
        self._calls: deque[FinishedCall] = deque()
        self._outcomes: dict[str, list[str]] = {}
        for fingerprint, outcome in calls:
            self.add(fingerprint, outcome)

    def __len__(self) -> int:
        """Return how many calls there are."""
        return len(self._calls)

    def __iter__(self) -> Iterator[FinishedCall]:
        """Go through the calls, oldest first."""
        return iter(self._calls)

    def add(self, fingerprint: str, outcome: str) -> bool:
        """Append a call, and drop the oldest if there are too many; return True if it is new."""
        outcomes = self._outcomes.setdefault(fingerprint, [])
        is_new = outcome not in outcomes
        self._calls.append((fingerprint, outcome))
        outcomes.append(outcome)
        if len(self._calls) > self._limit:
            oldest, _ = self._calls.popleft()
            del self._outcomes[oldest][0]
            if not self._outcomes[oldest]:
                del self._outcomes[oldest]
        return is_new

    def forget(self, fingerprint: str) -> None:
        """Remove every call with *fingerprint*."""
        if self._outcomes.pop(fingerprint, None):
            self._calls = deque(call for call in self._calls if call[0] != fingerprint)

    def clear(self) -> None:
        """Remove every call."""
        self._calls.clear()
        self._outcomes.clear()

    def has(self, fingerprint: str, outcome: str) -> bool:
        """Return True if a call with *fingerprint* gave *outcome*."""
        return outcome in self._outcomes.get(fingerprint, ())

    def knows(self, fingerprint: str) -> bool:
        """Return True if a call with *fingerprint* finished."""
        return fingerprint in self._outcomes

    def count(self, fingerprint: str) -> int:
        """Return how many calls have *fingerprint*, whatever they gave: C."""
        return len(self._outcomes.get(fingerprint, ()))

    def streak(self, fingerprint: str) -> int:
        """Return how many of the newest calls with *fingerprint* gave what the newest gave: S.

        Calls in between do not end it, only another outcome of the same call does.
        """
        outcomes = self._outcomes.get(fingerprint, [])
        for length, outcome in enumerate(reversed(outcomes)):
            if outcome != outcomes[-1]:
                return length
        return len(outcomes)

    def brings_news(self, fingerprint: str) -> bool:
        """Return True if others brought something new at least at every second call of a streak.

        Walks from the first call of the streak S: a job is taken and confirmed, a file is edited
        and tested, and the same short answer comes each time because the work goes on.
        """
        calls, left = list(self._calls), self.streak(fingerprint)
        start, length = len(calls), left
        while left:
            start -= 1
            left -= calls[start][0] == fingerprint
        known = set(calls[: start + 1])
        news = len(set(calls[start + 1 :]) - known)
        return length > 1 and 2 * news >= length

    def alternation(self, fingerprint: str) -> int:
        """Return how many of the newest calls go to and fro between two: P.

        An attempt with *fingerprint* goes on with it, so the newest call is the other one. Each
        of the two must have given one outcome all along; if not, there is no alternation: 0.
        """
        if fingerprint not in self._outcomes:
            return 0
        pair = list(islice(reversed(self._calls), 2))
        if [called == fingerprint for called, _ in pair] != [False, True]:
            return 0
        for length, (called, outcome) in enumerate(reversed(self._calls)):
            expected_call, expected_outcome = pair[length % 2]
            if called != expected_call:
                return length
            if outcome != expected_outcome:
                return 0
        return len(self._calls)

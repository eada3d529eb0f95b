"""What can be counted in a list of finished calls. Source: tool-loop specification, section 4."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FinishedCall", "alternation", "outcomes_of", "streak"]


class FinishedCall(NamedTuple):
    """A call that ran, and what it gave."""

    fingerprint: str
    outcome: str


def outcomes_of(calls: Sequence[FinishedCall], fingerprint: str) -> list[str]:
    """Return the outcomes of the calls with *fingerprint*, newest first."""
    return [outcome for called, outcome in reversed(calls) if called == fingerprint]


def streak(outcomes: Sequence[str]) -> int:
    """Return how many outcomes, from the newest on, equal the newest: S of the specification."""
    for length, outcome in enumerate(outcomes):
        if outcome != outcomes[0]:
            return length
    return len(outcomes)


def alternation(calls: Sequence[FinishedCall], fingerprint: str) -> int:
    """Return how many of the newest calls go to and fro between two: P of the specification.

    The attempt with *fingerprint* goes on with it, so the newest call is the other one. Each of
    the two must have given one outcome all along; if not, there is no alternation at all: 0.
    """
    other_and_own = calls[:-3:-1]
    if [call.fingerprint == fingerprint for call in other_and_own] != [False, True]:
        return 0
    for length, call in enumerate(reversed(calls)):
        expected = other_and_own[length % 2]
        if call.fingerprint != expected.fingerprint:
            return length
        if call.outcome != expected.outcome:
            return 0
    return len(calls)

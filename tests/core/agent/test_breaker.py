"""`SummaryBreaker`: a summariser that is down is not asked at every model call."""

from __future__ import annotations

import pytest

from loopguard_core.agent.thread_shaping import SummaryBreaker

OK, FAILS = True, False


def asked(outcomes: list[bool], folds: int) -> int:
    """Return how often a summariser is asked in so many folds; its last outcome repeats."""
    breaker, asked = SummaryBreaker(), 0
    for _ in range(folds):
        if breaker.lets_through():
            breaker.note(failed=outcomes[min(asked, len(outcomes) - 1)] is FAILS)
            asked += 1
    return asked


@pytest.mark.parametrize(
    ("outcomes", "times"),
    [
        ([OK], 60),
        ([FAILS, OK], 60),
        ([FAILS, FAILS, OK, FAILS, FAILS, OK], 60),
        ([FAILS], 3 + 3),  # three in a row, then once in seventeen
        ([FAILS, FAILS, FAILS, OK], 60 - 16),
    ],
)
def test_it_opens_after_three_failures_in_a_row(outcomes: list[bool], times: int) -> None:
    """And lets one through again after sixteen folds; one success closes it."""
    assert asked(outcomes, folds=60) == times

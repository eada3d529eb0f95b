"""Equal rounds of calls and results."""

from __future__ import annotations

from typing import Any

import pytest

from loopguard_core.agent.chat import ToolCall
from loopguard_core.agent.exchange_signature import ExchangeCounter, exchange_signature

from .cases import cases, ids

CASES = cases("exchange_signature")
Round = tuple[list[ToolCall], list[str]]


def a_round(given: dict[str, Any]) -> Round:
    """Read a round of a case."""
    return [ToolCall(**call) for call in given["calls"]], given["results"]


def test_no_case_is_missing() -> None:
    """Every case of the file is run."""
    assert len(CASES) == 6


@pytest.mark.parametrize("case", CASES, ids=ids(CASES))
def test_signature(case: dict[str, Any]) -> None:
    """A round has the hash that the reference gives it, and the counter agrees on what is equal."""
    a, b = (a_round(case["in"][key]) for key in "ab")
    assert [f"{exchange_signature(*one):016x}" for one in (a, b)] == [
        case["out"]["a"],
        case["out"]["b"],
    ]
    counter = ExchangeCounter()
    counter.observe(*a)
    assert (counter.observe(*b) == 2) is case["out"]["equal"]


def test_counter_starts_over_at_a_different_round() -> None:
    """Only equal rounds in a row are counted."""
    counter = ExchangeCounter()
    call = ToolCall("1", "poll", "{}")
    assert [counter.observe([call], [result]) for result in "aabaaa"] == [1, 2, 1, 1, 2, 3]


def test_an_empty_round_is_a_round() -> None:
    """The first round is never equal to one before it, not even one without calls."""
    counter = ExchangeCounter()
    assert [counter.observe([], []), counter.observe([], [])] == [1, 2]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((["ab", "c"], "", ""), (["a", "bc"], "", "")),
        ((["a"], "b", ""), (["a"], "", "b")),
        ((["f"], "\ud800", ""), (["f"], "\ufffd", "")),
    ],
)
def test_a_text_does_not_run_into_the_next(one: Any, other: Any) -> None:
    """Names, arguments and results keep apart, and a lone surrogate is like nothing else."""

    def built(names: list[str], arguments: str, result: str) -> Round:
        return [ToolCall("", name, arguments) for name in names], [result for _ in names]

    counter = ExchangeCounter()
    counter.observe(*built(*one))
    assert counter.observe(*built(*other)) == 1
    assert exchange_signature(*built(*one)) != exchange_signature(*built(*other))


def test_more_results_than_calls() -> None:
    """A result without a call does not count."""
    call = ToolCall("1", "f", "{}")
    assert exchange_signature([call], ["r", "s"]) == exchange_signature([call], ["r"])

"""What calls cost, split."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.agent.entries import EntryUsage
from loopguard_core.agent.runner import TokenReport
from loopguard_core.agent.runner.events import token_report
from loopguard_core.agent.usage import TokenUsage, cached_tokens, entry_usage, new_tokens

from .cases import cases, ids

REPORTS, WIRE = cases("usage", "entry_usage"), cases("usage", "usage_json")


def test_number_of_cases() -> None:
    """All conformance cases are there."""
    assert (len(REPORTS), len(WIRE)) == (6, 2)
    assert len(cases("usage")) == 8


@pytest.mark.parametrize("case", REPORTS, ids=ids(REPORTS))
def test_entry_usage(case: dict[str, Any]) -> None:
    """A report is split as the reference does it; none, or an empty one, keeps nothing."""
    fields = case["in"]["usage"]
    report = fields and TokenReport(
        **{"cached" if name == "cached_nested" else name: count for name, count in fields.items()}
    )
    expected = case["out"]["entry_usage"]
    assert entry_usage(report) == (EntryUsage(**expected) if expected else None)
    if report:
        assert cached_tokens(report) == case["out"]["cached"]
        assert new_tokens(report) == case["out"]["new"]


@pytest.mark.parametrize("case", WIRE, ids=ids(WIRE))
def test_wire_form(case: dict[str, Any]) -> None:
    """What an endpoint sends is split alike."""
    report = token_report(json.loads(case["in"]["text"]))
    assert report is not None
    assert case["out"] == {
        "prompt": report.prompt,
        "completion": report.completion,
        "cached": cached_tokens(report),
        "new": new_tokens(report),
    }


def test_a_negative_count_is_none() -> None:
    """A bad endpoint's nested count does not hide its flat one, nor does a flat one go below 0."""
    assert cached_tokens(TokenReport(prompt=9, cached=-1, cache_read=4)) == 4
    assert cached_tokens(TokenReport(prompt=9, cache_read=-4)) == 0
    assert entry_usage(TokenReport(prompt=9, completion=-1)) == EntryUsage(processed=9)


def test_latency_alone_is_kept() -> None:
    """A report of zeros is nothing, unless the time is known."""
    assert entry_usage(TokenReport()) is None
    assert entry_usage(TokenReport(), latency_ms=9) == EntryUsage(latency_ms=9)
    assert entry_usage(None, latency_ms=9) is None


def test_totals_add_up() -> None:
    """Calls with a report are counted and added; the size of the context is set."""
    usage = TokenUsage().with_active(7)
    usage = usage.plus(TokenReport(prompt=100, completion=10, cached=60)).plus(None)
    usage = usage.plus(TokenReport(prompt=5, completion=1)).with_active(9)
    assert usage == TokenUsage(total=116, active=9, cached=60, processed=45, generated=11, turns=2)


COUNTS = st.integers(-5, 1_000)


@given(st.lists(st.builds(TokenReport, prompt=COUNTS, completion=COUNTS, cache_read=COUNTS)))
@settings(derandomize=True, max_examples=100)
def test_parts_make_the_total(reports: list[TokenReport]) -> None:
    """As long as no more is cached than was sent; negative counts of a bad endpoint are 0."""
    reports = [report for report in reports if cached_tokens(report) <= max(report.prompt, 0)]
    usage = TokenUsage()
    for report in reports:
        entry_usage(report)
        usage = usage.plus(report)
    assert usage.cached + usage.processed + usage.generated == usage.total
    assert min(usage.cached, usage.processed, usage.generated) >= 0
    assert usage.turns == len(reports)

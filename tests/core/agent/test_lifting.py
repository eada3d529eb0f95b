"""Requests that tools make of the host."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopguard_core.agent.lifting import (
    LiftRequest,
    parse_clear_request,
    parse_lift_request,
    pending_result,
)
from loopguard_core.agent.notices import NoticeKey

from .cases import cases, ids

LIFTS = cases("lift_clear", "lift")
CLEARS = cases("lift_clear", "clear")
PENDINGS = cases("lift_clear", "pending")


def test_number_of_cases() -> None:
    """All conformance cases are there."""
    assert (len(LIFTS), len(CLEARS), len(PENDINGS)) == (19, 10, 2)
    assert len(cases("lift_clear")) == 31


@pytest.mark.parametrize("case", LIFTS, ids=ids(LIFTS))
def test_lift(case: dict[str, Any]) -> None:
    """A lift request is read, and all else is none; key names match in any letter case (Q16)."""
    out = case["out"]
    expected = None
    if out["ok"]:
        expected = LiftRequest(correlation_id=out["correlation_id"], ttl_s=out["ttl_s"])
    assert parse_lift_request(case["in"]["text"]) == expected


@pytest.mark.parametrize("case", CLEARS, ids=ids(CLEARS))
def test_clear(case: dict[str, Any]) -> None:
    """A clear request is read, and all else is none; key names match in any letter case (Q16)."""
    out = case["out"]
    expected = None
    if out["ok"]:
        expected = NoticeKey(group_by=out["group_by"], key=out["key"])
    assert parse_clear_request(case["in"]["text"]) == expected


@pytest.mark.parametrize("case", PENDINGS, ids=ids(PENDINGS))
def test_pending(case: dict[str, Any]) -> None:
    """The model is told all that it needs, and a deadline only if there is one."""
    given, out = case["in"], case["out"]
    text = pending_result(given["corr"], given["call"], given["ttl_s"])
    assert [words for words in out["must_contain"] if words not in text] == []
    assert [words for words in out["must_not_contain"] if words in text] == []


def test_without_a_deadline_none_is_named() -> None:
    """Nothing said is no deadline."""
    assert "Deadline" not in pending_result("a", "b")
    assert pending_result("a", "b", 1).endswith("Deadline: 1s")


LIFT = {"pending": True, "correlation_id": "k"}


@pytest.mark.parametrize(
    ("ttl", "seconds"),
    [
        ("null", 0),
        ("0", 0),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", None),
        ("-9223372036854775809", None),
        ("9" * 5_000, None),
        ("true", None),
        ("1.0", None),
        ('"30"', None),
        ("[]", None),
        ("NaN", None),
    ],
)
def test_ttl_is_an_integer_of_64_bits(ttl: str, seconds: int | None) -> None:
    """A deadline of another kind makes an ordinary result."""
    request = parse_lift_request(f'{{"pending":true,"correlation_id":"k","ttl_s":{ttl}}}')
    assert (request and request.ttl_s) == seconds


def test_the_last_of_equal_keys_counts() -> None:
    """Not the first one."""
    text = '{"pending":false,"pending":true,"correlation_id":"a","correlation_id":"b"}'
    assert parse_lift_request(text) == LiftRequest(correlation_id="b")


@pytest.mark.parametrize(
    "text",
    [
        "{" * 100_000,
        '{"a":' * 100_000,
        json.dumps(LIFT)[:-1] + ',"x":' + "[" * 100_000 + "]" * 100_000 + "}",
        json.dumps(LIFT)[:-1] + ',"x":Infinity}',
        json.dumps(LIFT)[:-1],
        json.dumps({**LIFT, "correlation_id": ""}),
        "\ufeff" + json.dumps(LIFT),
        json.dumps(LIFT) + "\u00a0",
    ],
    ids=lambda text: ascii(text[:12]),
)
def test_hostile_results_are_ordinary_ones(text: str) -> None:
    """Nothing that a tool returns raises."""
    assert parse_lift_request(text) is None
    assert parse_clear_request(text.replace("pending", "clear")) is None

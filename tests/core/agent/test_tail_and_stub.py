"""The pristine tail and the stubs before it: the conformance cases, and the quirks mended."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopguard_core.agent.budget import byte_length
from loopguard_core.agent.entries import Entry
from loopguard_core.agent.shaping import (
    ShaperPolicy,
    pristine_tail,
    stub_arguments,
    stub_text,
    whole_rounds,
)

from .cases import cases, ids
from .quirks import FIXED

TAILS = cases("pristine_tail")
STUBS = cases("lod_stub", "lod_stub")
TARGETS = cases("lod_stub", "shape_target")


def test_no_case_is_lost() -> None:
    """The copies hold as many cases as they were made with."""
    assert (len(TAILS), len(STUBS), len(TARGETS)) == (13, 6, 8)


@pytest.mark.parametrize("case", TAILS, ids=ids(TAILS))
def test_the_tail(case: dict[str, Any]) -> None:
    """As many entries are left alone as the case names."""
    given = case["in"]
    limits = given["msgs"], given["tools"]
    assert pristine_tail(given["kinds"], *limits) == case["out"]


@pytest.mark.parametrize("case", STUBS, ids=ids(STUBS))
def test_the_stub(case: dict[str, Any]) -> None:
    """The stub is the case's, save where a quirk is mended."""
    given, expected = case["in"], case["out"]["stub"]
    if case["id"] == "lod_stub-004":
        expected = None
    elif case["id"] == "lod_stub-010":
        expected = expected.replace("\N{REPLACEMENT CHARACTER}", "")
    assert (case["id"] in FIXED) is (expected != case["out"]["stub"])
    assert stub_text(given["id"], given["content"], given["max"]) == expected


@pytest.mark.parametrize("case", TARGETS, ids=ids(TARGETS))
def test_the_target(case: dict[str, Any]) -> None:
    """The budget without the headroom, or all of it where nothing would be left."""
    given = case["in"]
    policy = ShaperPolicy(
        budget_tokens=given["budget"], lod_headroom_tokens=given["headroom"], always_lod=True
    )
    assert policy.target_tokens == case["out"]


@pytest.mark.parametrize(
    ("text", "threshold", "has_stub"),
    [
        ("x" * 100, 40, False),
        ("x" * 130, 99, False),
        ("x" * 200, 99, True),
        ("short", 0, False),
        ("short", -1, False),
        ("é" * 60, 119, True),
        ("é" * 60, 120, False),
    ],
)
def test_which_texts_have_a_stub(text: str, threshold: int, *, has_stub: bool) -> None:
    """Those over the threshold; with a small one only where it makes them shorter (Q18)."""
    assert (stub_text("id", text, threshold) is not None) is has_stub


def test_a_stub_of_arguments_is_json() -> None:
    """A provider parses the arguments of earlier calls (quirk Q21)."""
    arguments = json.dumps({"body": '"\\\n\ud83d' + "é" * 5000})
    stub = stub_arguments("c1", arguments, 400)
    assert stub is not None
    assert "event_id=c1" in json.loads(stub)["_truncated"]
    assert byte_length(stub) < byte_length(arguments)
    assert stub_arguments("c1", "{}", 400) is None


def _entries(shape: str) -> list[Entry]:
    """Make entries from words: `u`, `a`, `n`, `c1` (call) and `r1` (its result)."""
    kinds = {"u": "user", "a": "assistant", "n": "note", "c": "tool_call", "r": "tool_result"}
    return [
        Entry(kind=kinds[word[0]], id=str(at), tool_call_id=word[1:])
        for at, word in enumerate(shape.split())
    ]


@pytest.mark.parametrize(
    ("shape", "start", "expected"),
    [
        ("u c1 r1 a", 2, 1),
        ("u a c1 r1 a", 3, 1),
        ("u a c1 c2 r1 r2 a", 5, 1),
        ("u c1 n r1 a", 3, 1),
        ("u c1 r1 c2 r2 a", 3, 3),
        ("u c1 r1 u c1 r1 a", 5, 4),
        ("u c1 r1 a u r1 a", 5, 5),
        ("u a u c1", 4, 3),
        ("u c1 c2 r1", 4, 1),
        ("u c1 u a u", 4, 4),
        ("r9 u a", 2, 2),
        ("u a u a", 2, 2),
        ("", 0, 0),
    ],
)  # fmt: skip
def test_the_tail_parts_no_round(shape: str, start: int, expected: int) -> None:
    """It begins with a call's message if it holds its result, or if the call is unanswered."""
    assert whole_rounds(_entries(shape), start) == expected

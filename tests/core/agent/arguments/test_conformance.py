"""The argument gate and its parts against the reference's cases."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from loopguard_core.agent.arguments import (
    ScanState,
    first_value,
    gate_arguments,
    refusal_cut,
    refusal_not_object,
    repair_json,
    stand_in,
)
from tests.core.agent.cases import cases, ids
from tests.core.agent.quirks import FIXED

GATE = cases("args_gate", "check_args")
REPAIR = cases("args_gate", "repair")
DECODE = cases("args_gate", "decode_err")
REJECTED = cases("args_gate", "rejected")
STATES = {
    ScanState.COMPLETE: "ok",
    ScanState.CUT_OFF: "truncated",
    ScanState.MALFORMED: "syntax",
}


def test_no_case_is_missing() -> None:
    """Every case of the file is run by one of the tests here."""
    assert len(cases("args_gate")) == len(GATE + REPAIR + DECODE + REJECTED) == 78


@pytest.mark.parametrize("case", GATE, ids=ids(GATE))
def test_gate(case: dict[str, Any]) -> None:
    """A text is fit, mended or refused as the reference does it."""
    gated = gate_arguments(case["in"]["text"])
    if case["id"] in FIXED:
        assert refusal_token(gated.refusal) == "⟦refusal_syntax⟧"
        return
    assert (gated.text, refusal_token(gated.refusal)) == (
        case["out"]["args"],
        case["out"]["refusal"],
    )


def refusal_token(refusal: str) -> str:
    """Replace our wording by the token that stands for it in the cases."""
    if size := re.search(r"\d+(?= bytes)", refusal):
        assert refusal == refusal_cut(int(size[0]))
        return f"⟦refusal_cut chars={size[0]}⟧"
    if kind := re.search(r"these are: (\w+)", refusal):
        assert refusal == refusal_not_object(kind[1])
        return f"⟦refusal_not_object got={kind[1]}⟧"
    return "⟦refusal_syntax⟧" if refusal else ""


@pytest.mark.parametrize("case", REPAIR, ids=ids(REPAIR))
def test_repair(case: dict[str, Any]) -> None:
    """A loose text is mended, or is not, as the reference does it."""
    repaired = repair_json(case["in"]["text"])
    assert {
        "outcome": repaired.outcome,
        "fixed": repaired.text,
        "repairs": list(repaired.repairs),
    } == case["out"]


@pytest.mark.parametrize("case", DECODE, ids=ids(DECODE))
def test_first_value(case: dict[str, Any]) -> None:
    """A text that ends too early is told from one that is wrong."""
    assert STATES[first_value(case["in"]["text"]).state] == case["out"]


@pytest.mark.parametrize("case", REJECTED, ids=ids(REJECTED))
def test_stand_in(case: dict[str, Any]) -> None:
    """What stands in for refused arguments holds why, how much and the end of it."""
    stored = json.loads(stand_in(case["in"]["raw"], case["in"]["why"]))
    assert {
        "error_key": stored["_error"],
        "raw_bytes": stored["_raw_chars"],
        "tail": stored["_tail"],
        "keys_in_order": list(stored),
    } == case["out"]

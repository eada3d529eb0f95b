"""Control tokens in tool results."""

from __future__ import annotations

from typing import Any

import pytest

from loopguard_core.agent.neutral import neutralize_special_tokens

from .cases import cases, ids

CASES = cases("neutralize")


def test_number_of_cases() -> None:
    """All conformance cases are there."""
    assert len(CASES) == 9


@pytest.mark.parametrize("case", CASES, ids=ids(CASES))
def test_case(case: dict[str, Any]) -> None:
    """A case comes out as the reference does it, and a second time changes nothing."""
    once = neutralize_special_tokens(case["in"]["text"])
    assert once == case["out"]
    assert neutralize_special_tokens(once) == once


def test_a_megabyte_of_marks_is_replaced() -> None:
    """Every mark goes, however many there are, surrogates beside them or not."""
    assert neutralize_special_tokens("<|\ud800" * 300_000) == "&lt;|\ud800" * 300_000

"""Results cut in their middle."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.agent.budget import byte_length
from loopguard_core.agent.result_cut import ResultCut, cut_result, head_and_tail, is_cut

from .cases import cases, ids

CASES = cases("truncate", "truncate")


def test_number_of_cases() -> None:
    """All conformance cases are there."""
    assert len(CASES) == 11
    assert len(cases("truncate")) == 14


@pytest.mark.parametrize("case", CASES, ids=ids(CASES))
def test_case(case: dict[str, Any]) -> None:
    """Head, tail, numbers and sections are the reference's."""
    text, limit, out = case["in"]["text"], case["in"]["limit"], case["out"]
    cut = head_and_tail(text, limit)
    if out == {"unchanged": True}:
        assert cut is None
        assert cut_result(text, limit) == text
        return
    expected = ResultCut(**{**out, "sections": tuple(out["sections"])})
    assert cut == expected
    assert cut_result(text, limit) == f"{out['head']}{expected.marker()}{out['tail']}"


@given(st.text(st.characters(), max_size=40), st.integers(1, 60))
@settings(derandomize=True, max_examples=200)
def test_both_ends_of_a_text_stay(text: str, limit: int) -> None:
    """Head and tail are ends of the text and take the limit and at most three bytes."""
    cut = head_and_tail(text, limit)
    assert (cut is None) == (byte_length(text) <= limit)
    if cut is not None:
        assert text.startswith(cut.head)
        assert text.endswith(cut.tail)
        assert byte_length(cut.head) <= limit * 2 // 3
        assert byte_length(cut.head) + byte_length(cut.tail) <= limit + 3
        assert cut.dropped == cut.total - limit
        assert is_cut(cut.text(), limit)
        assert not is_cut(text, limit)
        assert cut.total == byte_length(text)


def test_a_long_result_gets_shorter() -> None:
    """What is left is the limit and a marker."""
    shown = cut_result("line\n" * 100_000, 1_000)
    assert 1_000 < byte_length(shown) < 1_200


def test_the_marker_says_what_is_missing_and_how_to_show_it() -> None:
    """The words that the specification asks for, placeholders of the sections included."""
    cut = head_and_tail("<b>2</b><a>1</a>" + "q" * 100, 20)
    assert cut is not None
    assert cut.marker().startswith("\n…[truncated 96 of 116 chars")
    assert cut.marker().endswith("]…\n")
    assert "{OUTPUT}" in cut.marker()
    assert "{a} {b}" in cut.marker()


def test_the_marker_of_an_old_result_offers_nothing() -> None:
    """`{OUTPUT}` stands for another result by now, so the hint would be wrong (Q31)."""
    shown = cut_result("<a>1</a>" + "q" * 100, 20, expandable=False)
    assert "…[truncated 88 of 108 chars]…" in shown
    assert "{" not in shown


def test_the_marker_stays_short_with_many_sections() -> None:
    """A document with thousands of tags, or one endless tag, does not blow its marker up."""
    many = "".join(f"<section_{n}>{n}</section_{n}>" for n in range(10_000))
    endless = f"<{'a' * 5_000}>x</{'a' * 5_000}>"
    for text in (many, endless):
        cut = head_and_tail(text, 300)
        assert cut is not None
        assert byte_length(cut.marker()) < 600
        assert "more)" in cut.marker()
    assert "(1 more)" in cut_result(endless, 300)


@pytest.mark.parametrize("text", ["\ud800" * 100, "é\udfff" * 50, "{" * 300, "<a>" * 100])
def test_any_text_can_be_cut(text: str) -> None:
    """Lone surrogates and open tags are data."""
    assert "truncated" in cut_result(text, 50)

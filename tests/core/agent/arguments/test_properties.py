"""What holds for any text that a model may write as arguments."""

from __future__ import annotations

import json
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.agent.arguments import (
    RepairOutcome,
    Scan,
    ScanState,
    first_value,
    gate_arguments,
    repair_json,
    stand_in,
)
from loopguard_core.agent.budget import byte_length

few = settings(derandomize=True, max_examples=100, deadline=None)
fewer = settings(few, max_examples=30)

CHARACTERS = st.characters(codec=None, exclude_categories=())
TEXTS = st.text(CHARACTERS, max_size=12)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=4)
INDENTS = st.sampled_from([None, 0, 2])
NEARLY_JSON = st.lists(
    st.sampled_from(
        [*"{}[]:,\"'\\ \n\t0-1.eE+`$_a/", "true", "nul", "None", "```", "\\u00", '"k"', '{"a":1']
    ),
    max_size=12,
).map("".join)


def python_agrees(text: str) -> bool:
    """Say whether Python's reader takes *text*, without what it takes beyond JSON."""
    try:
        json.loads(text, parse_constant=refuse, parse_int=str)
    except ValueError:
        return False
    return True


def refuse(constant: str) -> None:
    """Refuse NaN and Infinity."""
    raise ValueError(constant)


@given(OBJECTS, INDENTS, st.booleans())
@few
def test_a_valid_object_is_fit_and_unchanged(
    value: dict[str, object], indent: int | None, ascii_only: bool
) -> None:
    """What is valid is not touched, however it is laid out."""
    text = f" {json.dumps(value, indent=indent, ensure_ascii=ascii_only)}\r\n"
    gated = gate_arguments(text)
    assert (gated.text, gated.stored, gated.refusal, gated.repairs) == (text, text, "", ())


@given(OBJECTS, INDENTS, st.booleans())
@fewer
def test_every_start_of_a_valid_object_is_cut_off(
    value: dict[str, object], indent: int | None, ascii_only: bool
) -> None:
    """A call that was cut is known as such wherever the cut fell, and is not mended."""
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    for size in range(len(text)):
        start = text[:size]
        assert first_value(start) == Scan(ScanState.CUT_OFF, size)
        assert repair_json(start).outcome is RepairOutcome.TRUNCATED
        gated = gate_arguments(start)
        assert gated.text == start
        assert ("truncation detected" in gated.refusal) is bool(start)


@given(NEARLY_JSON | TEXTS)
@few
def test_the_scanner_agrees_with_the_reader_on_what_is_valid(text: str) -> None:
    """A text is one value for the scanner exactly if Python's reader can read it."""
    stripped = text.strip(" \t\n\r")
    whole = first_value(stripped) == Scan(ScanState.COMPLETE, len(stripped))
    assert whole is python_agrees(stripped)


@given(NEARLY_JSON)
@few
def test_cut_off_means_that_more_text_can_mend_it(text: str) -> None:
    """A text is cut off exactly if it is the start of some value; what is malformed never is."""
    scan = first_value(text)
    if scan.state is ScanState.CUT_OFF:
        assert scan.end == len(text)
        assert any(python_agrees(text + more) for more in completions(text))
    elif scan.state is ScanState.MALFORMED:
        assert scan.end < len(text)
        assert first_value(text[: scan.end]).state is not ScanState.MALFORMED
        assert first_value(text[: scan.end + 1]) == scan


def completions(text: str) -> list[str]:
    """Return what would end *text*, tried blindly: a token, a value, and every open bracket."""
    tokens = ["", '"', '":0', "0", "00", "0000", "rue", "ue", "e", "alse", "lse", "se", "ull"]
    tokens += ["ll", "l", ":0", '"":0', '"a":0', "}", "]", '\\"', "n", 'n"', 'n":0', '00"', '00":0']
    tokens += ["0" * n + end for n in range(5) for end in ('"', '":0')]
    # Which brackets are open is the question, so each choice of them is tried.
    closers = ["}" if char == "{" else "]" for char in reversed(text) if char in "{["]
    ends = {"".join(some) for some in product(*(("", closer) for closer in closers[:8]))}
    return [token + end for token in tokens for end in ends]


@given(NEARLY_JSON | TEXTS)
@few
def test_whatever_is_let_through_parses(text: str) -> None:
    """Fit arguments are blank or one object; refused ones are stored as one."""
    gated = gate_arguments(text)
    if gated.refusal:
        assert gated.text == text
        assert "NOT executed" in gated.refusal
        assert set(json.loads(gated.stored)) == {"_error", "_raw_chars", "_tail"}
    elif text.strip():
        assert isinstance(json.loads(gated.text), dict)


@given(NEARLY_JSON | TEXTS)
@few
def test_mended_text_is_an_object(text: str) -> None:
    """A repair that succeeds gives one JSON object, and says what it did."""
    repaired = repair_json(text)
    if repaired.outcome is RepairOutcome.OK:
        assert isinstance(json.loads(repaired.text), dict)
        assert repaired.repairs
        assert gate_arguments(repaired.text).text == repaired.text
    else:
        assert (repaired.text, repaired.repairs) == ("", ())


@given(OBJECTS)
@few
def test_python_spelling_is_mended_to_the_same_values(value: dict[str, object]) -> None:
    """Python's own spelling of an object, the most common loose form, keeps its values."""
    text = repr(value).replace("\\x", "\\u00").replace("\\U", "\\\\U")
    if "\\" in text or "nan" in text:
        return
    gated = gate_arguments(text)
    assert gated.refusal == ""
    assert json.loads(gated.text) == value


@given(st.text(CHARACTERS, max_size=1200), st.sampled_from([1, 7]))
@few
def test_stand_in_is_small_valid_and_encodable(text: str, times: int) -> None:
    """What stands in for refused arguments is bounded, whatever they are."""
    stored = stand_in(text * times, "why")
    assert len(stored.encode()) < 2_000
    assert json.loads(stored)["_raw_chars"] == byte_length(text * times)

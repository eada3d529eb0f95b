"""The compact form of JSON results."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.agent.tight import MAX_DEPTH, encode_tight_c

from .cases import cases, ids
from .quirks import FIXED

CASES = cases("toolfmt")
AS_REFERENCE = [case for case in CASES if case["id"] not in FIXED]


def test_number_of_cases() -> None:
    """All conformance cases are there, and all but one come out as the reference does them."""
    assert (len(CASES), len(AS_REFERENCE)) == (72, 71)


@pytest.mark.parametrize("case", AS_REFERENCE, ids=ids(AS_REFERENCE))
def test_case(case: dict[str, Any]) -> None:
    """A text comes out as the reference does it; of literals the values are compared (Q26)."""
    encoded = encode_tight_c(case["in"]["text"])
    if "Q26" in case.get("quirk", ()):
        assert _values(encoded) == _values(case["out"])
    else:
        assert encoded == case["out"]


def _values(encoded: str) -> list[object]:
    """Return what stands between literals, and the values of these."""
    pieces = re.split(r'("(?:[^"\\]|\\.)*")', encoded)
    return [json.loads(piece) if piece.startswith('"') else piece for piece in pieces]


def test_literals_escape_what_json_demands_alone() -> None:
    """A model reads fewer tokens (Q26)."""
    assert encode_tight_c('{"h":"a<b>&c d"}') == 'h:"a<b>&c d"'


@pytest.mark.parametrize("text", ['{"a":1}]', '{"a":1}}', "[1]]", '"x"}', "1]"])
def test_a_stray_bracket_makes_a_text_no_json(text: str) -> None:
    """toolfmt-080: the text comes back unchanged (Q12)."""
    assert encode_tight_c(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "plain words",
        '{"a":1',
        "[1,2",
        '{"a":Infinity}',
        "-Infinity",
        "[01]",
        "[1.]",
        "[.5]",
        "[+1]",
        "\ufeff[1]",
        "\u00a0[1]",
        '{"a":1,}',
        '"a\nb"',
        "\ud800",
        "[" * 100_000,
        "[" * 100_000 + "]" * 100_000,
        '{"a":' * 100_000,
        "[[1]" * 100_000,
    ],
    ids=lambda text: ascii(text[:14]),
)
def test_what_is_no_json_comes_back(text: str) -> None:
    """Byte for byte, however deep its brackets."""
    assert encode_tight_c(text) is text


def nested(depth: int) -> str:
    """Return a list that is nested *depth* deep and holds no white space."""
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    ("opening", "closing", "outer"),
    [("[", "]", "[{}]"), ('{"k":', "}", '{{"k":{}}}'), ("[", "]", '{{"k":{}}}')],
)
def test_depth_has_a_limit(opening: str, closing: str, outer: str) -> None:
    """A value of the greatest depth is encoded, one that is a level deeper comes back."""
    innermost = "[ 1 ]"
    at_limit = opening * (MAX_DEPTH - 1) + innermost + closing * (MAX_DEPTH - 1)
    assert " " not in encode_tight_c(at_limit)
    assert encode_tight_c(outer.format(at_limit)) == outer.format(at_limit)


def test_the_limit_does_not_depend_on_the_caller() -> None:
    """Deep in a program the form is the same as at its top."""
    text = nested(MAX_DEPTH).replace("[]", "[ ]")

    def deep(levels: int) -> str:
        return deep(levels - 1) if levels else encode_tight_c(text)

    assert deep(400) == encode_tight_c(text) == nested(MAX_DEPTH)


def test_numbers_keep_their_digits() -> None:
    """No double, no limit on digits, no other spelling."""
    digits = "9" * 10_000
    assert encode_tight_c(f'{{"n":{digits},"x":1.10e+05}}') == f"n:{digits},x:1.10e+05"


def test_a_string_of_digits_is_told_from_a_number() -> None:
    """In tables, lists and objects alike."""
    assert encode_tight_c('[{"a":1},{"a":"1"}]') == '[2]a\n1\n"1"'
    assert encode_tight_c('["1",1]') == '["1",1]'


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("-", True),
        ("01", True),
        ("1.", True),
        (".5", True),
        ("1e", True),
        ("+1", True),
        ("-01", True),
        ("truex", True),
        ("True", True),
        ("1x]", True),
        ("]", True),
        ("a[b]", True),
        ("a:b", True),
        ("٣", True),
        ("-0", False),
        ("1.5e-3", False),
        ("1E5", False),
        ("false", False),
        ("false]", True),
        ("1e5]", False),
        ("-0.0}x", False),
        ("[a", False),
        ("{", False),
        ("a\fb", False),
        ("a\vb", False),
        ("a\rb", False),
        ("null}", False),
    ],
)
def test_which_strings_are_bare(text: str, bare: bool) -> None:
    """A string is quoted where it could be taken for another value or for two."""
    expected = text if bare else json.dumps(text, ensure_ascii=False)
    assert encode_tight_c(json.dumps([text])) == f"[{expected}]"


@pytest.mark.parametrize(("key", "token"), [("1", "1"), ("true", "true"), ("[k", '"[k"')])
def test_keys_may_look_like_values(key: str, token: str) -> None:
    """Only strings are quoted for that."""
    assert encode_tight_c(json.dumps({key: 1})) == f"{token}:1"


def test_a_table_needs_every_row() -> None:
    """One odd row anywhere, and the list is no table."""
    row = {"a": 1, "b": [1]}
    assert encode_tight_c(json.dumps([row, row])).startswith("[2]a,b\n")
    for odd in ({"a": 1}, {"a": 1, "c": 1}, {**row, "c": 1}, [1], None, {}, {"a": 1, "b": [{}]}):
        assert "\n" not in encode_tight_c(json.dumps([row, row, odd]))


@pytest.mark.parametrize("text", ["{}", "[]", "[[],{}]"])
def test_what_is_empty_stays_visible(text: str) -> None:
    """An object without members is not nothing."""
    assert encode_tight_c(f" {text} ") == text


def test_a_string_of_several_lines_is_itself() -> None:
    """A result that is one JSON string with line ends is shown as the text that it is."""
    assert encode_tight_c('"a\\nb"') == "a\nb"
    assert encode_tight_c('"a\\tb"') == '"a\\tb"'


def test_lone_surrogates_are_replaced() -> None:
    """In keys, bare words and literals, so that the form can be sent."""
    encoded = encode_tight_c('{"\\ud800":"\\udfff","b":"x \\ud83d","c":"\\ud83d\\ude00"}')
    assert encoded == '\ufffd:\ufffd,b:"x \ufffd",c:😀'


def test_a_long_number_that_is_none_takes_linear_time() -> None:
    """Half a megabyte of digits before a letter is looked at once."""
    text = "1" * 500_000 + "x"
    assert encode_tight_c(json.dumps([text])) == f"[{text}]"


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(JSON_VALUES)
@settings(derandomize=True, max_examples=200)
def test_layout_of_the_source_does_not_matter(value: object) -> None:
    """White space and escapes of a JSON text leave no trace."""
    wide = json.dumps(value, indent=2)
    narrow = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    assert encode_tight_c(wide) == encode_tight_c(narrow)


@given(
    st.lists(
        st.fixed_dictionaries({"a": st.text(max_size=4), "b": st.integers()}),
        min_size=1,
        max_size=5,
    )
)
@settings(derandomize=True, max_examples=100)
def test_a_table_has_a_line_for_each_row(rows: list[dict[str, object]]) -> None:
    """No cell breaks its line, and the number at the top is right."""
    head, *lines = encode_tight_c(json.dumps(rows, sort_keys=True)).split("\n")
    assert head == f"[{len(rows)}]a,b"
    assert len(lines) == len(rows)

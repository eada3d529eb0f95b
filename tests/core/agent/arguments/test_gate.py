"""What the gate lets through, mends and refuses, beyond the reference's cases."""

from __future__ import annotations

import json

import pytest

from loopguard_core.agent.arguments import (
    GatedArguments,
    Repair,
    RepairOutcome,
    Scan,
    ScanState,
    first_value,
    gate_arguments,
    refusal_in,
    repair_json,
)

DEEP = 100_000
CUT = "truncation detected"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "\u3000",
        "{}",
        ' {"a":1}\r\n',
        '{\r\n\t"a"\r:\r[\r]\r}',
        '{"a":"\\uABCD\\u00ef\\/\\b\\f\x7f\u2028"}',
        '{"a":1,"a":2}',
        '{"n":1e999,"m":-0.0E-7}',
        '{"n":' + "9" * 10_000 + "}",
        '{"lone":"\ud800","nul":"\\u0000","pair":"\\ud83d\\ude00","half":"\\ud83d"}',
        '{"a":' * DEEP + "[]" + "}" * DEEP,
    ],
    ids=lambda text: repr(text[:30]),
)
def test_fit_arguments_are_not_touched(text: str) -> None:
    """Blank texts and valid objects pass as they are, however large, deep or odd."""
    assert gate_arguments(text) == GatedArguments(text)


def test_white_space_that_json_does_not_have_is_taken_off() -> None:
    """What is dispatched can be parsed, even if a no-break space stood around it."""
    assert gate_arguments('\xa0{"a":1}\u2003') == GatedArguments('{"a":1}')


@pytest.mark.parametrize(
    ("text", "text_after", "repairs"),
    [
        ("{'a':'it\\'s \"x\"'}", '{"a":"it\'s \\"x\\""}', (Repair.SINGLE_QUOTES,)),
        ('{"a":[1,\n\t],}', '{"a":[1\n\t]}', (Repair.TRAILING_COMMA,)),
        ('{"a":[True,False,None]}', '{"a":[true,false,null]}', (Repair.PYTHON_LITERALS,)),
        ("{a:1,true:2,_b$ :3}", '{"a":1,"true":2,"_b$" :3}', (Repair.BARE_KEYS,)),
        ('```\n{"a":"True, \'x\',}"}\n```  ', '{"a":"True, \'x\',}"}', (Repair.CODE_FENCE,)),
        (
            "```python\n{a: 'True', 'b': None,}\n```",
            '{"a": "True", "b": null}',
            (
                Repair.CODE_FENCE,
                Repair.SINGLE_QUOTES,
                Repair.TRAILING_COMMA,
                Repair.PYTHON_LITERALS,
                Repair.BARE_KEYS,
            ),
        ),
    ],
)
def test_loose_writing_is_mended(text: str, text_after: str, repairs: tuple[Repair, ...]) -> None:
    """Each kind of repair is made and named, and nothing inside a literal is touched."""
    assert gate_arguments(text) == GatedArguments(text_after, repairs=repairs)


@pytest.mark.parametrize(
    "text",
    [
        *("{", '{"a', '{"a":1,', '{"a":"\\u12', '{"a":"\\', '{"a":1.', "{a:'x", "{a:1,"),
        *("```\n{'a':1", "[" * DEEP, '{"a":' * DEEP, "{a:" * DEEP),
    ],
    ids=lambda text: repr(text[:30]),
)
def test_a_cut_off_call_is_never_mended(text: str) -> None:
    """What ends too early is refused with the bytes that came, also if it is written loosely."""
    gated = gate_arguments(text)
    assert (gated.text, gated.repairs) == (text, ())
    assert CUT in gated.refusal
    assert f"{len(text.encode())} bytes" in gated.refusal


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": <x>}', "unexpected '<' after '{\"a\": '"),
        ('{"path":"/"}, "dry_run": true}', "unexpected ','"),
        ('{"a":1} \n{"b":2}', "unexpected '{'"),
        ('{"a":1}}', "unexpected '}'"),
        ("{} 'open", 'unexpected "\'"'),
        ("]", "unexpected ']' at the start"),
        ('{"a":01}', "unexpected '1'"),
        ('{"a":"\n"}', "unexpected '\\n'"),
        ('{"a":\ud800}', "unexpected '\\ud800'"),
        ("{'a':True}}", 'unexpected "\'"'),
    ],
)
def test_malformed_arguments_are_refused_with_the_place(text: str, said: str) -> None:
    """The model is told which character does not fit, and a refusal is not taken for a cut."""
    gated = gate_arguments(text)
    assert gated.text == text
    assert said in gated.refusal
    assert gated.refusal.startswith("ERROR: malformed json")
    assert CUT not in gated.refusal


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('"x"', "string"),
        ("[{}]", "array"),
        ("-1.5", "number"),
        ("7", "number"),
        ("false", "boolean"),
        ("true", "boolean"),
        ("null", "null"),
        ('[1] {"a":1}', "array"),
    ],
)
def test_other_values_are_refused_by_their_kind(text: str, kind: str) -> None:
    """Arguments are an object, and the model is told what they are instead."""
    refusal = gate_arguments(text).refusal
    assert "must be a JSON object" in refusal
    assert f": {kind}. " in refusal
    assert "NOT executed" in refusal


def test_refused_arguments_are_stored_as_an_object() -> None:
    """The store gets an object that says what happened, in the place of what cannot be parsed."""
    gated = gate_arguments('{"path":"Big.py","content":"class Big {')
    assert json.loads(gated.stored) == {
        "_error": gated.refusal,
        "_raw_chars": 39,
        "_tail": '{"path":"Big.py","content":"class Big {',
    }


@pytest.mark.parametrize("text", ["\0" * 10_000, '"' * 10_000, "日" * 5_000, "\ud800" * 5_000])
def test_what_stands_in_is_bounded(text: str) -> None:
    """Whatever arrived, its stand-in is small, valid, and ends as it did."""
    stored = gate_arguments("{" + text).stored
    assert len(stored.encode()) < 2_500
    tail = json.loads(stored)["_tail"]
    assert tail.startswith("…")
    assert 200 < len(tail.encode()) <= 803
    assert set(tail[1:]) == {"\ufffd" if text[0] == "\ud800" else text[0]}


@pytest.mark.parametrize(
    ("text", "state", "end"),
    [
        ("  [1] x", ScanState.COMPLETE, 5),
        ("nullx", ScanState.COMPLETE, 4),
        ("01", ScanState.COMPLETE, 1),
        ("nulx", ScanState.MALFORMED, 3),
        ("1.x", ScanState.MALFORMED, 2),
        ("1e+-", ScanState.MALFORMED, 3),
        ("1.5.", ScanState.COMPLETE, 3),
        ("--1", ScanState.MALFORMED, 1),
        ('"\\ug', ScanState.MALFORMED, 3),
        ('"\\q', ScanState.MALFORMED, 2),
        ('"\x1f"', ScanState.MALFORMED, 1),
        ("1\u0662", ScanState.COMPLETE, 1),
        ("[\xa01]", ScanState.MALFORMED, 1),
        ("[,", ScanState.MALFORMED, 1),
        ("[1,]", ScanState.MALFORMED, 3),
        ('{"a":1,}', ScanState.MALFORMED, 7),
        ("[1}", ScanState.MALFORMED, 2),
        ("", ScanState.CUT_OFF, 0),
        ("-", ScanState.CUT_OFF, 1),
        ("1E+", ScanState.CUT_OFF, 3),
        ('"' + "\\n" * 5_000, ScanState.CUT_OFF, 10_001),
        ('"' + "\\n" * 5_000 + '"', ScanState.COMPLETE, 10_002),
        ("NaN", ScanState.MALFORMED, 0),
        ("-Infinity", ScanState.MALFORMED, 1),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_the_scanner_stops_at_the_first_character_that_does_not_fit(
    text: str, state: ScanState, end: int
) -> None:
    """A value ends behind its last character; a fault is where it can first be known."""
    assert first_value(text) == Scan(state, end)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("", RepairOutcome.TRUNCATED),
        ("[1,]", RepairOutcome.FAILED),
        ("{a:1}}", RepairOutcome.FAILED),
        (" \n```\n{}\n``` \n", RepairOutcome.OK),
        ("{a:1} 'x", RepairOutcome.TRUNCATED),
        ("{,,}", RepairOutcome.FAILED),
        ("```json {a:1}", RepairOutcome.FAILED),
        ("{'a':'\n'}", RepairOutcome.FAILED),
        ("{a:'" + "\\'" * 5_000, RepairOutcome.TRUNCATED),
        ("{a:'" + "\\'" * 5_000 + "'}", RepairOutcome.OK),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_comes_of_a_repair(text: str, outcome: RepairOutcome) -> None:
    """Only one whole object is a success, and a text that ends too early is never one."""
    assert repair_json(text).outcome is outcome


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        (json.loads(gate_arguments('{"a":').stored), True),
        ({"_error": "no"}, False),
        ({"_error": 1, "_raw_chars": 2, "_tail": ""}, False),
        ({"a": 1}, False),
        ({}, False),
    ],
)
def test_a_stand_in_is_known_again(arguments: dict[str, object], *, refused: bool) -> None:
    """Whoever runs the tool finds the refusal in the stand-in, and in nothing else."""
    assert bool(refusal_in(arguments)) is refused

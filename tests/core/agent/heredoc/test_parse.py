"""A reply is taken apart into prose and calls; what cannot be read is a value and raises nothing."""

from __future__ import annotations

import itertools
import json

import pytest

from loopguard_core.agent.heredoc import (
    FaultKind,
    close_heredoc,
    loose_json,
    parse_heredoc,
    render_call,
)


def _call(arguments: str, name: str = "use") -> str:
    return f"@@call {name}\n{arguments}\n@@end\n"


@pytest.mark.parametrize(
    ("reply", "prose", "names"),
    [
        ("", "", []),
        ("  only words\n", "only words", []),
        ("@@end", "@@end", []),
        ("about @@callous and @@call", "about @@callous and @@call", []),
        ("I look.\n" + _call("{}"), "I look.", ["use"]),
        ("Before " + _call("{}") + "After", "Before \nAfter", ["use"]),
        (_call("{}", "a") + "between\n" + _call("{}", "b"), "between", ["a", "b"]),
        (_call("{}", "  spaced name \t"), "", ["spaced name"]),
        ("@@call a\n{}@@call b\n{}", "", ["a", "b"]),
        ("@@call a\n{}@@end@@call b\n{}@@end", "", ["a", "b"]),
        ("@@call a\n{} @@end thanks", "thanks", ["a"]),
        ("@@call a\n{}\n\n  @@end\r\n", "", ["a"]),
        ("@@call a\n{}\n@@ending", "@@ending", ["a"]),
        ("@@call a\n{}\n@@end\n@@end\n", "", ["a"]),
        ("@@call a\n{} thanks\n@@end\n", "thanks", ["a"]),
        ("@@end\n@@call a\n{}\nsee @@end\n", "@@end\n\nsee @@end", ["a"]),
        ("".join(_call("{}", name) for name in "abcdef"), "", list("abcdef")),
    ],
)
def test_prose_and_calls_are_told_apart(reply: str, prose: str, names: list[str]) -> None:
    """The terminators behind a call are no prose (quirk Q02), and more than four calls are read."""
    found = parse_heredoc(reply)
    assert found.error is None
    assert (prose, names) == (found.prose, [call.name for call in found.calls])


@pytest.mark.parametrize("inside", ['"@@call x {"', "'@@end'", "~~~a\n@@call b\n{\n@@end\n~~~a\n"])
def test_marks_inside_a_value_are_content(inside: str) -> None:
    """A call that writes about calls is one call."""
    reply = parse_heredoc(_call(f"{{text: {inside}}}"))
    assert (len(reply.calls), reply.prose, reply.error) == (1, "", None)
    assert "@@" in json.loads(reply.calls[0].arguments)["text"]


def test_ids_are_minted_only_if_they_are_asked_for() -> None:
    """Storage wants ids (quirk Q05): one for each call, none for calls that come to nothing."""
    minted = itertools.count(1)
    reply = parse_heredoc(_call("{}") * 2, new_id=lambda: f"id{next(minted)}")
    assert [call.id for call in reply.calls] == ["id1", "id2"]
    assert [call.id for call in parse_heredoc(_call("{}")).calls] == [""]

    assert parse_heredoc(_call("{}") + "@@call b", new_id=lambda: f"id{next(minted)}").calls == ()
    assert next(minted) == 3


@pytest.mark.parametrize(
    ("reply", "kind", "tool"),
    [
        ("@@call wri", FaultKind.NO_ARGUMENTS, "wri"),
        ("@@call ", FaultKind.NO_ARGUMENTS, ""),
        ("@@call  \n{}", FaultKind.NO_NAME, ""),
        ("@@call f\n", FaultKind.NO_VALUE, "f"),
        ("@@call f\n@@end\n", FaultKind.NO_VALUE, "f"),
        ("@@call f\nplain words", FaultKind.NO_VALUE, "f"),
        ("@@call f\n[1, 2]", FaultKind.NOT_AN_OBJECT, "f"),
        ("@@call f\n{", FaultKind.VALUE_NEVER_CLOSED, "f"),
        ("@@call f\n{a: [1, 2}", FaultKind.VALUE_NEVER_CLOSED, "f"),
        ('@@call f\n{a: "x', FaultKind.STRING_NEVER_CLOSED, "f"),
        ('@@call f\n{a: "x\\"}', FaultKind.STRING_NEVER_CLOSED, "f"),
        ('@@call f\n{a: "x\\', FaultKind.STRING_NEVER_CLOSED, "f"),
        ("@@call f\n{a: 'it\\'s", FaultKind.STRING_NEVER_CLOSED, "f"),
        ("@@call f\n{a: ~~~", FaultKind.BODY_NEVER_CLOSED, "f"),
        ("@@call f\n{a: ~~~md\nx\n ~~~md\n}", FaultKind.BODY_NEVER_CLOSED, "f"),
        ("@@call f\n{a: ```\nx``\n}", FaultKind.BODY_NEVER_CLOSED, "f"),
        ("@@call f\n{a: [1}]", FaultKind.NOT_VALID_JSON, "f"),
        ("@@call f\n}", FaultKind.NOT_VALID_JSON, "f"),
        ("@@call f\nwords {a: 1}", FaultKind.NOT_VALID_JSON, "f"),
        ("@@call f\n{a: NaN}", FaultKind.NOT_VALID_JSON, "f"),
        ("@@call f\n{a: ~~x}", FaultKind.NOT_VALID_JSON, "f"),
        ("@@call f\n{a: undefined}", FaultKind.NOT_VALID_JSON, "f"),
        ("@@call f\n{a: 1 b: 2}", FaultKind.NOT_VALID_JSON, "f"),
    ],
)
def test_what_is_wrong_is_said(reply: str, kind: FaultKind, tool: str) -> None:
    """The fault names its place and the tool, and says `cut off` exactly where text is missing."""
    found = parse_heredoc("Words.\n" + reply)
    assert found.error is not None
    assert (kind, tool) == (found.error.kind, found.error.tool)
    assert (found.prose, found.calls) == ("Words.\n", ())
    assert found.error.cut_off is ("cut off" in found.error.message)
    assert found.error.cut_off is (
        kind is FaultKind.NO_ARGUMENTS or kind.value.endswith("never_closed")
    )
    assert tool in found.error.message


def test_a_broken_call_takes_the_complete_ones_with_it() -> None:
    """Half a batch is not executed: the model would not know which half."""
    found = parse_heredoc("a " + _call("{}") + "b " + _call("{x: '}") + _call("{}"))
    assert (found.calls, found.prose) == ((), "a \nb ")


def test_the_message_stays_short() -> None:
    """A name of a megabyte, or a long value, is shown in part."""
    long = "x" * 10**6
    found = parse_heredoc(f"@@call {long}\n{{a: '{long}', b: 1 c: {long} }}")
    assert found.error is not None
    assert len(found.error.message) < 250
    assert '"b": 1 "c"' in found.error.message


@pytest.mark.parametrize(
    ("loose", "expected"),
    [
        ("{a: True, b: False, c: None}", {"a": True, "b": False, "c": None}),
        ("{a: true, b: false, c: null}", {"a": True, "b": False, "c": None}),
        ("{'it\\'s': 'say \"hi\"\\n'}", {"it's": 'say "hi"\n'}),
        ('{"a": "\\"{[,}]\\u00e9"}', {"a": '"{[,}]é'}),
        ("{a : 1, $b_2\n: 2,}", {"a": 1, "$b_2": 2}),
        ("{a: [1, 2 , ], b: {},\r\n\t}", {"a": [1, 2], "b": {}}),
        ("\n \t{a: 1e5, b: -0.5E-3}", {"a": 1e5, "b": -0.5e-3}),
        ("{a: `x`, b: ``y`z``, c: ```\n\n```}", {"a": "x", "b": "y`z", "c": ""}),
        ("{a: ~~~\n~~~\n, b: ~~~~\n~~~\n~~~~ \t,\n}", {"a": "", "b": "~~~"}),
        ("{a: ~~~x y\nz\n~~~x y , \n}", {"a": "z"}),
        ("{a: ~~~md  \r\nx\n~~~md\t\n}", {"a": "x"}),
        ("{a: ~~~md\n~~~mdx\n~~~md x\n~~~md,x\n~~~md,\n}", {"a": "~~~mdx\n~~~md x\n~~~md,x"}),
        ('{a: "~~~ `x` \' @@end"}', {"a": "~~~ `x` ' @@end"}),
        ('{a: 1, a: 2, "": 3}', {"a": 2, "": 3}),
        ("{a: 1} and {more", {"a": 1}),
        ("[1, {b: 2}] tail", [1, {"b": 2}]),
        ("{,}", {}),
    ],
)
def test_loose_json_is_mended(loose: str, expected: object) -> None:
    """Models write JSON as they write programs; nothing inside a literal is touched."""
    found = loose_json(loose)
    assert found.fault is None
    assert expected == json.loads(found.json)


@pytest.mark.parametrize(
    "loose", ["{True: 1}", "{null: 1}", "{a-b: 1}", "{é: 1}", "{a: 1,,}", "{a: // no\n1}"]
)
def test_what_is_not_mended_is_a_fault(loose: str) -> None:
    """Words for values are no keys, and a wrong guess would be worse than an answer."""
    found = loose_json(loose)
    assert (found.json, found.end) == ("", 0)
    assert found.fault is not None
    assert found.fault.kind is FaultKind.NOT_VALID_JSON


def test_the_end_is_where_the_text_goes_on() -> None:
    """Reading starts where it is told to and ends behind the closing bracket."""
    text = "xx \n {a: 1} rest"
    found = loose_json(text, 3)
    assert (found.json, text[found.end :]) == ('{"a": 1}', " rest")


@pytest.mark.parametrize(
    ("reply", "closed"),
    [
        ("@@call f\n{}\n\n", "@@call f\n{}\n@@end\n"),
        ("x @@call f", "x @@call f\n@@end\n"),
        ("@@call f\n{} \n", "@@call f\n{} \n@@end\n"),
        ("@@end @@call f", "@@end @@call f"),
        ("", ""),
    ],
)
def test_a_missing_terminator_is_supplied(reply: str, closed: str) -> None:
    """Only where there is a call and no terminator at all; closing twice changes nothing."""
    assert closed == close_heredoc(reply) == close_heredoc(close_heredoc(reply))


@pytest.mark.parametrize(
    ("arguments", "shown"), [("", "{}"), (" \n", "{}"), (' {"a":\n1}\n', '{"a":\n1}')]
)
def test_a_call_is_shown_as_it_is_stored(arguments: str, shown: str) -> None:
    """The block has one newline between its marks and the arguments, and none at its end."""
    assert render_call("f", arguments) == f"@@call f\n{shown}\n@@end"

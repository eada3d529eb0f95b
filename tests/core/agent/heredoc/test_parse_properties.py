"""What was written comes back, whatever it was, and no text is too nasty to be read."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.agent.heredoc import close_heredoc, loose_json, parse_heredoc, render_call

_FEW = settings(max_examples=60, derandomize=True, deadline=None)
_NASTY = st.text(st.sampled_from("a`~'\"\\\n\r\t ,{}[]:@é🙂\ud800x"), max_size=60)
_TEXT = st.text(max_size=20) | _NASTY
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=12,
)
_FINITE = _JSON.filter(lambda value: "Infinity" not in json.dumps(value))
_ARGUMENTS = st.dictionaries(_TEXT, _FINITE, max_size=4)
_MARKS = (
    "@@call ",
    "@@call f\n",
    "@@end",
    "{",
    "}",
    "[",
    "]",
    ": ",
    ",",
    '"',
    "'",
    "\\",
    "\n",
    "\r",
)
_WORDS = ("~~~", "~~~md\n", "`", "```", " ", "a", "true", "None", "-1.5e3", "é", "\ud800")
_WHOLE = ("@@call f\n{}", "@@call f\n{a: 1}\n@@end\n", "\n@@end\n", "{a: ")
_PIECES = st.lists(st.sampled_from([*_MARKS, *_WORDS, *_WHOLE]), max_size=40)
_NOT_NAMED = re.compile(r"\A\s*\Z|\n")


def _body(text: str) -> str:
    """Write *text* as a body with a tag that it does not hold."""
    tag = "x"
    while f"~~~{tag}" in text:
        tag += "x"
    return f"~~~{tag}\n{text}\n~~~{tag}\n"


@_FEW
@given(_ARGUMENTS, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_a_replayed_call_is_read_as_it_was_stored(
    arguments: dict[str, object], indent: int | str | None, ensure_ascii: bool
) -> None:
    """The very text of the arguments comes back, with nothing around it."""
    written = json.dumps(arguments, indent=indent, ensure_ascii=ensure_ascii)
    reply = parse_heredoc(render_call("tool", written))
    assert reply.error is None
    assert [(call.name, call.arguments) for call in reply.calls] == [("tool", written)]
    assert reply.prose == ""


@_FEW
@given(_TEXT, _TEXT)
def test_a_body_comes_back_as_it_was_written(first: str, second: str) -> None:
    """Backticks, tildes, quotes, backslashes, carriage returns: a body holds anything."""
    for comma in ("\n,", ",\n"):
        written = f"{{a: {_body(first).rstrip()}{comma} b: [{_body(second)}]}}"
        reply = parse_heredoc(f"@@call tool\n{written}\n@@end\n")
        assert reply.error is None
        assert json.loads(reply.calls[0].arguments) == {"a": first, "b": [second]}


@_FEW
@given(_TEXT)
def test_backticks_hold_what_does_not_look_like_their_end(text: str) -> None:
    """A fence longer than any run inside, on lines of its own, brings the text back."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    found = loose_json(f"{{a: {fence}\n{text}\n{fence}}}")
    assert found.fault is None
    assert json.loads(found.json) == {"a": text}


@_FEW
@given(
    st.lists(_ARGUMENTS, max_size=5), st.lists(st.sampled_from(["", "Words.", "@ @@"]), min_size=6)
)
def test_a_batch_is_read_in_order(batch: list[dict[str, object]], prose: list[str]) -> None:
    """Prose between calls stays prose, and nothing of it gets into a call."""
    parts = [prose[0]]
    for number, arguments in enumerate(batch):
        parts += [render_call(f"t{number}", json.dumps(arguments)), prose[number + 1]]
    reply = parse_heredoc("\n".join(parts))
    assert [json.loads(call.arguments) for call in reply.calls] == batch
    assert reply.prose.split() == " ".join(prose[: len(batch) + 1]).split()


@settings(_FEW, max_examples=300)
@given(_PIECES)
def test_nothing_that_a_model_writes_raises(pieces: list[str]) -> None:
    """A reply is read or has a fault; calls are objects; a missing terminator changes no call."""
    text = "".join(pieces)
    reply = parse_heredoc(text)
    assert not (reply.error and reply.calls)
    for call in reply.calls:
        assert isinstance(json.loads(call.arguments), dict)
        assert not _NOT_NAMED.search(call.name)
    if reply.error is None:
        assert parse_heredoc(close_heredoc(text)) == reply


_MANY = 100_000


@pytest.mark.parametrize(
    "text",
    [
        "@@call " * _MANY,
        "@@call f\n{}\n" * (_MANY // 10),
        "@@call f\n{}" + " \n" * _MANY + "@@",
        ("@@call f\n{}" + " " * 100) * (_MANY // 100),
        "@@call f\n{a: " + "`" * _MANY,
        "@@call f\n{a: [" + "`x`," * _MANY + "]}",
        "@@call f\n{a: " + "` `` ``` " * _MANY,
        "@@call f\n{a: ~~~x\n" + "~~~x \t \n"[:-2] * _MANY,
        "@@call f\n{a: ~~~x\n" + "~~~x,,\n" * _MANY,
        "@@call f\n{a: ~~~x\n~~~x" + " " * _MANY + "y",
        "@@call f\n{a: ~~~" + "~" * _MANY + "\n" + "~" * _MANY,
        "@@call f\n{a: ~~~ab" + "ab" * _MANY + "\n" + "\n~~~ab" * _MANY,
        '@@call f\n{a: "' + "\\" * _MANY,
        "@@call f\n{a: '" + '"\\' * _MANY + "\\'}",
        "@@call f\n{a: " + '"",' * _MANY + "}",
        "@@call f\n{" + ", " * _MANY,
        "@@call f\n{" + "a " * _MANY + ":",
        "@@call f\n{" + "a" * _MANY + " " * _MANY + "b:",
        "@@call f\n{a: " + "9" * _MANY + "}",
        "@@call f\n{a: " + "[" * _MANY + "]" * _MANY + "}",
        "@@call f\n" + "{a:" * _MANY,
        "@@call f\n" + "{" * _MANY + "}" * _MANY,
    ],
    ids=range(22),
)
def test_megabytes_of_nasty_text_are_read_in_one_walk(text: str) -> None:
    """Nothing is read twice and nothing recurses: a quadratic scan would never come back."""
    reply = parse_heredoc(close_heredoc(text))
    assert reply.error is None or len(reply.error.message) < 250


def test_deep_nesting_is_data() -> None:
    """Arguments that are nested deeper than a stack are read like any others."""
    nested = "[" * _MANY + "]" * _MANY
    reply = parse_heredoc(f"@@call f\n{{a: {nested}}}")
    assert reply.error is None
    assert reply.calls[0].arguments == f'{{"a": {nested}}}'

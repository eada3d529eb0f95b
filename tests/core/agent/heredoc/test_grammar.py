"""The grammar means what it should: a recogniser of GBNF reads it and judges replies by it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.agent.chat import ToolDefinition
from loopguard_core.agent.heredoc import (
    BODY_TAGS,
    heredoc_grammar,
    heredoc_prompt,
    parse_heredoc,
    render_call,
)
from tests.core.agent.cases import cases, ids
from tests.core.agent.quirks import FIXED

from .gbnf import Grammar

_CASES = cases("heredoc_grammar", "grammar")


def _tool(name: str, *keys: str) -> ToolDefinition:
    return ToolDefinition(name=name, parameters={"properties": {key: {} for key in keys}})


_TOOLS = (_tool("write_file", "path", "content"), _tool("echo", "text"), _tool("ping"))
_GRAMMAR = Grammar(heredoc_grammar(_TOOLS))
_CALLS_ONLY = Grammar(heredoc_grammar(_TOOLS, allow_prose=False))
_GENERIC = Grammar(heredoc_grammar(()))


def _call(arguments: str, name: str = "echo") -> str:
    return f"@@call {name}\n{arguments}\n@@end\n"


def test_every_case_is_run() -> None:
    """The file holds three grammars and three prompts."""
    assert len(_CASES) == 3
    assert len(cases("heredoc_grammar")) == 6


@pytest.mark.parametrize("case", _CASES, ids=ids(_CASES))
def test_the_structure_is_the_reference_s(case: dict[str, Any]) -> None:
    """Tools, keys, numbers of pairs and calls agree; prose is allowed only if it is asked for."""
    tools = [ToolDefinition(**tool) for tool in case["in"]["tools"]]
    text = heredoc_grammar(tools, allow_prose=False)
    grammar, expected = Grammar(text), case["out"]

    assert expected["alternatives_in_order"] == re.findall(r'"@@call (\w+)\\n"', text)
    assert expected["generic_fallback"] is grammar.accepts(_call("{any: 1, more: [2]}", "whatever"))
    assert expected["prose_allowed"] is grammar.accepts("done")
    assert Grammar(heredoc_grammar(tools)).accepts("done") is (case["id"] in FIXED)
    for tool, keys in expected["keys"].items():
        most = 1 + expected["extra_pairs_allowed"][tool]
        for pairs in range(1, most + 3):
            written = ", ".join(f"{keys[at % len(keys)]}: 1" for at in range(pairs))
            assert (pairs <= most) is grammar.accepts(_call(f"{{{written}}}", tool)), written
        assert not grammar.accepts(_call("{other: 1}", tool))
    one = _call("{}", "any")
    if expected["keys"]:
        one = _call("{text: 1}") if "echo" in expected["keys"] else _call("{path: 1}", "write_file")
    counts = [count for count in range(7) if grammar.accepts(one * count)]
    assert counts == list(range(1, expected["max_calls"] + 1))


@pytest.mark.parametrize(
    "reply",
    [
        "Nothing to do.",
        "Two lines\n\n@ and @@ and @@cal and even @@call",
        "@@ -1,2 +1,3 @@\n a diff",
        "@",
        _call("{text: 1}"),
        _call("{}", "ping"),
        _call("{ \n}", "ping"),
        _call('{"text": "quoted"}'),
        _call("{text: null,}"),
        _call("{\n  text: -0.5e+3\n}"),
        _call(r'{text: "a \"b\" é \\ A ~~~ ` @@call x"}'),
        _call("{text: {a: [1, [], {}, true,], 'x': 2}}".replace("'", '"')),
        _call("{text: {name: 1, type: 2, file: 3, t: 4, f: 5, n: 6, N: 7, $a_1: 8}}"),
        _call("{text: ~~~py\n~~~\n~~~js\n~~~p\n`@@end`\n~~~py\n}"),
        _call("{text: ~~~py\n~~~py,\n}"),
        _call(
            "{path: ~~~md\nx\n~~~md,\n  content: [~~~md\nx\n~~~md,\n~~~py\n~~~py\n]}", "write_file"
        ),
        "I look.\n" + _call("{text: 1}") + _call("{}", "ping"),
    ],
)
def test_what_can_be_read_is_accepted(reply: str) -> None:
    """A healthy reply passes, and the parser reads it."""
    assert _GRAMMAR.accepts(reply)
    assert parse_heredoc(reply).error is None


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "prose @@call echo\n{}",
        "prose" + _call("{text: 1}"),
        _call("{text: 1}") + "prose behind a call",
        _call("{text: 1}").rstrip("\n"),
        _call("{}"),
        _call("{text: 1, text: 2}"),
        _call("{other: 1}"),
        _call("{text: 1}", "unknown"),
        _call("{x: 1}", "ping"),
        _call("{text: 01}"),
        _call("{text: .5}"),
        _call("{text: None}"),
        _call("{text: 'x'}"),
        _call('{text: "raw\nnewline"}'),
        _call('{text: "bad \\q escape"}'),
        _call('{text: "unclosed}'),
        _call("{text: [1, 2}"),
        _call("{text: 1,,}"),
        *(_call(f"{{text: {{{word}: 1}}}}") for word in ("true", "false", "null")),
        *(_call(f"{{text: {{{word}: 1}}}}") for word in ("True", "False", "None")),
        _call("{text: {a-b: 1}}"),
        _call("{text: ~~~\nno tag\n~~~\n}"),
        _call("{text: ~~~py\nx\n~~~js\n}"),
        _call("{text: ~~~py\nx\n~~~py }"),
        _call("{text: ~~~py\nx\n~~~py,,\n}"),
        _call("{text: ~~~py\nx\n ~~~py\n}"),
        _call("{text: ~~~py\nx~~~py\n}"),
        _call("{path: ~~~md\nx\n~~~md\ncontent: 1}", "write_file"),
        _call("{path: ~~~md\nx\n~~~md,\n, content: 1}", "write_file"),
        _call("{text: `x`}"),
        _call("{text:" + "\n " * 2 + "1}"),
        _call("{text:\n" + " " * 21 + "1}"),
        _call("{text: 1}") * 5,
    ],
)
def test_what_cannot_be_read_is_refused(reply: str) -> None:
    """Broken calls, unknown names and endless blanks do not pass."""
    assert not _GRAMMAR.accepts(reply)


def test_prose_can_be_forbidden() -> None:
    """Without prose every reply is calls alone, as a host wants that ends turns by a tool."""
    assert _CALLS_ONLY.accepts(_call("{text: 1}"))
    assert not _CALLS_ONLY.accepts("I look.\n" + _call("{text: 1}"))
    assert not _CALLS_ONLY.accepts("I am done.")


@pytest.mark.parametrize(
    "grammar", [_GRAMMAR, _CALLS_ONLY, _GENERIC], ids=["prose", "calls", "any"]
)
def test_whatever_is_accepted_can_be_parsed(grammar: Grammar) -> None:
    """Random sentences of the grammar are read without a fault, and accepted again."""
    for seed in range(150):
        reply = grammar.write(seed)
        assert parse_heredoc(reply).error is None, reply
        assert seed % 10 or grammar.accepts(reply), reply


def test_the_examples_of_the_prompt_are_accepted() -> None:
    """What the model is taught is what the grammar of any tool takes."""
    blocks = re.findall(r"(?:@@call .*?@@end\n)+", heredoc_prompt(()), re.DOTALL)
    assert len(blocks) == 3
    assert [block for block in blocks if not _GENERIC.accepts(block)] == []


@given(
    st.dictionaries(
        st.text(max_size=8),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(max_size=8),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.text(max_size=4), inner, max_size=3)
            ),
            max_leaves=6,
        ),
        max_size=3,
    )
)
@settings(max_examples=25, derandomize=True, deadline=None)
def test_what_history_shows_may_be_written_again(arguments: dict[str, Any]) -> None:
    """A call as it is replayed is a sentence of the grammar, so imitating history is safe."""
    written = json.dumps(arguments, indent=2 if len(arguments) % 2 else None, ensure_ascii=False)
    assert _GENERIC.accepts(render_call("any", written) + "\n")


@pytest.mark.parametrize(
    "key", ["file-path", "true", "None", "1st", "größe", 'say "hi"', "back\\slash", "a b", ""]
)
def test_a_key_that_cannot_stand_bare_is_quoted(key: str) -> None:
    """The parser would not read it bare, so the grammar asks for the quotes."""
    grammar = Grammar(heredoc_grammar([_tool("use", key)]))
    assert grammar.accepts(_call(json.dumps({key: 1}, ensure_ascii=False), "use"))
    assert not grammar.accepts(_call(f"{{{key}: 1}}", "use"))


@pytest.mark.parametrize("tag", BODY_TAGS)
def test_every_tag_opens_and_closes_a_body(tag: str) -> None:
    """A body with that tag holds the closing lines of all the others."""
    others = "\n".join(f"~~~{other}" for other in BODY_TAGS if not other.startswith(tag))
    reply = _call(f"{{text: ~~~{tag}\n{others}\n~~~{tag}\n}}")
    assert _GRAMMAR.accepts(reply)
    assert json.loads(parse_heredoc(reply).calls[0].arguments) == {"text": others}


@pytest.mark.parametrize(
    "name", ["größe", 'say "hi"', "back\\slash\\n", "tab\tin", "bell\x07", "[a-z]*"]
)
def test_a_name_stands_for_itself(name: str) -> None:
    """What means something in GBNF is escaped."""
    grammar = Grammar(heredoc_grammar([_tool(name, "a")]))
    assert grammar.accepts(_call("{a: 1}", name))
    assert "\x07" not in grammar.text
    assert "\t" not in grammar.text


def test_tools_are_sorted_and_unnamed_ones_left_out() -> None:
    """The order of the tools does not change the grammar, so a server can keep it compiled."""
    assert heredoc_grammar(_TOOLS) == heredoc_grammar([*reversed(_TOOLS), ToolDefinition(name="")])
    assert heredoc_grammar([ToolDefinition(name="")]) == heredoc_grammar(())


@pytest.mark.parametrize("parameters", [None, {}, {"properties": None}, {"properties": ["a"]}])
def test_a_tool_that_declares_nothing_takes_empty_braces(parameters: dict[str, Any] | None) -> None:
    """A schema without properties has no keys, whatever else stands in it."""
    grammar = Grammar(heredoc_grammar([ToolDefinition(name="go", parameters=parameters)]))
    assert grammar.accepts(_call("{}", "go"))
    assert not grammar.accepts(_call("{a: 1}", "go"))

"""The prompt teaches the transport by examples and names the tools."""

from __future__ import annotations

import re
from typing import Any

import pytest

from loopguard_core.agent.chat import ToolDefinition
from loopguard_core.agent.heredoc import BODY_TAGS, heredoc_prompt, parse_heredoc
from tests.core.agent.cases import cases, ids

_CASES = cases("heredoc_grammar", "prompt")


@pytest.mark.parametrize("case", _CASES, ids=ids(_CASES))
def test_the_structure_is_the_reference_s(case: dict[str, Any]) -> None:
    """The marks, the number of calls, the tool lines; examples before the rules."""
    assert len(_CASES) == 3
    prompt = heredoc_prompt([ToolDefinition(**tool) for tool in case["in"]["tools"]])
    expected = case["out"]
    lines = prompt.split("\n")

    assert [text for text in expected["must_contain"] if text not in prompt] == []
    assert expected["tool_lines"] == [
        line for line in lines if line.startswith("- ") and "(" in line
    ]
    assert expected["has_tools_heading"] is ("Tools:" in lines)
    assert expected["example_before_prose"] is (prompt.rindex("@@end\n") < prompt.index("Rules:"))


def test_the_examples_are_read_as_they_are_meant() -> None:
    """One call, two back to back, one with a body that needs no escapes."""
    reply = parse_heredoc(heredoc_prompt(()))
    assert reply.error is None
    names = [call.name for call in reply.calls]
    assert names == ["find_files", "read_file", "read_file", "write_file"]
    assert re.search(r"no escapes: \\\\n and ' and `", reply.calls[3].arguments)


@pytest.mark.parametrize(
    ("tool", "line"),
    [
        (ToolDefinition(name="go"), "- go()"),
        (ToolDefinition(name="go", description=" Two\n lines. "), "- go(): Two lines."),
        (ToolDefinition(name="go", parameters={"properties": ["a"]}), "- go()"),
        (
            ToolDefinition(name="go", parameters={"properties": {"b": 1, "a": 2}, "required": "a"}),
            "- go(a?, b?)",
        ),
        (
            ToolDefinition(
                name="go", parameters={"properties": {"b": {}, "a": {}}, "required": ("b", 1)}
            ),
            "- go(a?, b)",
        ),
    ],
)
def test_a_tool_is_one_line(tool: ToolDefinition, line: str) -> None:
    """Arguments are sorted, optional ones marked; a schema that says nothing readable is no error."""
    assert heredoc_prompt([tool]).endswith(f"\n\nTools:\n{line}")


def test_tools_keep_their_order_and_unnamed_ones_are_left_out() -> None:
    """The host orders its tools; what cannot be called is not told."""
    tools = [ToolDefinition(name=name) for name in ("b", "", "a")]
    assert heredoc_prompt(tools).endswith("Tools:\n- b()\n- a()")
    assert heredoc_prompt([ToolDefinition(name="")]) == heredoc_prompt(())


def test_the_tags_of_the_grammar_are_told() -> None:
    """A model that guesses a tag which the grammar refuses would be bent to another."""
    prompt = heredoc_prompt(())
    assert ", ".join(BODY_TAGS) in prompt

"""`prepare_tools` in real runs: what runs, and what the model reads."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from agents import function_tool
from agents.testing import function_call

from loopguard_core import InvalidInputError
from loopguard_core.agent import ToolHygiene
from loopguard_core.guard.guidance import without_guidance
from loopguard_openai_agents import (
    LoopGuardHooks,
    expanded_output,
    guard_agent,
    halted_by,
    prepare_tools,
)

from .harness import (
    MODES,
    WARNING,
    agent_of,
    blocking_guard,
    calling,
    outputs,
    run,
    saying,
    search_tool,
)
from .test_traps_of_items import LOCAL, execute

TABLE = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]


def rows_tool() -> tuple[Any, list[str]]:
    """Return a tool that returns a table, and the list of what it ran with."""
    ran: list[str] = []

    @function_tool
    def rows(table: str) -> str:
        """Read a table."""
        ran.append(table)
        return json.dumps(TABLE)

    return rows, ran


def raw_call(arguments: str) -> list[Any]:
    """Return a reply with a call whose arguments are any text."""
    call = function_call("rows", {}, call_id="c")
    return [call.model_copy(update={"arguments": arguments})]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("arguments", "runs", "says"),
    [
        ('{"table": "t"}', True, "[2]id,name\n1,a\n2,b"),
        ("{'table': 't',}", True, "[2]id,name"),
        ('{"table": "t', False, "truncation detected"),
        ('{"table" "t"}', False, "malformed json"),
        ("{}", False, "missing required field(s): table"),
        ('{"table": 3}', False, "table should be string, got number"),
    ],
)
def test_arguments_and_results(mode: str, arguments: str, says: str, *, runs: bool) -> None:
    """Fit and mended calls run and are answered in few tokens; the rest is refused."""
    rows, ran = rows_tool()
    agent = agent_of([raw_call(arguments), *saying("Done.")], *prepare_tools([rows]))
    result = run(agent, mode=mode)
    (answer,) = outputs(result.to_input_list())
    assert says in answer
    assert ran == ["t"] * runs
    assert result.final_output == "Done."


def test_the_tools_that_were_given_are_not_changed() -> None:
    """Copies, with all that the tools had."""
    rows, _ = rows_tool()
    (prepared,) = prepare_tools([rows])
    assert prepared is not rows
    assert prepared.on_invoke_tool is not rows.on_invoke_tool
    assert (prepared.name, prepared.params_json_schema) == (rows.name, rows.params_json_schema)


def test_placeholders_stand_for_what_the_tool_returned() -> None:
    """And not for its encoded form."""
    rows, _ = rows_tool()
    script = [raw_call('{"table": "t"}'), *saying("{OUTPUT}")]
    result = run(agent_of(script, *prepare_tools([rows])))
    assert json.loads(expanded_output(result)) == TABLE


def test_placeholders_stand_for_results_as_texts() -> None:
    """A result that is no text is what the model reads of it."""

    @function_tool
    def rows() -> dict[str, int]:
        """Read a table."""
        return {"a": 1}

    result = run(agent_of([*calling(1, name="rows", x=1), *saying("{OUTPUT}")], rows))
    assert expanded_output(result) == "{'a': 1}"


def test_placeholders_stand_for_what_a_shell_wrote() -> None:
    """Its output has a form of its own, and the run keeps the text."""
    call, shell = LOCAL["shell"]
    result = run(agent_of([[call(1)], *saying("{OUTPUT}")], shell))
    assert expanded_output(result) == execute(None)


def test_notes_of_the_guard_are_not_shown() -> None:
    """They are for the model; a result that was encoded is shown as the tool returned it."""
    hooks = LoopGuardHooks(guard=WARNING)
    rows, _ = rows_tool()
    script = [*calling(3, name="rows", table="t"), *saying("{OUTPUT}")]
    result = run(agent_of(script, *hooks.guard_tools(prepare_tools([rows]))))
    noted = outputs(result.to_input_list())[-1]
    assert noted != without_guidance(noted)
    assert json.loads(expanded_output(result)) == TABLE
    rows, _ = rows_tool()
    result = run(agent_of(script, *hooks.guard_tools([rows])))
    assert json.loads(expanded_output(result)) == TABLE


@pytest.mark.parametrize("is_guarded", [False, True])
@pytest.mark.parametrize("ends", ["stop_on_first_tool", {"stop_at_tool_names": ["rows"]}])
def test_a_result_that_ends_a_run_can_be_read(ends: Any, *, is_guarded: bool) -> None:
    """The final output is what the model would read; `expanded_output` has what was returned."""
    rows, _ = rows_tool()
    script = [raw_call('{"table": "t"}'), *saying("Done.")]
    agent = agent_of(script, *prepare_tools([rows]), tool_use_behavior=ends)
    result = run(guard_agent(agent) if is_guarded else agent)
    assert result.final_output == "[2]id,name\n1,a\n2,b"
    assert json.loads(expanded_output(result)) == TABLE


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("arguments", "ran"), [('{"n": 3}', [3]), ('{"n": "x"}', [])])
def test_tools_that_return_data(mode: str, arguments: str, ran: list[int]) -> None:
    """What they return fits their schema, which a table does not; a refusal is no such data."""
    runs: list[int] = []

    @function_tool(output_json_schema={"type": "object", "properties": {}})
    def rows(n: int) -> str:
        """Read a table."""
        runs.append(n)
        return json.dumps({"rows": TABLE})

    agent = agent_of([raw_call(arguments), *saying("Done.")], *prepare_tools([rows]))
    (answer,) = outputs(run(agent, mode=mode).to_input_list())
    assert runs == ran
    assert json.loads(answer) == {"rows": TABLE} if ran else "should be integer" in answer


def test_the_whole_schema_can_be_checked() -> None:
    """With `strict`, also what the light check does not read."""

    @function_tool
    def rows(kind: Literal["a", "b"]) -> str:
        """Read a table."""
        return kind

    strict = ToolHygiene(validate_schema="strict")
    script = [raw_call('{"kind": "c"}'), *saying("Done.")]
    result = run(agent_of(script, *prepare_tools([rows], hygiene=strict)))
    assert "INVALID" in outputs(result.to_input_list())[0]


@pytest.mark.parametrize("guard_first", [True, False])
def test_it_goes_with_the_guard_in_either_order(*, guard_first: bool) -> None:
    """Blocked calls do not reach the tool, and the run is stopped as without."""
    hooks = LoopGuardHooks(guard=blocking_guard())
    search, ran = search_tool()
    tools: Any = prepare_tools(hooks.guard_tools([search])) if guard_first else None
    tools = tools or hooks.guard_tools(prepare_tools([search]))
    agent = hooks.guard_agent(agent_of(calling(9), *tools))
    result = run(agent, hooks=hooks)
    assert len(ran) == 2
    assert halted_by(result)


def test_results_can_be_left_as_they_are() -> None:
    """With `encode=None`."""
    rows, _ = rows_tool()
    tools = prepare_tools([rows], hygiene=ToolHygiene(encode=None))
    result = run(agent_of([raw_call('{"table": "t"}'), *saying("Done.")], *tools))
    assert json.loads(outputs(result.to_input_list())[0]) == TABLE


def test_a_wrong_hygiene_is_named() -> None:
    """The error names the argument."""
    with pytest.raises(InvalidInputError, match="hygiene"):
        prepare_tools([], hygiene="strict")  # type: ignore[arg-type]

"""`ToolHygieneMiddleware` in real agents: what runs, and what the model reads."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, InvalidToolCall, ToolMessage
from langchain_core.tools import tool

from loopguard_core import InvalidInputError, LoopGuard
from loopguard_core.agent import ShaperPolicy, ToolHygiene
from loopguard_langchain import ContextShaper, LoopGuardMiddleware, ToolHygieneMiddleware

from .agents import finish, person
from .harness import MODES, assert_sendable, blocking_guard, warning_guard
from .scripted import ScriptedModel, reply, tool_call

TABLE = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]


def stage(
    *script: Any, hygiene: ToolHygiene | None = None, before: Any = ()
) -> tuple[Any, Any, list[Any]]:
    """Return an agent with one tool, its model, and the list of what the tool was given."""
    ran: list[Any] = []

    @tool
    def rows(table: str, limit: int = 10) -> str:
        """Read rows of a table."""
        ran.append((table, limit))
        return json.dumps(TABLE)

    model = ScriptedModel(script=[*script, reply("Done.")])
    middleware = [*before, ToolHygieneMiddleware(hygiene=hygiene)]
    return create_agent(model, [rows], middleware=middleware), model, ran


def answers(state: Any) -> list[ToolMessage]:
    """Return the results in a state."""
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


def unreadable(arguments: str) -> AIMessage:
    """Return a reply whose call LangChain could not parse."""
    call = InvalidToolCall(
        name="rows", args=arguments, id="c", error="no JSON", type="invalid_tool_call"
    )
    # A cut is what a limit of tokens does, and providers say so.
    reason = "length" if arguments.endswith("t") else "tool_calls"
    return AIMessage("", invalid_tool_calls=[call], response_metadata={"finish_reason": reason})


@pytest.mark.parametrize("mode", MODES)
def test_a_result_is_encoded_and_its_raw_text_kept(mode: str) -> None:
    """The model reads a table; what the tool returned stays beside it."""
    agent, model, _ = stage(reply("", tool_call("rows", {"table": "t"})))
    (answer,) = answers(finish(agent, person(), mode=mode))
    assert answer.text == "[2]id,name\n1,a\n2,b"
    assert json.loads(answer.additional_kwargs["loopguard_raw"]) == TABLE
    assert model.inputs[-1][-1].text == answer.text


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "missing required field(s): table"),
        ({"table": 3}, "table should be string, got number"),
        ({"table": "t", "limit": "all"}, "limit should be integer, got string"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    mode: str, arguments: dict[str, Any], says: str
) -> None:
    """The tool does not run, the model is told, and the run goes on."""
    agent, _, ran = stage(reply("", tool_call("rows", arguments)))
    end = finish(agent, person(), mode=mode)
    (answer,) = answers(end)
    assert (ran, answer.status) == ([], "error")
    assert says in answer.text
    assert end["messages"][-1].text == "Done."


@pytest.mark.parametrize(
    "arguments", [{"table": "t"}, {"table": "t", "limit": 2}, {"table": "t", "limit": None}]
)
def test_fit_arguments_run(arguments: dict[str, Any]) -> None:
    """As they came; optional ones may be missing or null where the tool takes that."""
    agent, _, ran = stage(reply("", tool_call("rows", arguments)))
    (answer,) = answers(finish(agent, person()))
    assert ran == [("t", arguments.get("limit", 10))] or answer.status == "error"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("text", "runs", "says"),
    [
        ("{'table': 't',}", True, ""),
        ('```json\n{"table": "t"}\n```', True, ""),
        ('{"table": "t', False, "truncation detected"),
        ('{"table" "t"}', False, "malformed json"),
        ("[1]", False, "must be a JSON object"),
    ],
)
def test_calls_that_could_not_be_parsed(mode: str, text: str, says: str, *, runs: bool) -> None:
    """Mended where that is safe, else refused; without us the run ends there without a word."""
    agent, model, ran = stage(unreadable(text))
    end = finish(agent, person(), mode=mode)
    assert end["messages"][-1].text == "Done."
    assert bool(ran) is runs
    assert says in answers(end)[0].text
    assert_sendable(model.inputs[-1])


@pytest.mark.parametrize(
    "said",
    [
        {"finish_reason": "length"},
        {"finish_reason": "MAX_TOKENS"},
        {"stop_reason": "max_tokens"},
        {"stopReason": "max_tokens"},
        {"done_reason": "length"},
        {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
    ],
)
def test_the_last_call_of_a_cut_reply_is_refused(said: dict[str, Any]) -> None:
    """LangChain makes a streamed one look whole; those before it are."""
    calls = [tool_call("rows", {"table": "a"}), tool_call("rows", {"table": "b"})]
    cut = AIMessage("", tool_calls=calls, response_metadata=said)
    agent, _, ran = stage(cut)
    first, last = answers(finish(agent, person()))
    assert (ran, first.status, last.status) == ([("a", 10)], "success", "error")


@pytest.mark.parametrize(
    "said",
    [
        {"finish_reason": "tool_calls"},
        {"stop_reason": "tool_use"},
        {"status": "completed", "incomplete_details": None},
        {"finish_reason": None},
    ],
)
def test_the_calls_of_a_whole_reply_run(said: dict[str, Any]) -> None:
    """Whatever the provider calls it."""
    call = tool_call("rows", {"table": "t"})
    agent, _, ran = stage(AIMessage("", tool_calls=[call], response_metadata=said))
    finish(agent, person())
    assert ran == [("t", 10)]


def test_a_call_without_an_id_gets_one() -> None:
    """LangGraph would not run it, and nothing could answer it."""
    said = unreadable("{'table': 't',}")
    said.invalid_tool_calls[0]["id"] = None
    agent, _, ran = stage(said)
    end = finish(agent, person())
    assert ran == [("t", 10)]
    assert_sendable(end["messages"])


def test_siblings_of_a_refused_call_run() -> None:
    """Each call is answered for itself."""
    agent, _, ran = stage(reply("", tool_call("rows", {}), tool_call("rows", {"table": "t"})))
    refused, answered = answers(finish(agent, person()))
    assert (refused.status, answered.status, len(ran)) == ("error", "success", 1)


@pytest.mark.parametrize("mode", MODES)
def test_blocks_of_text_are_encoded(mode: str) -> None:
    """As MCP tools write them; what else there is in a result stays, and so does its artifact."""
    picture = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}
    blocks = [{"type": "text", "text": json.dumps(TABLE), "id": "b"}, picture]

    @tool(response_format="content_and_artifact")
    def rows(table: str) -> tuple[list[Any], list[Any]]:
        """Read rows of a table."""
        return blocks, TABLE if table else []

    model = ScriptedModel(script=[reply("", tool_call("rows", {"table": "t"})), reply("{OUTPUT}")])
    shaper = ContextShaper(policy=ShaperPolicy(), transclude=True)
    agent = create_agent(model, [rows], middleware=[shaper, ToolHygieneMiddleware()])
    end = finish(agent, person(), mode=mode)
    (answer,) = answers(end)
    assert answer.content == [{**blocks[0], "text": "[2]id,name\n1,a\n2,b"}, picture]
    assert answer.artifact == TABLE
    assert json.loads(end["expanded_reply"]) == TABLE


@pytest.mark.parametrize(
    ("hygiene", "text"),
    [
        (ToolHygiene(encode=None), json.dumps(TABLE)),
        (ToolHygiene(encode=str.upper), json.dumps(TABLE).upper()),
    ],
)
def test_results_can_be_written_otherwise(hygiene: ToolHygiene, text: str) -> None:
    """Or left as they are."""
    agent, _, _ = stage(reply("", tool_call("rows", {"table": "t"})), hygiene=hygiene)
    assert answers(finish(agent, person()))[0].text == text


def test_placeholders_stand_for_what_the_tool_returned() -> None:
    """And not for its encoded form, when the shaper stands beside it."""
    shaper = ContextShaper(policy=ShaperPolicy(), transclude=True)
    agent, _, _ = stage(
        reply("", tool_call("rows", {"table": "t"})), reply("{OUTPUT}"), before=[shaper]
    )
    assert json.loads(finish(agent, person())["expanded_reply"]) == TABLE


def test_the_guard_counts_refused_calls() -> None:
    """A model that sends the same broken call again and again is stopped."""
    agent, model, ran = stage(*[unreadable('{"table": "t')] * 40, before=[LoopGuardMiddleware()])
    end = finish(agent, person(), {"recursion_limit": 90})
    assert (ran, model.calls < 12) == ([], True)
    assert end["messages"][-1].response_metadata["loopguard"]


SCRIPTS = {
    "same": [reply("", tool_call("rows", {"table": "t"}))],
    "refused": [reply("", tool_call("rows", {}))],
    "cut": [unreadable('{"table": "t')],
    "mended": [unreadable("{'table': 't',}")],
    "both": [reply("", tool_call("rows", {"table": "t"}), tool_call("rows", {}))],
    "healthy": [reply("", tool_call("rows", {"table": str(n)})) for n in range(4)] + [reply("ok")],
}


@pytest.mark.parametrize("make_guard", [blocking_guard, warning_guard, LoopGuard])
@pytest.mark.parametrize("name", SCRIPTS)
def test_the_guard_decides_alike_in_every_order(name: str, make_guard: Any) -> None:
    """Wherever it stands, it judges the calls that are run, and every verdict is the same."""
    seen = []
    for order in ("GH", "HG", "GHS", "SHG", "HGS", "SGH"):
        heard: list[Any] = []
        stands = {
            "G": LoopGuardMiddleware(guard=make_guard(listeners=(heard.append,))),
            "S": ContextShaper(policy=ShaperPolicy(), max_result_bytes=900, transclude=True),
        }
        ran, model = _run_in_order(order, stands, SCRIPTS[name])
        seen.append((ran, model.calls, [_verdict(event) for event in heard]))
    assert all(one == seen[0] for one in seen)
    assert bool(seen[0][2]) is (name != "healthy")


def _run_in_order(
    order: str, stands: dict[str, Any], script: list[AIMessage]
) -> tuple[list[str], ScriptedModel]:
    ran: list[str] = []

    @tool
    def rows(table: str) -> str:
        """Read rows of a table."""
        ran.append(table)
        return json.dumps(TABLE)

    model = ScriptedModel(script=script)
    middleware = [stands.get(letter) or ToolHygieneMiddleware() for letter in order]
    finish(create_agent(model, [rows], middleware=middleware), person())
    return ran, model


def _verdict(event: Any) -> tuple[Any, list[str]]:
    return event.verdict.action, [finding.detector for finding in event.verdict.findings]


def test_a_wrong_hygiene_is_named() -> None:
    """The error names the argument."""
    with pytest.raises(InvalidInputError, match="hygiene"):
        ToolHygieneMiddleware(hygiene="strict")  # type: ignore[arg-type]

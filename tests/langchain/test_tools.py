"""Guarded tools: they are the same tools, and they block and nudge without anything else."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime  # noqa: TC002 - read from the annotation
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, Tool, ToolException, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphInterrupt
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolNode
from langgraph.types import Command, Interrupt, interrupt
from pydantic import BaseModel, Field

from loopguard_core.guard.guidance import append_guidance, without_guidance
from loopguard_langchain import guard_tools

from .harness import (
    MODES,
    assert_sendable,
    blocking_guard,
    drive,
    hand_built,
    refusals,
    search_tool,
    warning_guard,
)
from .scripted import ScriptedModel, reply, tool_call

HI: dict[str, Any] = {"messages": [HumanMessage("hi")]}
STUCK = reply("", tool_call("search", {"q": "x"}))
LIMIT: Any = {"recursion_limit": 60}


class Query(BaseModel):
    """What to look for."""

    q: str = Field(description="The query.")


@tool
def plain(a: int, b: int = 2) -> int:
    """Add."""
    return a + b


@tool("described", args_schema=Query)
def with_schema(q: str) -> str:
    """Look for something."""
    return q


@tool
async def asynchronous(q: str) -> str:
    """Wait."""
    return f"waited for {q}"


@tool(response_format="content_and_artifact")
def with_artifact(q: str) -> tuple[str, dict[str, str]]:
    """Return more than the model sees."""
    return "seen", {"unseen": q}


@tool(return_direct=True)
def direct(q: str) -> str:
    """Answer the person."""
    return q


@tool
def injected(
    q: str,
    state: Annotated[dict[str, Any], InjectedState],
    runtime: ToolRuntime,
    call_id: Annotated[str, InjectedToolCallId],
) -> str:
    """Use all that a graph injects."""
    return f"{q} {len(state['messages'])} {runtime.tool_call_id == call_id}"


@tool(args_schema=Query)
def hidden(q: str, state: Annotated[dict[str, Any], InjectedState]) -> str:
    """Have something injected that the schema does not tell."""
    return f"{q} {len(state['messages'])}"


class OwnClass(BaseTool):
    """A tool with a class of its own and no schema."""

    name: str = "own"
    description: str = "Multiply."

    def _run(self, a: int, b: int = 2) -> int:
        return a * b


JSON_SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
from_json = tool("remote", args_schema=JSON_SCHEMA, description="Far away.")(lambda q: f"far {q}")
single = Tool("single", lambda text: f"got {text}", "Take one text.")

KINDS: dict[str, tuple[BaseTool, dict[str, Any], str]] = {
    "function": (plain, {"a": 1}, "3"),
    "args_schema": (with_schema, {"q": "x"}, "x"),
    "async": (asynchronous, {"q": "x"}, "waited for x"),
    "artifact": (with_artifact, {"q": "x"}, "seen"),
    "return_direct": (direct, {"q": "x"}, "x"),
    "injected": (injected, {"q": "x"}, "x 2 True"),
    "hidden": (hidden, {"q": "x"}, "x 2"),
    "class": (OwnClass(), {"a": 3}, "6"),
    "json schema": (from_json, {"q": "x"}, "far x"),
    "single input": (single, {"__arg1": "x"}, "got x"),
}


def shown(one: BaseTool) -> Any:
    """Return what a model is told about a tool, without titles, which say nothing."""
    function = convert_to_openai_tool(one)["function"]
    for about in function["parameters"]["properties"].values():
        about.pop("title", None)
    return function


@pytest.mark.parametrize("kind", KINDS)
def test_a_guarded_tool_looks_like_the_tool(kind: str) -> None:
    """A model is told the same, and a framework finds the same settings."""
    inner = KINDS[kind][0]
    (guarded,) = guard_tools([inner])
    assert guarded is not inner
    assert shown(guarded) == shown(inner)
    for name in ("return_direct", "response_format", "tags", "metadata", "handle_tool_error"):
        assert getattr(guarded, name) == getattr(inner, name)


@pytest.mark.parametrize(
    ("kind", "mode"),
    [(k, m) for k in KINDS for m in ("invoke", "ainvoke") if (k, m) != ("async", "invoke")],
)
def test_a_guarded_tool_works_like_the_tool(kind: str, mode: str) -> None:
    """Whatever it has injected, and whatever it returns, comes through."""
    inner, arguments, answer = KINDS[kind]
    model = ScriptedModel(script=[reply("", tool_call(inner.name, arguments)), reply("Done.")])
    result = drive(hand_built(model, ToolNode(guard_tools([inner]))), HI, LIMIT, mode)
    (message,) = [m for m in result["messages"] if isinstance(m, ToolMessage)]
    assert (message.content, message.name, message.status) == (answer, inner.name, "success")
    assert message.artifact == ({"unseen": "x"} if kind == "artifact" else None)


def test_functions_become_tools() -> None:
    """As a `ToolNode` takes them."""

    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    (guarded,) = guard_tools([add])
    assert guarded.invoke({"a": 1, "b": 2}) == 3


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["hand-built", "create_agent"])
def test_a_loop_is_blocked_in_a_graph(kind: str, mode: str) -> None:
    """The run is what the state says: nothing but the tools is guarded."""
    search, ran = search_tool()
    model = ScriptedModel(script=[*[STUCK] * 6, reply("Done.")])
    tools = guard_tools([search], guard=blocking_guard())
    graph = (
        create_agent(model, tools) if kind == "create_agent" else hand_built(model, ToolNode(tools))
    )
    drive(graph, HI, LIMIT, mode)
    assert len(ran) == 2
    assert len(refusals(model.inputs[-1])) == 4
    assert_sendable(model.inputs[-1])


def test_what_a_graph_injects_does_not_make_calls_different() -> None:
    """The state grows with every step; the model's arguments are what counts."""
    ran: list[str] = []

    @tool
    def search(q: str, state: Annotated[dict[str, Any], InjectedState]) -> str:
        """Search."""
        ran.append(q if state else "")
        return f"nothing for {q}"

    model = ScriptedModel(script=[*[STUCK] * 4, reply("Done.")])
    tools = guard_tools([search], guard=blocking_guard())
    hand_built(model, ToolNode(tools)).invoke(HI, LIMIT)
    assert len(ran) == 2


def test_a_halt_is_one_more_block() -> None:
    """Tools alone cannot end a run, and do not raise."""
    search, _ = search_tool()
    model = ScriptedModel(script=[*[STUCK] * 9, reply("Done.")])
    tools = guard_tools([search], guard=blocking_guard(on_halt="raise"))
    result = hand_built(model, ToolNode(tools)).invoke(HI, LIMIT)
    assert len(refusals(result["messages"])) == 7


def test_a_sibling_of_a_blocked_call_runs() -> None:
    """Calls of a batch are judged in their order, each from the same state."""
    search, ran = search_tool()
    batch = [tool_call("search", {"q": "x"}) for _ in range(5)]
    script = [reply("", *batch, tool_call("search", {"q": "y"})), reply("Done.")]
    model = ScriptedModel(script=script)
    result = hand_built(model, ToolNode(guard_tools([search]))).invoke(HI, LIMIT)
    assert len(refusals(result["messages"])) == 2  # three may wait for their results
    assert sorted(ran) == ["x", "x", "x", "y"]


@pytest.mark.parametrize("mode", ["invoke", "ainvoke"])
@pytest.mark.parametrize("kind", ["text", "blocks", "artifact"])
def test_a_warning_comes_behind_the_result_it_is_about(kind: str, mode: str) -> None:
    """Once, and what the tool returned stays as it is."""

    @tool(response_format="content_and_artifact" if kind == "artifact" else "content")
    def search(q: str) -> Any:
        """Search."""
        match kind:
            case "text":
                return f"nothing for {q}"
            case "blocks":
                return [{"type": "text", "text": f"nothing for {q}"}]
            case _:
                return f"nothing for {q}", 7

    model = ScriptedModel(script=[*[STUCK] * 4, reply("Done.")])
    graph = hand_built(
        model, ToolNode(guard_tools([search], guard=warning_guard(max_unheeded_nudges=9)))
    )
    result = drive(graph, HI, LIMIT, mode)
    answers = [m for m in result["messages"] if isinstance(m, ToolMessage)]
    assert ["[loopguard]" in m.text for m in answers] == [False, False, True, False]
    assert {without_guidance(m.text) for m in answers} == {"nothing for x"}
    assert [m.artifact for m in answers] == [7 if kind == "artifact" else None] * 4


def test_a_result_that_would_end_the_run_says_so_behind_itself() -> None:
    """The call ran, so it must not be told that it did not."""
    search, _ = search_tool()
    model = ScriptedModel(script=[*[STUCK] * 5, reply("Done.")])
    tools = guard_tools([search], guard=warning_guard())
    hand_built(model, ToolNode(tools)).invoke(HI, LIMIT)
    last = model.inputs[-1][-1].text
    assert last.startswith("nothing for x")
    assert "different approach" in last
    assert "not executed" not in last


def test_what_a_guard_appended_does_not_make_a_result_new() -> None:
    """The history holds results with notes behind them; replaying it reads past them."""
    search, ran = search_tool()
    (guarded,) = guard_tools([search], guard=blocking_guard())
    note = "[loopguard] Try something else. [/loopguard]"
    history: list[Any] = [HumanMessage("hi")]
    for call_id, text in [("1", "nothing for x"), ("2", append_guidance("nothing for x", note))]:
        history += [
            reply("", tool_call("search", {"q": "x"}, call_id)),
            ToolMessage(text, tool_call_id=call_id),
        ]
    history.append(reply("", tool_call("search", {"q": "x"}, "3")))
    model = ScriptedModel(script=[reply("Done.")])
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([guarded]))
    graph.add_edge(START, "tools")
    result = graph.compile().invoke({"messages": history})
    assert len(refusals(result["messages"])) == 1
    assert ran == []
    assert model.calls == 0


def test_a_new_message_of_a_person_is_a_new_turn() -> None:
    """The same call is fine again after each, in one checkpointed thread."""
    search, ran = search_tool()
    turn = [STUCK, STUCK, reply("Done.")]
    tools = guard_tools([search], guard=blocking_guard())
    graph = hand_built(ScriptedModel(script=turn * 4), ToolNode(tools), InMemorySaver())
    for _ in range(4):
        result = graph.invoke({"messages": "hi"}, {"configurable": {"thread_id": "1"}})
    assert refusals(result["messages"]) == []
    assert len(ran) == 8


def test_an_interrupt_goes_through_and_is_no_result() -> None:
    """The call runs again when it is answered, and counts once."""

    @tool
    def search(q: str) -> str:
        """Search, if a person lets it."""
        return str(interrupt(q))

    model = ScriptedModel(script=[STUCK, STUCK, reply("Done.")])
    graph = hand_built(
        model, ToolNode(guard_tools([search], guard=blocking_guard())), InMemorySaver()
    )
    thread: Any = {"configurable": {"thread_id": "1"}}
    graph.invoke(HI, thread)
    graph.invoke(Command(resume="yes"), thread)
    result = graph.invoke(Command(resume="yes"), thread)
    assert result["messages"][-1].text == "Done."
    assert refusals(result["messages"]) == []


def test_concurrent_runs_of_a_graph_do_not_see_each_other() -> None:
    """Each has its own state, and nothing else is kept."""
    search, ran = search_tool()
    tools = guard_tools([search], guard=blocking_guard())

    def run(_: int) -> Any:
        model = ScriptedModel(script=[STUCK, STUCK, reply("Done.")])
        return hand_built(model, ToolNode(tools)).invoke(HI, LIMIT)

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(run, range(8)))
    assert [refusals(result["messages"]) for result in results] == [[]] * 8
    assert len(ran) == 16


def test_listeners_hear_of_each_verdict_once() -> None:
    """What is replayed was announced when it happened."""
    heard: list[Any] = []
    search, _ = search_tool()
    model = ScriptedModel(script=[*[STUCK] * 5, reply("Done.")])
    tools = guard_tools([search], guard=blocking_guard(listeners=(heard.append,)))
    hand_built(model, ToolNode(tools)).invoke(HI, LIMIT)
    assert [event.verdict.action.name for event in heard] == ["BLOCK", "BLOCK", "HALT"]


def test_without_a_graph_the_tools_of_one_call_share_a_run() -> None:
    """Calls by hand, with or without an id; those of another `guard_tools` call do not count."""
    search, ran = search_tool()
    other, _ = search_tool()
    guarded, same_run = guard_tools([search, other], guard=blocking_guard())
    assert guarded.invoke({"q": "x"}) == "nothing for x"
    call = {"name": "search", "args": {"q": "x"}, "id": "1", "type": "tool_call"}
    assert same_run.invoke(call).content == "nothing for x"
    assert without_guidance(guarded.invoke({"q": "x"})) == ""
    assert same_run.invoke(call).status == "error"
    (new_run,) = guard_tools([search], guard=blocking_guard())
    assert new_run.invoke({"q": "x"}) == "nothing for x"
    assert len(ran) == 2


def test_a_tool_of_one_text_may_be_given_the_text_alone() -> None:
    """As the original may; the underscored method that classic code calls is guarded too."""
    (guarded,) = guard_tools([single], guard=blocking_guard())
    assert guarded.run("x") == guarded.run("x") == "got x"
    assert without_guidance(guarded.run("x")) == ""
    assert guarded._run(__arg1="y") == "got y"


def test_without_a_graph_failures_and_warnings_count() -> None:
    """An error goes through to the caller; a warning comes behind a text."""

    @tool
    def search(q: str) -> str:
        """Search."""
        raise ToolException(f"no {q}")

    (failing,) = guard_tools([search], guard=blocking_guard())
    for _ in range(2):
        with pytest.raises(ToolException):
            failing.invoke({"q": "x"})
    assert "not executed" in failing.invoke({"q": "x"})
    (warning,) = guard_tools([search_tool()[0]], guard=warning_guard())
    assert ["[loopguard]" in warning.invoke({"q": "x"}) for _ in range(3)] == [False, False, True]


def test_without_a_graph_an_interrupt_is_no_failure() -> None:
    """A node may call its tools itself, and a tool may ask a person."""

    @tool
    def search(q: str) -> str:
        """Ask."""
        raise GraphInterrupt([Interrupt(value=q)])

    (guarded,) = guard_tools([search], guard=blocking_guard())
    for _ in range(3):
        with pytest.raises(GraphInterrupt):
            guarded.invoke({"q": "x"})


def test_without_a_graph_any_thread_may_call() -> None:
    """The one run is locked: exactly the allowed number of equal calls runs."""
    search, ran = search_tool()
    (guarded,) = guard_tools([search], guard=blocking_guard())

    async def call_all() -> list[Any]:
        return await asyncio.gather(*(guarded.ainvoke({"q": "x"}) for _ in range(20)))

    asyncio.run(call_all())
    assert 2 <= len(ran) <= 4  # a result that came back in time may allow less, never more


def test_a_command_is_a_result() -> None:
    """A tool that moves the graph on is judged by the message it leaves."""

    @tool
    def search(q: str, call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Search, and write into the state."""
        return Command(update={"messages": [ToolMessage(f"no {q}", tool_call_id=call_id)]})

    model = ScriptedModel(script=[*[STUCK] * 4, reply("Done.")])
    graph = hand_built(model, ToolNode(guard_tools([search], guard=blocking_guard())))
    result = graph.invoke(HI, LIMIT)
    assert len(refusals(result["messages"])) == 2


def test_a_state_of_another_shape_is_read_too() -> None:
    """Messages under another key, or a bare list of them."""
    search, ran = search_tool()
    (guarded,) = guard_tools([search], guard=blocking_guard(), messages_key="talk")
    past = [
        message
        for call_id in ("1", "2")
        for message in (
            reply("", tool_call("search", {"q": "x"}, call_id)),
            ToolMessage("nothing for x", tool_call_id=call_id),
        )
    ]
    now = AIMessage("", tool_calls=[tool_call("search", {"q": "x"}, "3")])
    node = ToolNode([guarded], messages_key="talk")
    graph = StateGraph(dict)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    compiled = graph.compile()
    assert len(refusals(compiled.invoke({"talk": [*past, now]})["talk"])) == 1
    assert ran == []

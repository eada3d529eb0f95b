"""The callback handler on real agents: what it blocks, what it stops, and what it leaves alone."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.prebuilt import ToolNode, create_react_agent
from langgraph.types import Command
from packaging.version import Version
from pydantic import BaseModel

from loopguard_core import LoopDetected, LoopGuard, Policy
from loopguard_langchain import LoopGuardCallbackHandler

from .harness import (
    MODES,
    blocking_guard,
    config,
    drive,
    failing_tool,
    hand_built,
    refusals,
    search_tool,
    warning_guard,
)
from .scripted import ScriptedModel, reply, tool_call

HI: dict[str, Any] = {"messages": [HumanMessage("hi")]}
STUCK = reply("", tool_call("search", {"q": "x"}))

# An inline handler that raises as a model starts makes LangChain drop the coroutines of the other
# handlers, such as the one that streams messages.
pytestmark = pytest.mark.filterwarnings(
    "ignore:coroutine 'ahandle_event' was never awaited:RuntimeWarning"
)


def left_behind(handler: LoopGuardCallbackHandler) -> int:
    """Count the runs that the handler still knows."""
    return len(handler._runs)


@pytest.mark.parametrize("mode", MODES)
def test_a_stuck_agent_is_stopped(mode: str) -> None:
    """With the defaults a handful of equal steps is enough, however the agent is run."""
    search, ran = search_tool()
    model = ScriptedModel(script=[STUCK])
    handler = LoopGuardCallbackHandler()
    with pytest.raises(LoopDetected) as caught:
        drive(create_agent(model, [search]), HI, config(handler), mode)
    assert caught.value.verdict.reason == "thread.repeated_suffix"
    assert (model.calls, len(ran)) == (5, 5)
    assert left_behind(handler) == 0


@pytest.mark.parametrize("mode", MODES)
def test_one_call_of_a_batch_is_blocked_and_its_sibling_runs(mode: str) -> None:
    """The model reads why, as the result of that call alone, and can go on."""
    search, ran = search_tool()
    batches = [
        reply("", tool_call("search", {"q": "x"}), tool_call("search", {"q": str(turn)}))
        for turn in range(3)
    ]
    model = ScriptedModel(script=[*batches, reply("Done.")])
    handler = LoopGuardCallbackHandler(guard=blocking_guard())
    drive(create_agent(model, [search]), HI, config(handler), mode)
    blocked, sibling = model.inputs[-1][-2:]
    assert refusals(model.inputs[-1]) == [blocked]
    assert "not executed" in blocked.text
    assert sibling.text == "nothing for 2"
    assert sorted(ran) == ["0", "1", "2", "x", "x"]
    assert left_behind(handler) == 0


@pytest.mark.parametrize("mode", MODES)
def test_a_model_that_never_heeds_a_block_is_stopped(mode: str) -> None:
    """The third block in a row halts."""
    search, ran = search_tool()
    model = ScriptedModel(script=[STUCK])
    handler = LoopGuardCallbackHandler(guard=blocking_guard())
    with pytest.raises(LoopDetected):
        drive(create_agent(model, [search]), HI, config(handler), mode)
    assert (model.calls, len(ran)) == (5, 2)
    assert left_behind(handler) == 0


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
@pytest.mark.parametrize("kind", ["create_react_agent", "hand-built"])
def test_langgraph_agents_answer_a_blocked_call(kind: str) -> None:
    """Whatever runs its tools in a `ToolNode` with default error handling does."""
    search, ran = search_tool()
    model = ScriptedModel(script=[STUCK, STUCK, STUCK, reply("Done.")])
    if kind == "create_react_agent":
        graph = create_react_agent(model, [search])
    else:
        graph = hand_built(model, ToolNode([search]))
    result = graph.invoke(HI, config(LoopGuardCallbackHandler(guard=blocking_guard())))
    assert len(refusals(result["messages"])) == 1
    assert result["messages"][-1].text == "Done."
    assert len(ran) == 2


def test_a_tool_node_without_error_handling_is_stopped_by_a_block() -> None:
    """Nothing there can answer the call; the exception says what was found."""
    search, ran = search_tool()
    model = ScriptedModel(script=[STUCK])
    graph = hand_built(model, ToolNode([search], handle_tool_errors=False))
    handler = LoopGuardCallbackHandler(guard=blocking_guard())
    with pytest.raises(LoopDetected, match="same arguments and the same result"):
        graph.invoke(HI, config(handler))
    assert len(ran) == 2
    assert left_behind(handler) == 0


def test_a_halt_that_is_swallowed_comes_back_at_the_next_model_call() -> None:
    """A `ToolNode` that answers every error would otherwise go on for ever."""
    search, ran = search_tool()
    model = ScriptedModel(script=[STUCK])
    graph = hand_built(model, ToolNode([search], handle_tool_errors=True))
    handler = LoopGuardCallbackHandler(guard=blocking_guard(max_blocks_in_row=1))
    with pytest.raises(LoopDetected):
        graph.invoke(HI, config(handler))
    assert (model.calls, len(ran)) == (3, 2)
    assert left_behind(handler) == 0


def test_a_tool_that_does_not_exist_is_seen() -> None:
    """No tool starts on such a call; what LangChain answers shows that it was made."""
    search, ran = search_tool()
    model = ScriptedModel(script=[reply("", tool_call("serch", {"q": "x"}))])
    handler = LoopGuardCallbackHandler(guard=blocking_guard())
    with pytest.raises(LoopDetected) as caught:
        create_agent(model, [search]).invoke(HI, config(handler))
    assert caught.value.verdict.findings[0].evidence[0] == "serch"
    assert (model.calls, len(ran)) == (5, 0)


@pytest.mark.xfail(
    Version(version("langchain")) < Version("1.4.3"),
    reason="older releases do not answer calls whose arguments cannot be parsed",
    strict=True,
)
def test_arguments_that_cannot_be_parsed_are_seen() -> None:
    """LangChain answers such calls itself, before the next model call."""
    search, _ = search_tool()
    broken = {"name": "search", "args": '{"q": ', "id": None, "error": None}
    calls = iter(range(100))

    def stuck(_: list[BaseMessage]) -> AIMessage:
        call = {**broken, "id": f"c{next(calls)}", "type": "invalid_tool_call"}
        good = tool_call("search", {"q": call["id"]})
        return AIMessage("", tool_calls=[good], invalid_tool_calls=[call])

    model = ScriptedModel(script=[stuck])
    with pytest.raises(LoopDetected):
        create_agent(model, [search]).invoke(
            HI, config(LoopGuardCallbackHandler(guard=blocking_guard(max_blocks_in_row=1)))
        )
    assert model.calls == 3


def executor(model: ScriptedModel, search: Any, **options: Any) -> AgentExecutor:
    """Build a classic agent."""
    prompt = ChatPromptTemplate.from_messages(
        [("human", "{input}"), ("placeholder", "{agent_scratchpad}")]
    )
    agent = create_tool_calling_agent(model, [search], prompt)
    return AgentExecutor(agent=agent, tools=[search], max_iterations=30, **options)


@pytest.mark.parametrize("mode", ["invoke", "ainvoke"])
@pytest.mark.parametrize("streams", [True, False])
def test_an_agent_executor_is_stopped_by_a_block(mode: str, streams: bool) -> None:
    """It has no way to answer a call, and passes no ids to its tools: each counts once."""
    search, ran = search_tool()
    model = ScriptedModel(script=[STUCK])
    handler = LoopGuardCallbackHandler(guard=blocking_guard())
    agent = executor(model, search, stream_runnable=streams)
    with pytest.raises(LoopDetected):
        drive(agent, {"input": "hi"}, config(handler), mode)
    assert (model.calls, len(ran)) == (3, 2)
    assert left_behind(handler) == 0


def test_the_tool_of_a_node_is_watched_without_a_model() -> None:
    """A graph may call its tools itself."""
    search, ran = search_tool()
    handler = LoopGuardCallbackHandler(guard=blocking_guard())
    loop = RunnableLambda(lambda _: [search.invoke({"q": "x"}) for _ in range(9)])
    with pytest.raises(LoopDetected):
        loop.invoke(None, config(handler))
    assert len(ran) == 2


def test_forms_that_the_model_fills_in_are_no_calls() -> None:
    """Structured output comes as a call that no tool ever runs: equal grades are healthy.

    Any number of them; what is remembered of them is bounded.
    """
    model = ScriptedModel(script=[reply("", tool_call("Grade", {"relevant": True}))])
    grade = model.bind_tools([])

    def grade_all(_: Any) -> None:
        thread: list[BaseMessage] = []
        for number in range(20):
            thread.append(HumanMessage(f"Is document {number} relevant?"))
            thread.append(grade.invoke(thread))
        for number in range(300):
            grade.invoke(f"Is document {number} relevant?")
        (live,) = set(handler._runs._live.values())
        assert len(live._asked) < 300

    handler = LoopGuardCallbackHandler()
    RunnableLambda(grade_all).invoke(None, config(handler))
    assert model.calls == 320


def test_the_calls_of_a_batch_are_judged_in_order_before_any_of_them_runs() -> None:
    """Which of them are refused does not depend on how fast the others are."""
    search, ran = search_tool()
    batch = [tool_call("search", {"q": "x"}, str(number)) for number in range(5)]
    model = ScriptedModel(script=[reply("", *batch), reply("Done.")])
    create_agent(model, [search]).invoke(HI, config(LoopGuardCallbackHandler()))
    assert [m.tool_call_id for m in refusals(model.inputs[-1])] == ["3", "4"]
    assert len(ran) == 3


def test_a_command_is_a_result() -> None:
    """A tool that moves the graph on is judged by the message it leaves."""

    @tool
    def search(q: str, call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Search, and write into the state."""
        return Command(update={"messages": [ToolMessage(f"no {q}", tool_call_id=call_id)]})

    model = ScriptedModel(script=[STUCK])
    with pytest.raises(LoopDetected):
        create_agent(model, [search]).invoke(
            HI, config(LoopGuardCallbackHandler(guard=blocking_guard()))
        )
    assert model.calls == 5


def test_a_loop_of_structured_output_without_tools_is_stopped() -> None:
    """A model that only writes prose is asked for the same form again and again."""

    class Answer(BaseModel):
        """The answer."""

        text: str

    model = ScriptedModel(script=[reply("I would rather talk about it.")])
    agent = create_agent(model, [], response_format=ToolStrategy(Answer))
    with pytest.raises(LoopDetected):
        agent.invoke(HI, config(LoopGuardCallbackHandler()))
    assert model.calls < 12


def test_a_tool_that_fails_the_same_way_is_stopped() -> None:
    """A failure is a result, whoever turns it into a message."""
    search = failing_tool()
    model = ScriptedModel(script=[STUCK])
    graph = hand_built(model, ToolNode([search], handle_tool_errors=True))
    with pytest.raises(LoopDetected):
        graph.invoke(HI, config(LoopGuardCallbackHandler(guard=blocking_guard())))
    assert model.calls == 5  # two run, two are blocked, and the last one is one too many


def test_a_policy_that_only_observes_never_raises() -> None:
    """Listeners hear of everything all the same."""
    heard: list[Any] = []
    search, ran = search_tool()
    guard = LoopGuard(policy=Policy.observe(), listeners=(heard.append,))
    model = ScriptedModel(script=[*[STUCK] * 20, reply("Done.")])
    agent = create_agent(model, [search])
    agent.invoke(HI, config(LoopGuardCallbackHandler(guard=guard)))
    assert len(ran) == 20
    assert {event.kind for event in heard} == {"thread", "call"}


@pytest.mark.parametrize("mode", ["stream", "astream"])
@pytest.mark.parametrize("channel", ["content", "reasoning"])
def test_a_streamed_reply_that_goes_round_stops_the_run(channel: str, mode: str) -> None:
    """The provider's stream ends with the piece that shows it."""
    phrase = "and then we look at the next file again " * 200
    text = reply(phrase) if channel == "content" else reply("", reasoning=phrase)
    model = ScriptedModel(script=[text])
    handler = LoopGuardCallbackHandler()
    with pytest.raises(LoopDetected):
        drive(create_agent(model, []), HI, config(handler), mode)
    assert model.streamed[0] < len(phrase) / model.piece_chars / 2
    assert left_behind(handler) == 0


@pytest.mark.parametrize("mode", ["invoke", "ainvoke"])
@pytest.mark.parametrize("blocks", [False, True], ids=["text", "blocks"])
@pytest.mark.parametrize("on", [True, False])
def test_nudges_are_written_behind_results_only_on_request(
    mode: str, blocks: bool, on: bool
) -> None:
    """The canary of `nudge_results`: LangGraph must hand on the message callbacks are shown."""

    @tool
    def search(q: str) -> Any:
        """Search."""
        return [{"type": "text", "text": f"nothing for {q}"}] if blocks else f"nothing for {q}"

    model = ScriptedModel(script=[*[STUCK] * 3, reply("Done.")])
    handler = LoopGuardCallbackHandler(guard=warning_guard(), nudge_results=on)
    drive(create_agent(model, [search]), HI, config(handler), mode)
    results = [m.text for m in model.inputs[-1] if isinstance(m, ToolMessage)]
    assert results[:2] == ["nothing for x"] * 2
    assert results[2].startswith("nothing for x")
    assert ("[loopguard]" in results[2]) is on


def test_a_nudge_about_the_thread_comes_with_the_next_result() -> None:
    """No callback can speak before a model call, so it waits."""
    search, _ = search_tool()
    model = ScriptedModel(script=[*[STUCK] * 4, reply("Done.")])
    handler = LoopGuardCallbackHandler(nudge_results=True)
    create_agent(model, [search]).invoke(HI, config(handler))
    told = ["[loopguard]" in m.text for m in model.inputs[-1] if isinstance(m, ToolMessage)]
    assert told == [False, False, False, True]

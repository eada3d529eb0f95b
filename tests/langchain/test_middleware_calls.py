"""Calls under the middleware: blocked, run beside blocked ones, unknown, broken, hosted."""

from __future__ import annotations

import threading
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, InvalidToolCall, ToolMessage
from langchain_core.tools import InjectedToolCallId, StructuredTool, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from loopguard_core import LoopGuard, VerdictEvent
from loopguard_core.guard.guidance import without_guidance

from .agents import DONE, STUCK, finish, guarded, person, reason, thread
from .harness import MODES, assert_sendable, blocking_guard, failing_tool, refusals, search_tool
from .scripted import ScriptedModel, reply, tool_call

X = tool_call("search", {"q": "x"})
Y = tool_call("search", {"q": "y"})


@pytest.mark.parametrize("mode", MODES)
def test_one_call_of_a_batch_is_blocked_and_its_siblings_run(mode: str) -> None:
    """A blocked call is answered in its place; the batch goes on without it."""
    search, ran = search_tool()
    script = [STUCK, STUCK, reply("", Y, X, tool_call("search", {"q": "z"})), DONE]
    agent = guarded(ScriptedModel(script=script), search, guard=blocking_guard())
    messages = finish(agent, person(), mode=mode)["messages"]
    assert sorted(ran) == ["x", "x", "y", "z"]
    (refusal,) = refusals(messages)
    batch = next(m for m in messages if len(getattr(m, "tool_calls", ())) == 3)
    assert refusal.tool_call_id == batch.tool_calls[1]["id"]
    assert refusal.name == "search"
    assert "was called 3 times" in refusal.content
    assert_sendable(messages)


@pytest.mark.parametrize("mode", MODES)
def test_a_reply_with_no_call_left_is_asked_for_again(mode: str) -> None:
    """Where every call is refused the model reads why, in a valid thread, and tries again."""
    search, ran = search_tool()
    model = ScriptedModel(script=[STUCK, STUCK, STUCK, reply("", Y), DONE])
    agent = guarded(model, search, guard=blocking_guard())
    messages = finish(agent, person(), mode=mode)["messages"]
    assert ran == ["x", "x", "y"]
    assert model.calls == 5
    refusal = model.inputs[3][-1]
    assert isinstance(refusal, ToolMessage)
    assert refusal.status == "error"
    assert len(refusals(messages)) == 1
    assert_sendable(messages)


@pytest.mark.parametrize("mode", MODES)
def test_the_third_block_in_a_row_ends_the_run(mode: str) -> None:
    """A model that never heeds a block is stopped, in whatever way it is asked again."""
    search, ran = search_tool()
    model = ScriptedModel(script=[STUCK])
    agent = guarded(model, search, guard=blocking_guard())
    messages = finish(agent, person(), mode=mode)["messages"]
    assert len(ran) == 2
    assert model.calls == 5
    assert reason(messages) == "tool_loop.no_progress"
    assert_sendable(messages)


def test_a_crash_while_asking_again_loses_the_refusals_with_it() -> None:
    """A step is kept whole or not at all, so a resumed run counts nothing twice."""
    search, ran = search_tool()
    model = ScriptedModel(script=[STUCK, STUCK, STUCK, RuntimeError("gone"), STUCK, DONE])
    agent = guarded(model, search, guard=blocking_guard(), checkpointer=InMemorySaver())
    with pytest.raises(RuntimeError, match="gone"):
        finish(agent, person())
    assert not refusals(agent.get_state(thread()).values["messages"])
    messages = finish(agent, None)["messages"]
    assert len(ran) == 2
    assert len(refusals(messages)) == 1
    assert_sendable(messages)


def test_a_refused_reply_with_a_call_that_cannot_be_parsed_is_answered_whole() -> None:
    """Providers want an answer to a broken call too, before the model is asked again."""
    search, _ = search_tool()
    broken = InvalidToolCall(
        name="search", args="not json", id="b1", error="no JSON", type="invalid_tool_call"
    )
    both = AIMessage("", tool_calls=[{**X, "id": "c9"}], invalid_tool_calls=[broken])
    model = ScriptedModel(script=[STUCK, STUCK, both, DONE])
    agent = guarded(model, search, guard=blocking_guard())
    messages = finish(agent, person())["messages"]
    assert {m.tool_call_id for m in model.inputs[3][-2:]} == {"c9", "b1"}
    assert {m.tool_call_id for m in refusals(messages)} <= {"c9", "b1"}


@pytest.mark.parametrize("mode", MODES)
def test_a_tool_that_does_not_exist_is_guarded(mode: str) -> None:
    """No tool runs for a name that the model made up, and yet it is a loop."""
    search, ran = search_tool()
    model = ScriptedModel(script=[reply("", tool_call("invent", {"q": "x"}))])
    agent = guarded(model, search, guard=blocking_guard())
    messages = finish(agent, person(), mode=mode)["messages"]
    assert not ran
    assert reason(messages) == "tool_loop.no_progress"
    assert_sendable(messages)


@pytest.mark.parametrize("mode", MODES)
def test_calls_that_cannot_be_parsed_are_guarded_beside_good_ones(mode: str) -> None:
    """The same broken call, beside calls that work, is seen in the thread."""
    search, _ = search_tool()
    numbers = iter(range(99))

    def step(_: Any) -> AIMessage:
        number = next(numbers)
        broken = InvalidToolCall(
            name="write",
            args="not json",
            id=f"b{number}",
            error="no JSON",
            type="invalid_tool_call",
        )
        return AIMessage("", tool_calls=[X], invalid_tool_calls=[broken])

    agent = guarded(ScriptedModel(script=[step]), search)
    messages = finish(agent, person(), mode=mode)["messages"]
    assert reason(messages)


def test_calls_that_the_provider_executes_are_left_to_it() -> None:
    """A hosted call has its answer in the same message; nothing is refused, the loop is seen."""
    hosted = AIMessage(
        [
            {"type": "server_tool_call", "name": "web_search", "args": {"q": "x"}, "id": "s1"},
            {"type": "server_tool_result", "tool_call_id": "s1", "status": "success", "output": 1},
            {"type": "text", "text": "Found it."},
        ],
        tool_calls=[X],
    )
    search, _ = search_tool()
    model = ScriptedModel(script=[hosted])
    messages = finish(guarded(model, search), person())["messages"]
    assert not [m for m in refusals(messages) if m.tool_call_id == "s1"]
    assert str(reason(messages)).startswith("thread.")


@pytest.mark.parametrize("mode", MODES)
def test_a_tool_that_returns_a_command_is_guarded(mode: str) -> None:
    """The result is the message that the command puts into the thread."""
    ran: list[str] = []

    @tool
    def search(q: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Search."""
        ran.append(q)
        return Command(update={"messages": [ToolMessage("nothing", tool_call_id=tool_call_id)]})

    agent = guarded(ScriptedModel(script=[STUCK]), search, guard=blocking_guard())
    messages = finish(agent, person(), mode=mode)["messages"]
    assert len(ran) == 2
    assert reason(messages) == "tool_loop.no_progress"


@pytest.mark.parametrize("mode", MODES)
def test_a_tool_that_fails_with_a_message_is_guarded(mode: str) -> None:
    """The same failure over and over is no progress."""
    failing = failing_tool()
    failing.handle_tool_error = True
    agent = guarded(ScriptedModel(script=[STUCK]), failing, guard=blocking_guard())
    messages = finish(agent, person(), mode=mode)["messages"]
    assert reason(messages) == "tool_loop.no_progress"
    assert_sendable(messages)


def test_a_failure_and_a_result_with_the_same_words_are_not_the_same() -> None:
    """Whether a tool failed is a part of what came back."""
    ran: list[str] = []

    def search(q: str) -> str:
        """Search."""
        ran.append(q)
        if len(ran) % 2:
            raise ToolException("nothing")
        return "nothing"

    one = StructuredTool.from_function(search, handle_tool_error=True)
    model = ScriptedModel(script=[*[STUCK] * 4, DONE])
    messages = finish(guarded(model, one, guard=blocking_guard()), person())["messages"]
    assert len(ran) == 4
    assert messages[-1].content == "Done."


def test_a_tool_that_raises_raises_as_without_the_guard() -> None:
    """What a tool raises is the host's to handle."""
    with pytest.raises(ToolException, match="no x"):
        finish(guarded(ScriptedModel(script=[STUCK]), failing_tool()), person())


def test_return_direct_ends_the_run_as_without_the_guard() -> None:
    """A tool whose result is the answer stays the end, also with a blocked call beside it."""
    search, _ = search_tool()

    def answer(q: str) -> str:
        """Answer."""
        return f"the answer to {q}"

    direct = StructuredTool.from_function(answer, return_direct=True)
    asked = reply("", tool_call("answer", {"q": "x"}))
    model = ScriptedModel(script=[STUCK, STUCK, asked])
    messages = finish(guarded(model, search, direct, guard=blocking_guard()), person())["messages"]
    assert messages[-1].content == "the answer to x"
    assert model.calls == 3


def test_a_blocked_sibling_does_not_keep_return_direct_from_going_on() -> None:
    """A batch that mixes an answer with other calls goes back to the model, as ever."""
    search, ran = search_tool()

    def answer(q: str) -> str:
        """Answer."""
        return f"the answer to {q}"

    direct = StructuredTool.from_function(answer, return_direct=True)
    asked = reply("", X, tool_call("answer", {"q": "x"}))
    model = ScriptedModel(script=[STUCK, STUCK, asked, DONE])
    messages = finish(guarded(model, search, direct, guard=blocking_guard()), person())["messages"]
    assert len(ran) == 2
    assert_sendable(messages)


@pytest.mark.parametrize("mode", MODES)
def test_parallel_results_are_observed_in_the_order_of_their_calls(mode: str) -> None:
    """However tools finish, the guard sees one thread."""
    heard: list[VerdictEvent] = []
    first_is_done = threading.Event()

    def slow(q: str) -> str:
        """Wait for the other call."""
        if q == "a":
            first_is_done.wait(5)
        else:
            first_is_done.set()
        return "the same"

    def step(_: Any) -> AIMessage:
        first_is_done.clear()
        return reply("", tool_call("slow", {"q": "a"}), tool_call("slow", {"q": "b"}))

    guard = LoopGuard(listeners=(heard.append,))
    agent = guarded(ScriptedModel(script=[step]), StructuredTool.from_function(slow), guard=guard)
    messages = finish(agent, person(), mode=mode)["messages"]
    assert reason(messages)
    assert [e.verdict.action.name for e in heard][-1] == "HALT"


def test_a_batch_of_more_calls_than_anyone_makes_runs_whole() -> None:
    """Bounds of what the guard remembers never refuse a call."""
    search, ran = search_tool()
    many = reply("", *[tool_call("search", {"q": str(n // 2)}) for n in range(100)])
    model = ScriptedModel(script=[many, DONE])
    messages = finish(guarded(model, search), person())["messages"]
    assert len(ran) == 100
    assert not refusals(messages)


def test_a_wrapper_of_tools_is_called_for_what_runs_and_for_nothing_else() -> None:
    """LC4: other middleware's tool wrappers see unknown tools, but no call that was refused."""
    seen: list[str] = []

    class Watches(AgentMiddleware):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            seen.append(request.tool_call["name"])
            return handler(request)

    search, _ = search_tool()
    unknown = reply("", tool_call("invent"))
    model = ScriptedModel(script=[STUCK, STUCK, STUCK, unknown, DONE])
    agent = guarded(model, search, guard=blocking_guard(), after=[Watches()])
    messages = finish(agent, person())["messages"]
    assert seen == ["search", "search", "invent"]
    assert len(refusals(messages)) == 1


def test_a_command_from_a_tool_wrapper_does_not_end_a_run() -> None:
    """LC2: which is why calls are judged where the model replies."""

    class Ends(AgentMiddleware):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:  # noqa: ARG002 - not called
            answer = ToolMessage("no", tool_call_id=request.tool_call["id"])
            return Command(update={"messages": [answer], "jump_to": "end"}, goto="__end__")

    search, _ = search_tool()
    model = ScriptedModel(script=[STUCK, DONE])
    create_agent(model, [search], middleware=[Ends()]).invoke(person(), thread())
    assert model.calls == 2


def test_no_sibling_of_a_halting_call_runs() -> None:
    """LC3: raising in one tool does not stop its siblings; a halt comes before any of them."""
    search, ran = search_tool()
    batch = reply("", Y, X)
    model = ScriptedModel(script=[STUCK, STUCK, STUCK, STUCK, batch])
    agent = guarded(model, search, guard=blocking_guard())
    messages = finish(agent, person())["messages"]
    assert "y" not in ran
    assert [without_guidance(str(m.content)) for m in messages[-3:-1]] == ["", ""]
    assert_sendable(messages)

"""How the middleware ends a run: three ways, every call answered, also where others jump about."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelCallLimitMiddleware, hook_config
from langchain_core.messages import AIMessage, HumanMessage, InvalidToolCall, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from loopguard_core import LoopDetected, LoopGuard, Policy
from loopguard_langchain import LoopGuardMiddleware

from .agents import DONE, HALTING, STUCK, Looks, finish, guarded, person, reason, thread
from .harness import MODES, assert_sendable, blocking_guard, search_tool
from .scripted import ScriptedModel, reply, tool_call

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

NO_PROGRESS = "tool_loop.no_progress"
X = tool_call("search", {"q": "x"})
Y = tool_call("search", {"q": "y"})


def last_batch(messages: list[BaseMessage]) -> list[ToolMessage]:
    """Return the answers behind the newest message with calls, in the order of the calls."""
    start = max(i for i, m in enumerate(messages) if getattr(m, "tool_calls", None))
    calls: Any = messages[start]
    asked = [call["id"] for call in (*calls.tool_calls, *calls.invalid_tool_calls)]
    answers = [m for m in messages[start:] if isinstance(m, ToolMessage)]
    return sorted(answers, key=lambda answer: asked.index(answer.tool_call_id))


@pytest.mark.parametrize("on_halt", ["end", "answer"])
@pytest.mark.parametrize("mode", MODES)
def test_a_halt_in_the_middle_of_a_batch_answers_every_call(mode: str, on_halt: str) -> None:
    """LC6: the calls before and behind the halting one are answered too, and none of them runs."""
    search, ran = search_tool()
    model = ScriptedModel(script=[*HALTING, reply("So.", Y, X, Y), reply("What I know.")])
    agent = guarded(model, search, guard=blocking_guard(on_halt=on_halt))
    messages = finish(agent, person(), mode=mode)["messages"]
    assert "y" not in ran
    before, halting, behind = (str(answer.content) for answer in last_batch(messages))
    assert "because the run ended" not in halting
    assert "because the run ended" in before
    assert before == behind
    assert_sendable(messages)
    assert reason(messages) == NO_PROGRESS
    assert isinstance(messages[-1], AIMessage)
    assert ("What I know" in messages[-1].content) is (on_halt == "answer")


@pytest.mark.parametrize("mode", MODES)
def test_a_halt_can_raise_and_leaves_a_valid_thread(mode: str) -> None:
    """Nothing of the reply that halts is stored, so the thread can go on with a new message."""
    search, _ = search_tool()
    agent = guarded(
        ScriptedModel(script=[*HALTING, reply("", Y, X, Y), DONE]),
        search,
        guard=blocking_guard(on_halt="raise"),
        checkpointer=InMemorySaver(),
    )
    with pytest.raises(LoopDetected) as caught:
        finish(agent, person(), mode=mode)
    assert caught.value.verdict.reason == NO_PROGRESS
    assert_sendable(agent.get_state(thread()).values["messages"])
    messages = finish(agent, person("go on"), mode=mode)["messages"]
    assert messages[-1].content == "Done."


def test_a_raised_halt_is_raised_again_when_the_run_is_resumed() -> None:
    """The state before the halt is what the checkpoint has, so the same verdict follows."""
    search, _ = search_tool()
    agent = guarded(
        ScriptedModel(script=[STUCK]),
        search,
        guard=LoopGuard(policy=Policy(on_halt="raise")),
        checkpointer=InMemorySaver(),
    )
    for given in (person(), None):
        with pytest.raises(LoopDetected):
            finish(agent, given)


@pytest.mark.parametrize("mode", MODES)
def test_after_a_halt_a_new_message_starts_over(mode: str) -> None:
    """A stopped run is over; the thread is not."""
    search, ran = search_tool()
    model = ScriptedModel(script=[*[STUCK] * 5, STUCK, DONE])
    agent = guarded(model, search, guard=blocking_guard(), checkpointer=InMemorySaver())
    assert reason(finish(agent, person(), mode=mode)["messages"]) == NO_PROGRESS
    messages = finish(agent, person("try something else"), mode=mode)["messages"]
    assert messages[-1].content == "Done."
    assert len(ran) == 3
    assert_sendable(messages)


def test_after_a_halt_an_invocation_without_a_message_goes_on_counting() -> None:
    """Whoever starts the run again without a word gets the counts it had."""
    search, ran = search_tool()
    model = ScriptedModel(script=[STUCK])
    agent = guarded(model, search, guard=blocking_guard(), checkpointer=InMemorySaver())
    finish(agent, person())
    messages = finish(agent, {"messages": []})["messages"]
    assert len(ran) == 2
    assert reason(messages) == NO_PROGRESS
    assert_sendable(messages)


@pytest.mark.parametrize("on_halt", ["end", "answer"])
def test_a_reason_is_json_and_names_the_detector(on_halt: str) -> None:
    """A stop has a machine-readable reason on the last message."""
    search, _ = search_tool()
    model = ScriptedModel(script=[*[STUCK] * 5, reply("What I know.")])
    agent = guarded(model, search, guard=blocking_guard(on_halt=on_halt))
    message = finish(agent, person())["messages"][-1]
    record = message.response_metadata["loopguard"]
    assert json.loads(json.dumps(record)) == record
    assert record["action"] == "halt"
    assert record["detector"] == NO_PROGRESS
    assert record["findings"][0]["count"] >= 3


def test_what_the_model_wrote_is_not_changed() -> None:
    """The reason goes on a copy: a provider may hand out the same object again."""
    search, _ = search_tool()
    answer = reply("What I know.")
    model = ScriptedModel(script=[*[STUCK] * 5, answer])
    finish(guarded(model, search, guard=blocking_guard(on_halt="answer")), person())
    assert "loopguard" not in answer.response_metadata


@pytest.mark.parametrize("mode", MODES)
def test_the_last_answer_is_asked_for_without_tools(mode: str) -> None:
    """LC9: a model that may call tools would; the instruction is sent and not stored."""
    search, _ = search_tool()
    model = ScriptedModel(script=[*[STUCK] * 5, reply("What I know.")])
    agent = guarded(model, search, guard=blocking_guard(on_halt="answer"))
    messages = finish(agent, person(), mode=mode)["messages"]
    assert model.tools[-2]
    assert not model.tools[-1]
    assert isinstance(model.inputs[-1][-1], HumanMessage)
    assert "No further tool calls" in str(model.inputs[-1][-1].content)
    assert_sendable(model.inputs[-1])
    assert "No further tool calls" not in str(messages)
    assert messages[-1].content == "What I know."


@pytest.mark.parametrize(
    ("last", "final"),
    [
        (reply("", X), "I stopped here"),
        (reply("The answer is 4.", X), "The answer is 4."),
        (reply(""), "I stopped here"),
        (reply("  \n"), "I stopped here"),
        (reply("", reasoning="I know nothing."), "I stopped here"),
        (AIMessage([{"type": "text", "text": "A block."}]), "A block."),
    ],
    ids=["a-call", "text-and-a-call", "nothing", "blank", "thinking-alone", "blocks"],
)
@pytest.mark.parametrize("mode", ["invoke", "ainvoke"])
def test_a_last_answer_that_is_none_falls_back_to_ours(
    mode: str, last: AIMessage, final: str
) -> None:
    """A model without tools may call one all the same, or say nothing; the run ends with words."""
    search, ran = search_tool()
    model = ScriptedModel(script=[*[STUCK] * 5, last])
    agent = guarded(model, search, guard=blocking_guard(on_halt="answer"))
    messages = finish(agent, person(), mode=mode)["messages"]
    assert messages[-1].text.startswith(final)
    assert reason(messages) == NO_PROGRESS
    assert not messages[-1].tool_calls
    assert len(ran) == 2
    assert_sendable(messages)


def test_a_broken_call_of_the_halting_message_is_answered_too() -> None:
    """What could not be parsed is a call to the provider all the same."""
    broken = InvalidToolCall(
        name="search", args="no json", id="b1", error="no", type="invalid_tool_call"
    )
    both = AIMessage("", tool_calls=[{**X, "id": "c9"}], invalid_tool_calls=[broken])
    search, _ = search_tool()
    model = ScriptedModel(script=[*HALTING, both, reply("What I know.")])
    agent = guarded(model, search, guard=blocking_guard(on_halt="answer"))
    messages = finish(agent, person())["messages"]
    assert {m.tool_call_id for m in last_batch(messages)} == {"c9", "b1"}
    assert {m.tool_call_id for m in last_batch(model.inputs[-1])} == {"c9", "b1"}


@pytest.mark.parametrize("hooks", [1, 2])
@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize("mode", MODES)
def test_other_hooks_do_not_keep_a_run_from_ending(mode: str, place: str, hooks: int) -> None:
    """LC7, LC10: the jump is lost to hooks behind the model, the end is not."""
    search, _ = search_tool()
    others = [Looks(number) for number in range(hooks)]
    model = ScriptedModel(script=[STUCK])
    agent = guarded(model, search, guard=blocking_guard(), **{place: others})
    messages = finish(agent, person(), mode=mode)["messages"]
    assert reason(messages) == NO_PROGRESS
    assert sum("I stopped here" in str(m.content) for m in messages) == 1


@pytest.mark.parametrize("mode", MODES)
def test_middleware_that_never_takes_no_for_an_answer_is_stopped(mode: str) -> None:
    """What sends the run back to the model after its end gets an exception."""

    class Insists(AgentMiddleware):
        @hook_config(can_jump_to=["model"])
        def after_model(self, state: Any, runtime: Any) -> Any:  # noqa: ARG002 - a hook
            last = state["messages"][-1]
            return (
                {"jump_to": "model"}
                if isinstance(last, AIMessage) and not last.tool_calls
                else None
            )

    search, _ = search_tool()
    model = ScriptedModel(script=[STUCK])
    agent = guarded(model, search, guard=blocking_guard(), after=[Insists()])
    with pytest.raises(LoopDetected):
        finish(agent, person(), mode=mode)
    assert model.calls == 5


def test_other_limits_still_count() -> None:
    """LangChain's own limit ends a run that the guard does not, with its own words."""
    search, _ = search_tool()
    numbers = iter(range(99))
    model = ScriptedModel(
        script=[lambda _: reply("", tool_call("search", {"q": str(next(numbers))}))]
    )
    limit = ModelCallLimitMiddleware(run_limit=4)
    messages = finish(guarded(model, search, after=[limit]), person())["messages"]
    assert model.calls == 4
    assert reason(messages) is None


def test_an_unguarded_loop_ends_at_the_recursion_limit_only() -> None:
    """LC31: what all this is for."""
    search, _ = search_tool()
    model = ScriptedModel(script=[STUCK])
    with pytest.raises(RecursionError):
        create_agent(model, [search]).invoke(person(), thread(limit=60))
    assert model.calls >= 29


def test_a_halt_is_the_last_word_in_the_answer_of_a_stream() -> None:
    """Who streams messages gets the reason as a message, once."""
    search, _ = search_tool()
    agent = guarded(ScriptedModel(script=[STUCK]), search, guard=blocking_guard())
    events = list(agent.stream(person(), thread(), stream_mode="messages"))
    said = [message for message, _ in events if "I stopped here" in str(message.content)]
    assert len(said) == 1
    assert said == [events[-1][0]]


def test_the_middleware_can_be_made_without_arguments() -> None:
    """It guards with the defaults."""
    assert LoopGuardMiddleware().guard == LoopGuard()

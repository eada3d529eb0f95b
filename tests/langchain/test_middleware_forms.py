"""Agents that are asked for structured output, with the guard: forms, prose in their place, ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from loopguard_core import LoopDetected, LoopGuard, Policy

from .agents import DONE, HALTING, STUCK, Looks, finish, guarded, person, reason
from .harness import MODES, assert_sendable, blocking_guard, search_tool
from .scripted import ScriptedModel, reply, tool_call

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, BaseMessage

NO_PROGRESS = "tool_loop.no_progress"
X = tool_call("search", {"q": "x"})


class Answer(BaseModel):
    """An answer."""

    text: str


@pytest.mark.parametrize("mode", MODES)
def test_a_halted_run_may_answer_in_the_form_it_was_asked_for(mode: str) -> None:
    """With a tool strategy the last answer has the form's tool alone."""
    search, _ = search_tool()
    form = reply("", tool_call("Answer", {"text": "4"}))
    model = ScriptedModel(script=[*[STUCK] * 5, form])
    agent = guarded(
        model,
        search,
        guard=blocking_guard(on_halt="answer"),
        response_format=ToolStrategy(Answer),
    )
    result = finish(agent, person(), mode=mode)
    assert result["structured_response"] == Answer(text="4")
    assert reason(result["messages"]) == NO_PROGRESS
    assert_sendable(result["messages"])


@pytest.mark.parametrize(
    ("last", "answer"), [(reply('{"text": "4"}'), Answer(text="4")), (reply("Four."), None)]
)
def test_a_halted_run_may_answer_in_the_providers_form(
    last: AIMessage, answer: Answer | None
) -> None:
    """With a provider strategy too; an answer that breaks the form does not break the run."""
    search, _ = search_tool()
    model = ScriptedModel(script=[*[STUCK] * 5, last])
    agent = guarded(
        model,
        search,
        guard=blocking_guard(on_halt="answer"),
        response_format=ProviderStrategy(Answer),
    )
    result = finish(agent, person())
    assert result.get("structured_response") == answer
    assert reason(result["messages"]) == NO_PROGRESS


def test_a_form_that_was_filled_in_beside_a_halting_call_is_kept() -> None:
    """The answer was there; that the run ends does not take it away."""
    search, _ = search_tool()
    both = reply("", tool_call("Answer", {"text": "4"}), X)
    model = ScriptedModel(script=[*HALTING, both])
    agent = guarded(model, search, guard=blocking_guard(), response_format=ToolStrategy(Answer))
    result = finish(agent, person())
    assert result["structured_response"] == Answer(text="4")
    assert reason(result["messages"]) == NO_PROGRESS
    assert_sendable(result["messages"])


def test_a_form_that_was_filled_in_beside_a_blocked_call_ends_the_run() -> None:
    """The answer is there, so nobody has to be asked again."""
    search, ran = search_tool()
    both = reply("", tool_call("Answer", {"text": "4"}), X)
    model = ScriptedModel(script=[STUCK, STUCK, both, DONE])
    agent = guarded(model, search, guard=blocking_guard(), response_format=ToolStrategy(Answer))
    result = finish(agent, person())
    assert result["structured_response"] == Answer(text="4")
    assert (model.calls, len(ran)) == (3, 2)
    assert_sendable(result["messages"])


def test_a_form_that_is_filled_in_at_once_ends_the_run_as_without_the_guard() -> None:
    """Structured output is a call that has its answer already; it is no business of the guard."""
    for _ in range(6):
        model = ScriptedModel(script=[reply("", tool_call("Answer", {"text": "4"}))])
        agent = guarded(model, response_format=ToolStrategy(Answer))
        assert finish(agent, person())["structured_response"] == Answer(text="4")
        assert model.calls == 1


def test_prose_before_a_form_is_asked_for_again_as_without_the_guard() -> None:
    """An agent without tools asks until the form is filled in; the guard leaves that alone."""
    model = ScriptedModel(
        script=[reply("Let me see."), reply("", tool_call("Answer", {"text": "4"}))]
    )
    agent = guarded(model, response_format=ToolStrategy(Answer))
    assert finish(agent, person())["structured_response"] == Answer(text="4")
    assert model.calls == 2


@pytest.mark.parametrize("on_halt", ["end", "answer"])
@pytest.mark.parametrize("mode", MODES)
def test_a_loop_of_prose_in_the_place_of_a_form_is_ended(mode: str, on_halt: str) -> None:
    """LC32: no tool is involved, only the model and the model again."""
    model = ScriptedModel(script=[reply("I cannot do that.")])
    guard = LoopGuard(policy=Policy(on_halt=on_halt))
    agent = guarded(model, guard=guard, response_format=ToolStrategy(Answer))
    result = finish(agent, person(), mode=mode)
    assert str(reason(result["messages"])).startswith("thread.")
    assert model.calls < 12
    assert result.get("structured_response") is None


def test_a_jump_that_is_lost_where_nothing_else_ends_the_run_raises() -> None:
    """LC10: without tools, a form that was not filled in sends the run on, so an error ends it."""
    model = ScriptedModel(script=[reply("I cannot do that.")])
    agent = guarded(model, after=[Looks()], response_format=ToolStrategy(Answer))
    with pytest.raises(LoopDetected) as caught:
        finish(agent, person())
    assert caught.value.verdict.reason.startswith("thread.")
    assert model.calls < 12


def test_the_run_after_one_that_was_ended_by_an_error_is_a_run_like_any_other() -> None:
    """An error out of a jump that was lost leaves a thread that can go on."""

    def step(messages: list[BaseMessage]) -> AIMessage:
        if any(message.content == "again" for message in messages):
            return reply("", tool_call("Answer", {"text": "4"}))
        return reply("I cannot do that.")

    model = ScriptedModel(script=[step])
    agent = guarded(
        model, after=[Looks()], response_format=ToolStrategy(Answer), checkpointer=InMemorySaver()
    )
    with pytest.raises(LoopDetected):
        finish(agent, person())
    assert finish(agent, person("again"))["structured_response"] == Answer(text="4")

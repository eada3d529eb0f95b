"""Forms of `response_format` whose calls could not be parsed: refused, answered, filled in again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import AutoStrategy, ToolStrategy
from langchain_core.messages import AIMessage, InvalidToolCall
from langchain_core.tools import tool
from pydantic import BaseModel

from loopguard_core.agent import ShaperPolicy
from loopguard_langchain import ContextShaper, LoopGuardMiddleware, ToolHygieneMiddleware

from .agents import finish, person, thread
from .harness import MODES, assert_sendable
from .scripted import ScriptedModel, reply, tool_call

if TYPE_CHECKING:
    from langchain_core.messages import ToolCall


class Out(BaseModel):
    """The answer."""

    x: int


@tool
def look(q: str) -> str:
    """Look."""
    return q


def broken(arguments: str, *calls: ToolCall, name: str = "Out") -> AIMessage:
    """Return a reply with a call that LangChain could not parse, beside others."""
    call = InvalidToolCall(
        name=name, args=arguments, id="i", error="no JSON", type="invalid_tool_call"
    )
    return AIMessage("", tool_calls=list(calls), invalid_tool_calls=[call])


RIGHT = reply("", tool_call("Out", {"x": 3}))


def stage(*script: Any, form: Any = None, order: str = "h") -> tuple[Any, ScriptedModel]:
    """Return an agent with one tool and a form, and its model."""
    parts = {
        "h": ToolHygieneMiddleware(),
        "g": LoopGuardMiddleware(),
        "s": ContextShaper(policy=ShaperPolicy()),
    }
    model = ScriptedModel(script=list(script))
    middleware = [parts[part] for part in order]
    response_format = form or ToolStrategy(Out)
    return create_agent(
        model, [look], middleware=middleware, response_format=response_format
    ), model


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("arguments", ['{"x": 3,}', '{"x": ', "x", ""])
def test_a_form_is_filled_in_again(mode: str, arguments: str) -> None:
    """The model is told what is wrong, and what it then sends is the run's answer."""
    agent, model = stage(broken(arguments), RIGHT)
    end = finish(agent, person(), mode=mode)
    assert end["structured_response"] == Out(x=3)
    assert_sendable(model.inputs[-1])
    assert_sendable(end["messages"])


@pytest.mark.parametrize("order", ["h", "gh", "hg", "hgs", "shg", "gsh"])
def test_a_form_beside_a_call(order: str) -> None:
    """The tool runs, the form is refused, and both are answered in every order of middleware."""
    # Under the guard the model streams, and LangChain itself closes what was cut off.
    agent, model = stage(broken("nope", tool_call("look", {"q": "a"})), RIGHT, order=order)
    end = finish(agent, person())
    assert end["structured_response"] == Out(x=3)
    texts = [message.text for message in end["messages"] if message.type == "tool"]
    assert "a" in texts
    assert any("malformed json" in text for text in texts)
    for sent in model.inputs:
        assert_sendable(sent)


@pytest.mark.parametrize("form", [ToolStrategy(Out), AutoStrategy(Out), Out])
def test_every_way_to_ask_for_a_form(form: Any) -> None:
    """A model without structured output of its own is given the form as a tool."""
    agent, _ = stage(broken('{"x": 3,}'), RIGHT, form=form)
    assert finish(agent, person())["structured_response"] == Out(x=3)


@pytest.mark.parametrize("order", ["gh", "hg"])
def test_a_model_that_never_gets_it_right_is_stopped(order: str) -> None:
    """The guard sees the same broken form again and again."""
    agent, model = stage(*[broken('{"x": ')] * 40, order=order)
    end = finish(agent, person(), thread(limit=100))
    assert model.calls < 10
    assert end["messages"][-1].response_metadata["loopguard"]
    assert_sendable(end["messages"])


def test_a_form_that_reads_well_is_left_alone() -> None:
    """Also where the provider says that the reply reached its limit: LangChain has read it."""
    said = RIGHT.model_copy(update={"response_metadata": {"finish_reason": "length"}})
    agent, model = stage(said)
    assert finish(agent, person())["structured_response"] == Out(x=3)
    assert model.calls == 1

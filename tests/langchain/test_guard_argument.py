"""What is passed for `guard=` and to the trimmer: a slip is an error that names it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from typing_extensions import override

from loopguard_core import InvalidInputError, LoopGuard, Policy
from loopguard_langchain import (
    LoopGuardCallbackHandler,
    LoopGuardMiddleware,
    ThreadTrimmer,
    guard_tools,
)

from .harness import search_tool
from .scripted import ScriptedModel, reply, tool_call

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    "take",
    [
        lambda guard: LoopGuardMiddleware(guard=guard),
        lambda guard: LoopGuardCallbackHandler(guard=guard),
        lambda guard: guard_tools([], guard=guard),
    ],
    ids=["middleware", "callbacks", "tools"],
)
def test_a_policy_is_no_guard(take: Callable[[Any], object]) -> None:
    """The easiest slip is found where it is made."""
    with pytest.raises(InvalidInputError, match="guard: expected a LoopGuard or None"):
        take(Policy())


@pytest.mark.parametrize("given", [{"messages": []}, "text", None, 5])
def test_the_trimmer_takes_messages(given: Any) -> None:
    """A state is no thread, and its key no message."""
    with pytest.raises(InvalidInputError, match="input"):
        ThreadTrimmer(max_tokens=100).invoke(given)


class FakeModel(GenericFakeChatModel):
    """LangChain's own fake model, with tools, as people write it in their tests."""

    @override
    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


@pytest.mark.parametrize("text", ["Let me look.", ""])
@pytest.mark.parametrize("policy", [Policy(), Policy.observe()], ids=["default", "observe"])
async def test_langchains_fake_model_keeps_its_calls(text: str, policy: Policy) -> None:
    """It leaves out calls when it streams, so the guard does not make it."""
    for mode in ("invoke", "ainvoke"):
        search, ran = search_tool()
        script = [AIMessage(text, tool_calls=[tool_call("search", {"q": "x"}, "c1")])]
        model = FakeModel(messages=iter([*script, AIMessage("Done.")]))
        middleware = [LoopGuardMiddleware(guard=LoopGuard(policy=policy))]
        agent = create_agent(model, [search], middleware=middleware)
        given: Any = {"messages": [HumanMessage("hi")]}
        out = agent.invoke(given) if mode == "invoke" else await agent.ainvoke(given)
        assert [type(m) for m in out["messages"][1:]] == [AIMessage, ToolMessage, AIMessage]
        assert len(ran) == 1


@pytest.mark.parametrize(("policy", "streams"), [(Policy(), True), (Policy.observe(), False)])
def test_a_model_is_made_to_stream_only_where_a_reply_may_be_cut(
    policy: Policy, streams: bool
) -> None:
    """An observing guard changes nothing about how the model is asked."""
    model = ScriptedModel(script=[reply("Done.")])
    middleware = [LoopGuardMiddleware(guard=LoopGuard(policy=policy))]
    out = create_agent(model, [], middleware=middleware).invoke({"messages": [HumanMessage("hi")]})
    assert bool(model.streamed) is streams
    assert not isinstance(out["messages"][-1], AIMessageChunk)

"""Replies that are cut while they stream, in every way in which a model can be asked."""

from __future__ import annotations

import asyncio
import warnings
from collections import Counter
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
)
from langchain_core.callbacks import BaseCallbackHandler, CallbackManager
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import ConfigurableField
from langgraph.errors import GraphBubbleUp
from langgraph.pregel import Pregel

from loopguard_core import LoopDetected, LoopGuard, Policy
from loopguard_langchain import LoopGuardMiddleware
from tests.scenarios import LOOPING_TEXT

from .agents import DONE, ENDLESS, TOLD, finish, guarded, person, reason, said, thread
from .harness import MODES, assert_sendable, search_tool
from .scripted import ScriptedModel, reply, tool_call

CHUNKS = len(ENDLESS) // 4
MIDDLE = ["before", "after"]


class Unstreamable(ScriptedModel):
    """A model whose provider cannot stream."""

    _stream = BaseChatModel._stream


class Particular(ScriptedModel):
    """A model that refuses settings it does not know, as some providers do."""

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **settings: Any
    ) -> Any:
        assert set(settings) <= {"tools"}
        assert not getattr(self, "streaming", False)
        return super()._generate(messages, stop, run_manager, **settings)

    def _stream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **settings: Any
    ) -> Any:
        assert set(settings) <= {"tools"}
        return super()._stream(messages, stop, run_manager, **settings)


class Optional(ScriptedModel):
    """A model with the setting that many providers have."""

    streaming: bool = False


class Tokens(BaseCallbackHandler):
    """Counts what it is shown."""

    def __init__(self) -> None:
        self.tokens = 0
        self.errors: list[BaseException] = []

    def on_llm_new_token(self, *_: Any, **__: Any) -> None:
        """Count."""
        self.tokens += 1

    def on_llm_error(self, error: BaseException, **_: Any) -> None:
        """Keep *error*."""
        self.errors.append(error)


@pytest.mark.parametrize(
    "looping",
    [
        reply(ENDLESS),
        reply("So.", reasoning=ENDLESS),
        AIMessage([{"type": "text", "text": ENDLESS}]),
        AIMessage([{"type": "thinking", "thinking": ENDLESS}, {"type": "text", "text": "So."}]),
        AIMessage([{"type": "reasoning", "reasoning": ENDLESS}]),
        reply("I write it.", tool_call("search", {"q": ENDLESS})),
    ],
    ids=["content", "reasoning", "text-block", "thinking-block", "reasoning-block", "arguments"],
)
@pytest.mark.parametrize("mode", MODES)
def test_a_looping_reply_is_cut_while_it_streams(mode: str, looping: AIMessage) -> None:
    """LC27: also under plain invoke, and long before its end; the next try stands."""
    search, ran = search_tool()
    tools = [search] if mode in ("invoke", "astream") else []  # bound, or not
    model = ScriptedModel(script=[looping, DONE])
    messages = finish(guarded(model, *tools), person(), mode=mode)["messages"]
    assert model.streamed[0] < CHUNKS / 2
    assert said(messages)[-1] == "Done."
    assert TOLD in str(model.inputs[1][-1].content)
    assert TOLD not in str(messages)
    assert not ran
    assert_sendable(messages)


def test_what_is_worth_keeping_of_a_cut_reply_stays() -> None:
    """One copy of what was repeated, in the thread and in what the next try is sent."""
    model = ScriptedModel(script=[reply("First this. " + ENDLESS), DONE])
    messages = finish(guarded(model), person())["messages"]
    kept, last = said(messages)
    assert kept.startswith("First this. I will check the file once more")
    assert kept.count("I will check the file once more to be sure.") <= 2
    assert last == "Done."
    assert model.inputs[1][-2].content == kept
    assert isinstance(model.inputs[1][-1], HumanMessage)


def test_nothing_is_kept_of_a_reply_that_said_nothing() -> None:
    """Thinking that went round, and white space, leave no empty message behind."""
    model = ScriptedModel(script=[reply("", reasoning=ENDLESS), reply("\n" * 4000), DONE])
    messages = finish(guarded(model), person())["messages"]
    assert said(messages) == ["Done."]


def test_calls_of_a_cut_reply_do_not_run() -> None:
    """A reply that was cut asked for nothing."""
    search, ran = search_tool()
    calls = [tool_call("search", {"q": "x"}), tool_call("search", {"q": ENDLESS})]
    model = ScriptedModel(script=[reply("", *calls), DONE])
    messages = finish(guarded(model, search), person())["messages"]
    assert not ran
    assert said(messages) == ["Done."]


@pytest.mark.parametrize("on_halt", ["end", "answer", "raise"])
@pytest.mark.parametrize("mode", MODES)
def test_the_third_cut_in_a_row_ends_the_run(mode: str, on_halt: str) -> None:
    """Each try is told what became of the last; then the run ends as the policy says."""
    guard = LoopGuard(policy=Policy(on_halt=on_halt))
    model = ScriptedModel(script=[*[reply(ENDLESS)] * 3, reply("What I know.")])
    agent = guarded(model, guard=guard)
    if on_halt == "raise":
        with pytest.raises(LoopDetected):
            finish(agent, person(), mode=mode)
        assert model.calls == 3
        return
    messages = finish(agent, person(), mode=mode)["messages"]
    assert reason(messages) == "reply.cut"
    assert [TOLD in str(sent[-1].content) for sent in model.inputs[:3]] == [False, True, True]
    if on_halt == "answer":
        assert said(messages)[-1] == "What I know."
        # What was kept of the cut replies is sent once each.
        assert len(said(model.inputs[-1])) == 3


def test_a_last_answer_that_goes_round_is_cut_too() -> None:
    """What was kept of it is the answer."""
    guard = LoopGuard(policy=Policy(on_halt="answer"))
    model = ScriptedModel(script=[*[reply(ENDLESS)] * 3, reply("I know this. " + ENDLESS)])
    messages = finish(guarded(model, guard=guard), person())["messages"]
    assert model.calls == 4
    assert said(messages)[-1].startswith("I know this.")
    assert len(said(messages)[-1]) < 300
    assert reason(messages) == "reply.cut"


@pytest.mark.parametrize(
    ("kind", "settings", "streams"),
    [
        (Unstreamable, {}, False),
        (ScriptedModel, {"disable_streaming": True}, False),
        (ScriptedModel, {"disable_streaming": "tool_calling"}, False),
        (Particular, {}, True),
        (Particular, {"disable_streaming": True}, False),
        (Optional, {}, True),
        (Optional, {"streaming": True}, True),
        (Optional, {"streaming": False}, False),
    ],
    ids=[
        "cannot-stream",
        "streaming-disabled",
        "disabled-with-tools",
        "particular",
        "particular-and-disabled",
        "not-asked-for",
        "asked-for",
        "refused",
    ],
)
@pytest.mark.parametrize("mode", ["invoke", "ainvoke"])
def test_a_model_streams_where_it_can_and_may(
    mode: str, kind: type[ScriptedModel], settings: Any, streams: bool
) -> None:
    """One that does not stream is judged when its reply is complete; no setting reaches it."""
    model = kind(script=[reply(ENDLESS), DONE], **settings)
    search, _ = search_tool()
    messages = finish(guarded(model, search), person(), mode=mode)["messages"]
    assert bool(model.streamed) is streams
    assert said(messages)[-1] == "Done."
    assert len(said(messages)[0]) < 300
    assert TOLD in str(model.inputs[1][-1].content)


@pytest.mark.parametrize("mode", ["invoke", "ainvoke"])
def test_a_setting_of_other_middleware_not_to_stream_is_respected(mode: str) -> None:
    """A call setting has the last word."""

    class Quiet(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(model_settings={"stream": False}))

        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            return await handler(request.override(model_settings={"stream": False}))

    model = ScriptedModel(script=[reply(ENDLESS), DONE])
    messages = finish(guarded(model, before=[Quiet()]), person(), mode=mode)["messages"]
    assert not model.streamed
    assert said(messages)[-1] == "Done."


@pytest.mark.parametrize("how", ["list", "manager", "none"])
@pytest.mark.parametrize("mode", MODES)
def test_callbacks_of_the_user_are_kept(mode: str, how: str) -> None:
    """Those on the model, in whatever form, and those of the run; the model is not changed."""
    own, of_run = Tokens(), Tokens()
    callbacks: Any = {"list": [own], "manager": CallbackManager([own]), "none": None}[how]
    model = ScriptedModel(script=[reply(ENDLESS), DONE], callbacks=callbacks)
    finish(guarded(model), person(), {**thread(), "callbacks": [of_run]}, mode)
    # The token that decides reaches only those that are asked before the guard.
    shown = {sum(model.streamed), sum(model.streamed) - 1}
    assert of_run.tokens in shown
    assert own.tokens in (shown if how != "none" else {0})
    (error,) = of_run.errors
    assert isinstance(error, GraphBubbleUp)
    assert "nothing failed" in str(error)
    assert model.callbacks == callbacks
    assert getattr(callbacks, "handlers", callbacks or [own]) == [own]


@pytest.mark.parametrize("place", MIDDLE)
def test_token_callbacks_of_other_middleware_see_every_token(place: str) -> None:
    """Two watchers on one model do not know of each other."""
    tokens = Tokens()

    class Counts(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            callbacks = [*(request.model.callbacks or ()), tokens]
            return handler(
                request.override(model=request.model.model_copy(update={"callbacks": callbacks}))
            )

    model = ScriptedModel(script=[reply(ENDLESS), DONE])
    messages = finish(guarded(model, **{place: [Counts()]}), person())["messages"]
    assert said(messages)[-1] == "Done."
    assert tokens.tokens >= sum(model.streamed) - 1


@pytest.mark.parametrize("mode", ["invoke", "ainvoke"])
def test_a_configurable_model_is_judged_when_its_reply_is_complete(mode: str) -> None:
    """It is no chat model yet when the guard sees it, and nothing breaks."""
    field = ConfigurableField(id="piece")
    base = ScriptedModel(script=[reply(ENDLESS), DONE])
    model: Any = base.configurable_fields(piece_chars=field)
    agent = create_agent(model, [], middleware=[LoopGuardMiddleware()])
    messages = finish(agent, person(), mode=mode)["messages"]
    assert said(messages)[-1] == "Done."
    assert len(said(messages)[0]) < 300


def test_who_streams_messages_is_shown_a_cut_reply_once() -> None:
    """What is kept is the message whose pieces were streamed, not another one."""
    model = ScriptedModel(script=[reply(ENDLESS), DONE])
    agent = guarded(model)
    events = list(agent.stream(person(), thread(), stream_mode=["messages", "values"]))
    shown = Counter[str]()
    for message, _ in (event for kind, event in events if kind == "messages"):
        shown[message.id] += len(message.text)
    kept, last = (m for m in events[-1][1]["messages"] if isinstance(m, AIMessage))
    assert set(shown) == {kept.id, last.id}
    assert shown[kept.id] < len(ENDLESS) / 2
    assert shown[last.id] == len("Done.")


@pytest.mark.skipif("stream_events" not in vars(Pregel), reason="came with LangGraph 1.2")
@pytest.mark.parametrize("looping", [reply(ENDLESS), reply("So.", reasoning=ENDLESS)])
@pytest.mark.parametrize("mode", ["stream", "astream"])
def test_event_streaming_is_cut_too(mode: str, looping: AIMessage) -> None:
    """The third version of event streaming reports replies in events of its own."""
    model = ScriptedModel(script=[looping, DONE])
    agent = guarded(model)

    async def events() -> Any:
        stream = await agent.astream_events(person(), version="v3")
        return await stream.output()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LangGraph calls it experimental
        if mode == "stream":
            output = agent.stream_events(person(), version="v3").output
        else:
            output = asyncio.run(events())
    assert said(output["messages"])[-1] == "Done."
    assert model.streamed[0] < CHUNKS / 2


@pytest.mark.parametrize("mode", MODES)
def test_healthy_replies_stream_whole(mode: str) -> None:
    """Nothing of a healthy reply is lost or changed, streamed or not."""
    text = "A table:\n" + "".join(f"| {n} | {n * n} |\n" for n in range(200))
    extra = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    whole = AIMessage(text, usage_metadata=extra, response_metadata={"stop": "end"})
    model = ScriptedModel(script=[whole])
    (_, message) = finish(guarded(model), person(), mode=mode)["messages"]
    assert message.content == text
    assert message.usage_metadata["total_tokens"] == 3
    assert message.response_metadata["stop"] == "end"
    assert type(message) is AIMessage


def test_an_observing_guard_cuts_nothing() -> None:
    """It says what it saw, and the reply goes on."""
    heard: list[Any] = []
    guard = LoopGuard(policy=Policy.observe(), listeners=(heard.append,))
    model = ScriptedModel(script=[reply(LOOPING_TEXT)])
    messages = finish(guarded(model, guard=guard), person())["messages"]
    assert said(messages) == [LOOPING_TEXT]
    assert heard

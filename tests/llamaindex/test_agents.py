"""Guarded agents: ends, hand-offs, state that goes on, runs beside each other."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from llama_index.core.agent.workflow import (
    AgentOutput,
    AgentWorkflow,
    CodeActAgent,
    FunctionAgent,
    ToolCallResult,
)
from llama_index.core.llms import ChatMessage, MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.workflow import Context
from pydantic import BaseModel

from loopguard_core import LoopDetected, LoopGuard
from loopguard_llamaindex import GuardedFunctionAgent, GuardedLLM, LoopGuardMixin, guard_tools
from tests.drivers import Ear

from .driver import assert_valid
from .harness import (
    CIRCLE,
    DONE,
    READ,
    Reader,
    agent,
    asked,
    guard,
    model,
    notes,
    pair,
    react,
    repeat,
)
from .scripted import action, answer, call, reply


def memory() -> ChatMemoryBuffer:
    """Return a memory in which everything fits."""
    return ChatMemoryBuffer.from_defaults(token_limit=10**6)


async def test_a_stopped_run_says_why_to_people_and_to_programs() -> None:
    """The output's text is for people; its entry `loopguard` names detector and findings."""
    output = await agent(READ, tools=[Reader().tool]).run("Read.")
    assert str(output).startswith("I stopped here")
    assert output["loopguard"]["detector"] == "thread.repeated_suffix"
    assert output["loopguard"]["findings"][0]["count"] >= 3


async def test_a_healthy_output_has_no_reason() -> None:
    """A program can tell by the entry alone whether the run was stopped."""
    output = await agent(READ, DONE, tools=[Reader().tool]).run("Read.")
    assert output.get("loopguard") is None


@pytest.mark.parametrize("on_halt", ["end", "answer", "raise"])
@pytest.mark.parametrize("kind", ["function", "react"])
async def test_each_way_to_end_leaves_a_valid_history(on_halt: str, kind: str) -> None:
    """However a run ends, memory holds the person's message and ends with the agent's."""
    kept, policy = memory(), guard(on_halt=on_halt)
    if kind == "function":
        runner: Any = agent(READ, tools=[Reader().tool], guard=policy)
    else:
        runner = react(action("read", "Next.", path="a"), tools=[Reader().tool], guard=policy)
    try:
        await runner.run("Read.", memory=kept)
    except LoopDetected:
        assert on_halt == "raise"
    messages = kept.get_all()
    assert_valid(messages)
    assert [messages[0].role.value, messages[-1].role.value] == ["user", "assistant"]


async def test_an_answer_comes_from_a_call_without_tools() -> None:
    """`answer` asks once more, offers nothing, and says so; nothing of it is stored."""
    runner = agent(
        *[READ] * 5, reply("What I know."), tools=[Reader().tool], guard=guard(on_halt="answer")
    )
    kept = memory()
    output = await runner.run("Read.", memory=kept)
    assert str(output) == "What I know."
    assert asked(runner).tools[-1] == []
    assert "No further tool calls" in notes(asked(runner).inputs[-1])[-1]
    assert notes(kept.get_all()) == []


async def test_a_model_that_calls_on_without_tools_gets_our_words() -> None:
    """The last answer of a model that only calls is replaced, and its call is taken back."""
    runner, kept = agent(READ, tools=[Reader().tool], guard=guard(on_halt="answer")), memory()
    output = await runner.run("Read.", memory=kept)
    assert str(output).startswith("I stopped here")
    assert_valid(kept.get_all())


async def test_a_last_answer_that_goes_round_is_kept_up_to_the_cut() -> None:
    """The last call is watched too; what it said before the cut is the answer."""
    runner = agent(*[READ] * 5, reply(CIRCLE), tools=[Reader().tool], guard=guard(on_halt="answer"))
    output = await runner.run("Read.")
    assert str(output).startswith("I will check the file once more")
    assert len(str(output)) < len(CIRCLE)


async def test_a_nudge_is_sent_once_and_never_stored() -> None:
    """It stands behind the newest message of one model call, and in no memory."""
    runner, kept = agent(*repeat(READ, 4), tools=[Reader().tool]), memory()
    await runner.run("Read.", memory=kept)
    told = [notes(messages) for messages in asked(runner).inputs]
    assert [len(texts) for texts in told] == [0, 0, 0, 1, 0]
    assert notes(kept.get_all()) == []


async def test_a_refused_call_is_answered_and_shown_in_the_stream() -> None:
    """Who watches the stream sees a result for every call, also for those that did not run."""
    reader = Reader()
    runner = agent(reply("", *[call("read", path="a")] * 4), DONE, tools=[reader.tool])
    handler = runner.run("Read.")
    results = [e async for e in handler.stream_events() if isinstance(e, ToolCallResult)]
    await handler
    assert reader.ran == 3
    assert [result.tool_output.is_error for result in results].count(True) == 1
    assert len(results) == 4


async def test_agents_that_hand_off_to_each_other_are_stopped() -> None:
    """A hand-off is a call: two agents that pass the work to and fro go round."""
    to_b = reply("", call("handoff", to_agent="b", reason="yours"))
    to_a = reply("", call("handoff", to_agent="a", reason="no, yours"))
    kept = memory()
    output = await pair([to_b], [to_a]).run("Do it.", memory=kept, max_iterations=60)
    assert output["loopguard"]["detector"]
    assert len(kept.get_all()) < 20
    assert_valid(kept.get_all())


async def test_a_blocked_hand_off_is_answered_and_the_agent_goes_on() -> None:
    """The fourth equal hand-off of a reply is refused; the work goes to the other agent."""
    many = reply("", *[call("handoff", to_agent="b", reason="x")] * 4)
    output = await pair([many], [reply("B did it.")]).run("Do it.")
    assert str(output) == "B did it."
    assert output.current_agent_name == "b"


async def test_a_hand_off_and_back_that_brings_something_is_left_alone() -> None:
    """One hand-off each way is how agents work together."""
    to_b = reply("", call("handoff", to_agent="b", reason="look it up"))
    to_a = reply("", call("handoff", to_agent="a", reason="found it"))
    output = await pair([to_b, reply("All done.")], [to_a]).run("Do it.")
    assert str(output) == "All done."
    assert output.get("loopguard") is None


async def test_a_saved_context_goes_on_with_the_same_verdicts() -> None:
    """What was counted before a context was saved counts after it was loaded, as JSON."""
    ear, reader = Ear(), Reader()
    policy = ear.on(LoopGuard())
    failing = RuntimeError("the provider is down")
    runner = agent(READ, READ, READ, failing, READ, tools=[reader.tool], guard=policy)
    ctx, kept = Context(runner), memory()
    with pytest.raises(RuntimeError, match="down"):
        await runner.run("Read.", ctx=ctx, memory=kept)
    saved = json.loads(json.dumps(ctx.to_dict()))
    state = json.loads(saved["state"]["state_data"]["_data"]["loopguard"])
    assert state["run"]["version"] == 1
    resumed = Context.from_dict(runner, saved)
    output = await runner.run("Go on.", ctx=resumed, memory=kept)
    assert output["loopguard"]["detector"] == "thread.repeated_suffix"


async def test_two_runs_of_one_agent_do_not_see_each_other() -> None:
    """Each run has its own count, although agent, model and tools are the same objects."""
    reader = Reader()
    runner = agent(lambda seen: READ if len(seen) < 4 else DONE, tools=[reader.tool])
    outputs = await asyncio.gather(*(runner.run(f"Read {n}.") for n in range(8)))
    assert [output.get("loopguard") for output in outputs] == [None] * 8
    assert reader.ran == 16


async def test_a_new_message_is_a_new_turn() -> None:
    """What a person asks for again is no loop, although the context is the same."""
    reader = Reader()
    runner = agent(*[READ, reply("Text, again.")] * 6, tools=[reader.tool])
    ctx = Context(runner)
    for _ in range(6):
        output = await runner.run("And now?", ctx=ctx, memory=memory())
        assert output.get("loopguard") is None
    assert reader.ran == 6


async def test_replies_that_cannot_be_parsed_again_and_again_end_the_run() -> None:
    """A ReAct reply without a protocol is retried by the framework, and repeats are found."""
    output = await react(reply("Thought: I do not know what to do.")).run("Do it.")
    assert output["loopguard"]["detector"] == "thread.repeated_suffix"


async def test_one_reply_that_cannot_be_parsed_is_left_alone() -> None:
    """A retry is how the protocol works."""
    output = await react(reply("Thought: hm."), answer("42")).run("Do it.")
    assert str(output) == "42"


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_cut_reply_is_kept_and_the_next_try_stands(streaming: bool) -> None:
    """What was said before the cut is stored before what was said after it."""
    runner = agent(reply("The file is large. " + CIRCLE), DONE, streaming=streaming)
    kept = memory()
    output = await runner.run("Read.", memory=kept)
    assert str(output) == "Done."
    said = [m.content or "" for m in kept.get_all() if m.role.value == "assistant"]
    assert said[0].startswith("The file is large.")
    assert said[-1] == "Done."
    assert "Your reply was cut" in notes(asked(runner).inputs[-1])[-1]


async def test_the_mixin_guards_an_agent_of_ones_own() -> None:
    """Any subclass of an agent can be guarded by putting the mixin in front."""

    class Mine(LoopGuardMixin, FunctionAgent):
        """An agent of a user."""

    output: AgentOutput = await Mine(llm=model(READ), tools=[Reader().tool]).run("Read.")
    assert output["loopguard"]


def test_a_mixin_behind_the_agents_class_is_refused() -> None:
    """There it would silently guard nothing."""
    with pytest.raises(TypeError, match="put LoopGuardMixin before FunctionAgent"):
        type("Mine", (FunctionAgent, LoopGuardMixin), {})


def test_an_agent_of_ones_own_may_have_a_step_of_its_own() -> None:
    """A class below the mixin decides for itself what it does around the guarded step."""

    class Mine(GuardedFunctionAgent):
        """An agent of a user."""

        async def take_step(self, *args: Any, **kwargs: Any) -> AgentOutput:
            """Do as before."""
            return await super().take_step(*args, **kwargs)

    assert Mine(llm=model(READ)).guard == LoopGuard()


async def test_an_agent_that_writes_code_is_guarded_by_the_mixin() -> None:
    """A `CodeActAgent` keeps the draft of a function agent; its calls are pieces of code."""

    class Coder(LoopGuardMixin, CodeActAgent):
        """A guarded agent that writes code."""

    def run(code: str) -> str:
        """Run code."""
        return "nothing"

    llm, kept = model(reply("I run it.\n<execute>\nprint(1)\n</execute>")), memory()
    output = await Coder(code_execute_fn=run, llm=llm).run("Go.", memory=kept, max_iterations=30)
    assert output["loopguard"]
    assert kept.get_all()[-1].role.value == "assistant"


async def test_an_exchanged_model_is_guarded_too() -> None:
    """Setting another model later does not take the guard away."""
    runner = agent(DONE)
    runner.llm = model(reply(CIRCLE), DONE)
    output = await runner.run("Say.")
    assert str(output) == "Done."
    assert isinstance(runner.llm, GuardedLLM)


async def test_agents_with_guards_of_their_own_share_one_run() -> None:
    """What happened before a hand-off counts after it, by the next agent's policy."""
    reader = Reader()
    first = agent(
        *[READ] * 3,
        reply("", call("handoff", to_agent="b", reason="x")),
        name="a",
        description="A.",
        tools=[reader.tool],
    )
    second = agent(
        READ, name="b", description="B.", tools=[reader.tool], guard=guard(on_halt="raise")
    )
    with pytest.raises(LoopDetected):
        await AgentWorkflow(agents=[first, second], root_agent="a").run("Read.", max_iterations=60)


@pytest.mark.parametrize("is_react", [False, True])
@pytest.mark.parametrize("is_new", [False, True])
async def test_agents_that_pass_on_new_texts_work(*, is_new: bool, is_react: bool) -> None:
    """A hand-off for the same reason answers the same, so what is said with it counts."""
    draft = "The river rises in the hills and turns the old mill before it meets the sea. " * 3

    def script(to: str) -> list[ChatMessage]:
        texts = [f"{to} {draft} {n if is_new else 0}" for n in range(8)]
        given = {"to_agent": to, "reason": "Please go on."}
        if is_react:
            return [*(action("handoff", text, **given) for text in texts), answer("Done.")]
        return [*(reply(text, call("handoff", **given)) for text in texts), reply("Done.")]

    make = react if is_react else agent
    agents = [
        make(*script(to), name=name, description=name, can_handoff_to=[to])
        for name, to in (("a", "b"), ("b", "a"))
    ]
    output = await AgentWorkflow(agents=agents, root_agent="a").run("Write.", max_iterations=60)
    assert (output.get("loopguard") is None) is is_new
    assert (str(output) == "Done.") is is_new


def test_an_agent_that_keeps_no_draft_cannot_be_guarded() -> None:
    """The error names the agent's class."""
    from loopguard_llamaindex._drafts import draft_of  # noqa: PLC0415

    with pytest.raises(TypeError, match="object is neither"):
        draft_of(object(), None)  # type: ignore[arg-type]


async def test_equal_ids_in_one_reply_are_two_calls() -> None:
    """Some providers give no ids worth the name; each call has its own result all the same."""
    twins = reply("", call("read", "same", path="a"), call("read", "same", path="b"))
    ear = Ear()
    runner = agent(*[twins] * 6, tools=[Reader().tool], guard=ear.on(LoopGuard()))
    assert (await runner.run("Read."))["loopguard"]


@pytest.mark.parametrize("on_halt", ["end", "answer", "raise"])
@pytest.mark.parametrize("kind", ["function", "react"])
async def test_a_reply_that_is_always_cut_ends_with_a_valid_history(
    on_halt: str, kind: str
) -> None:
    """The third cut ends the run; nobody's memory gets the circles of a protocol."""
    kept, policy = memory(), guard(on_halt=on_halt)
    circle = reply(f"Thought: {CIRCLE}")
    runner: Any = (agent if kind == "function" else react)(circle, guard=policy)
    try:
        await runner.run("Say.", memory=kept)
    except LoopDetected:
        assert on_halt == "raise"
    messages = kept.get_all()
    assert_valid(messages)
    assert messages[-1].role.value == "assistant"
    if kind == "react":
        assert len(messages) == 2


async def test_tools_that_are_guarded_otherwise_leave_the_agents_run_alone() -> None:
    """The agent's guard decides, whatever guard its tools were given."""
    reader = Reader()
    tools = guard_tools([reader.tool], guard=guard(max_unheeded_nudges=9))
    runner = agent(READ, tools=tools, guard=guard(on_halt="raise"))
    with pytest.raises(LoopDetected):
        await runner.run("Read.")
    assert reader.ran == 5


class Poem(BaseModel):
    """What a structured answer holds."""

    title: str


async def test_structured_output_comes_from_the_model_inside() -> None:
    """A guarded agent gives structured answers as its model does."""
    llm = MockLLM()
    assert GuardedLLM(llm=llm).structured_predict.__doc__
    runner = agent(DONE, structured_output_fn=lambda _messages: {"title": "x"})
    output = await runner.run("Write.")
    assert output.get_pydantic_model(Poem) == Poem(title="x")


def test_defaults_are_the_plain_guard() -> None:
    """Without `guard=` an agent has the default policy."""
    assert GuardedFunctionAgent(llm=model(DONE)).guard == LoopGuard()

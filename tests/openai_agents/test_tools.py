"""Guarded tools, and guarded models, by themselves: no hooks in the run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agents import (
    Agent,
    RunContextWrapper,
    Runner,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    Usage,
    WebSearchTool,
    function_tool,
)
from agents.testing import ModelStep, ScriptedModel, function_call

from loopguard_core import LoopGuard, Policy
from loopguard_openai_agents import AgentLoopDetected, GuardedModel, LoopGuardHooks, halted_by

from .harness import (
    CONFIG,
    LOOPING_TEXT,
    MODES,
    WARNING,
    agent_of,
    blocking_guard,
    calling,
    outputs,
    run,
    saying,
    search_tool,
    streamed,
)


@pytest.mark.parametrize("mode", MODES)
def test_tools_alone_refuse_a_blocked_call(mode: str) -> None:
    """A guarded copy needs nothing else in the run."""
    search, ran = search_tool()
    tools = LoopGuardHooks(guard=blocking_guard()).guard_tools([search])
    result = run(agent_of([*calling(3), *saying("Done.")], *tools), mode=mode)
    assert len(ran) == 2
    assert outputs(result.to_input_list())[-1].startswith("[loopguard]")


@pytest.mark.parametrize("mode", MODES)
def test_tools_alone_tell_the_model_behind_the_result(mode: str) -> None:
    """Nobody else sees the next input, so the note goes where the model reads it next."""
    search, _ = search_tool()
    tools = LoopGuardHooks(guard=WARNING).guard_tools([search])
    result = run(agent_of([*calling(4), *saying("Done.")], *tools), mode=mode)
    told = outputs(result.to_input_list())
    assert ["[loopguard]" in text for text in told] == [False, False, True, False]
    assert told[2].startswith("nothing for x in 3\n")


def test_tools_alone_cannot_end_a_run() -> None:
    """What would end it is told, in words that fit a call that did run."""
    search, ran = search_tool()
    tools = LoopGuardHooks(guard=WARNING).guard_tools([search])
    result = run(agent_of([*calling(6), *saying("Done.")], *tools))
    assert result.final_output == "Done."
    assert len(ran) == 6
    assert all("not executed" not in text for text in outputs(result.to_input_list()))


def test_a_copy_is_guarded_once_and_keeps_what_the_tool_had() -> None:
    """The user's guardrails run first; other kinds of tools come back as they are."""
    asked: list[str] = []

    def own(data: Any) -> ToolGuardrailFunctionOutput:
        asked.append(data.context.tool_call_id)
        return ToolGuardrailFunctionOutput.reject_content("mine")

    search, ran = search_tool(tool_input_guardrails=[ToolInputGuardrail(own)])
    hosted, hooks = WebSearchTool(), LoopGuardHooks()
    (copied, same) = hooks.guard_tools([search, hosted])
    assert same is hosted
    assert hooks.guard_tools([copied]) == [copied]
    assert len(search.tool_input_guardrails or ()) == 1
    result = run(agent_of([*calling(1), *saying("Done.")], copied))
    assert outputs(result.to_input_list()) == ["mine"]
    assert (asked, ran) == (["search_0"], [])


def test_results_that_are_no_text_are_left_as_they_are() -> None:
    """There is nothing to append a note to."""

    @function_tool
    def count() -> dict[str, int]:
        """Count."""
        return {"n": 1}

    tools = LoopGuardHooks(guard=WARNING).guard_tools([count])
    script = [[function_call("count", {}, call_id=f"c{n}")] for n in range(4)]
    result = run(agent_of([*script, *saying("Done.")], *tools))
    assert set(outputs(result.to_input_list())) == {"{'n': 1}"}


def test_a_tool_that_fails_ends_no_run() -> None:
    """The SDK's own answer to a failing tool reaches the model, and is compared as any other."""

    @function_tool
    def fail() -> str:
        """Fail."""
        raise ValueError("secret")

    tools = LoopGuardHooks(guard=blocking_guard()).guard_tools([fail])
    script = [[function_call("fail", {}, call_id=f"c{n}")] for n in range(3)]
    told = outputs(run(agent_of([*script, *saying("Done.")], *tools)).to_input_list())
    assert told[0] == told[1]
    assert told[2].startswith("[loopguard]")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("on_halt", ["end", "answer"])
def test_a_guarded_model_ends_a_run_without_hooks(mode: str, on_halt: Any) -> None:
    """It reads the state of the run from each input anew."""
    search, ran = search_tool()
    model = ScriptedModel([*calling(5), *saying("What I know.")])
    guarded = GuardedModel(model, guard=LoopGuard(policy=Policy(on_halt=on_halt)))
    result = run(Agent(name="a", model=guarded, tools=[search]), mode=mode)
    verdict = halted_by(result)
    assert verdict is not None
    assert verdict.reason == "thread.repeated_suffix"
    assert len(ran) == 5
    assert result.final_output.startswith("What I know" if on_halt == "answer" else "I stopped")
    assert sum("[loopguard]" in str(c.input) for c in model.calls) == (
        2 if on_halt == "answer" else 1
    )


@pytest.mark.parametrize("mode", MODES)
def test_a_guarded_model_refuses_what_no_guarded_tool_would(mode: str) -> None:
    """An unguarded tool would run, so the model is asked again instead."""
    search, ran = search_tool()
    model = GuardedModel(ScriptedModel([*calling(3), *saying("Done.")]), guard=blocking_guard())
    result = run(Agent(name="a", model=model, tools=[search]), mode=mode)
    assert result.final_output == "Done."
    assert len(ran) == 2


@pytest.mark.parametrize("mode", MODES)
def test_a_reply_that_goes_round_is_cut_in_every_mode(mode: str) -> None:
    """Streamed it is cut where it goes round; otherwise it is read when it is complete."""
    model = ScriptedModel(saying(LOOPING_TEXT, LOOPING_TEXT, LOOPING_TEXT))
    result = run(Agent(name="a", model=GuardedModel(model)), mode=mode)
    verdict = halted_by(result)
    assert verdict is not None
    assert verdict.reason == "reply.cut"
    assert len(model.calls) == 3
    assert len(result.raw_responses) == 1
    assert len(str(result.to_input_list())) < len(LOOPING_TEXT) * 2


@pytest.mark.parametrize("mode", MODES)
def test_arguments_that_go_round_are_cut_and_the_call_is_not_made(mode: str) -> None:
    """What a call is written with is watched as any text is."""
    search, ran = search_tool()
    model = ScriptedModel([*calling(1, q=LOOPING_TEXT), *saying("Done.")])
    agent = Agent(name="a", model=GuardedModel(model), tools=[search])
    assert run(agent, mode=mode).final_output == "Done."
    assert ran == []


def test_a_reply_that_is_left_as_it_is_streams_as_it_came() -> None:
    """No event of a healthy reply is replaced, the last one neither."""
    own = ScriptedModel(saying("Done."))
    events: list[Any] = []
    seen: list[Any] = []

    class Seen(ScriptedModel):
        async def stream_response(self, *args: Any, **kwargs: Any) -> Any:
            async for event in own.stream_response(*args, **kwargs):
                seen.append(event)
                yield event

    agent = Agent(name="a", model=GuardedModel(Seen()))
    asyncio.run(streamed(lambda: Runner.run_streamed(agent, "Go.", run_config=CONFIG), events))
    raw = [event.data for event in events if event.type == "raw_response_event"]
    assert all(a is b for a, b in zip(raw, seen, strict=True))


def test_an_answer_that_calls_a_tool_again_is_none() -> None:
    """A model that was offered nothing and calls all the same is not asked a third time."""
    search, ran = search_tool()
    model = GuardedModel(
        ScriptedModel(calling(9)), guard=LoopGuard(policy=Policy(on_halt="answer"))
    )
    result = run(Agent(name="a", model=model, tools=[search]))
    assert result.final_output.startswith("I stopped here")
    assert len(ran) == 5


@pytest.mark.parametrize("mode", MODES)
def test_what_was_used_is_the_sum_of_all_that_was_asked(mode: str) -> None:
    """A model that was asked twice within one call was paid for twice."""
    spent = Usage(requests=1, input_tokens=10, output_tokens=5, total_tokens=15)
    script = [*calling(3), *saying("What I know.")]
    model = ScriptedModel([ModelStep(output=output, usage=spent) for output in script])
    guard = blocking_guard(max_blocks_in_row=1, on_halt="answer")
    search, ran = search_tool()
    result = run(Agent(name="a", model=GuardedModel(model, guard=guard), tools=[search]), mode=mode)
    assert result.final_output == "What I know."
    assert len(ran) == 2
    assert len(result.raw_responses) == 3
    assert result.context_wrapper.usage.total_tokens == 4 * 15


def test_a_model_keeps_what_the_inner_one_has() -> None:
    """Its name, its advice, its end: whatever the SDK or a user asks of it."""

    class Named(ScriptedModel):
        closed = False
        model = "some-model"

        async def close(self) -> None:
            self.closed = True

        def get_retry_advice(self, request: Any) -> Any:
            return request

    inner = Named()
    guarded = GuardedModel(inner)
    asyncio.run(guarded.close())
    assert inner.closed
    assert guarded.model == "some-model"
    assert guarded.get_retry_advice("asked") == "asked"  # type: ignore[arg-type]  # any value will do
    with pytest.raises(AttributeError):
        _ = guarded.no_such_thing


def test_hooks_with_guarded_models_still_judge_one_that_is_not() -> None:
    """A model that was left out is judged late, when it has answered, rather than never."""
    search, ran = search_tool()
    hooks = LoopGuardHooks()
    hooks.guard_model(ScriptedModel())
    with pytest.raises(AgentLoopDetected):
        run(agent_of(calling(9), search), hooks=hooks)
    assert len(ran) == 5


def test_hooks_judge_a_model_that_comes_after_a_guarded_one() -> None:
    """What a guarded model judged in a run says nothing about the models after it."""
    search, ran = search_tool()
    hooks = LoopGuardHooks()
    target = Agent(name="b", model=ScriptedModel(calling(9)), tools=[search])
    first = ScriptedModel([[function_call("transfer_to_b", {}, call_id="h")]])
    agent = Agent(name="a", model=hooks.guard_model(first), handoffs=[target])
    with pytest.raises(AgentLoopDetected):
        run(agent, hooks=hooks)
    assert len(ran) == 5


@pytest.mark.parametrize("mode", MODES)
def test_with_hooks_in_the_run_results_are_stored_as_they_were(mode: str) -> None:
    """Where hooks see the next input, the note goes there and not behind what is stored."""
    search, _ = search_tool()
    hooks = LoopGuardHooks(guard=WARNING)
    model = ScriptedModel([*calling(4), *saying("Done.")])
    agent = Agent(name="a", model=model, tools=hooks.guard_tools([search]))
    result = run(agent, mode=mode, hooks=hooks)
    assert set(outputs(result.to_input_list())) == {"nothing for x in 3"}
    assert sum("[loopguard]" in str(call.input) for call in model.calls) == 1


def test_the_context_of_a_run_is_never_touched() -> None:
    """It is the user's, and may be None or shared."""
    seen: list[object] = []

    @function_tool
    def peek(context: RunContextWrapper[Any]) -> str:
        """Look at the context."""
        seen.append(context.context)
        return "ok"

    mine = {"key": "value"}
    hooks = LoopGuardHooks()
    agent = hooks.guard_agent(agent_of([*calling(1, name="peek", a=1), *saying("Done.")], peek))
    run(agent, hooks=hooks, context=mine)
    assert seen == [mine]
    assert mine == {"key": "value"}

"""How runs end, and how calls are refused: the traps of the Agents SDK that have to do with it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from agents import (
    Agent,
    MaxTurnsExceeded,
    Model,
    ModelProvider,
    RunErrorHandlerResult,
    ToolsToFinalOutputResult,
    handoff,
)
from agents.extensions import handoff_filters
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from openai.types.responses import Response, ResponseCompletedEvent
from pydantic import BaseModel

from loopguard_core import LoopGuard, Policy
from loopguard_openai_agents import (
    AgentLoopDetected,
    LoopGuardHooks,
    guard_agent,
    guarded_run,
    halted_by,
)

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
)

TWO_MODES = ("run", "run_streamed")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("on_halt", ["end", "answer", "raise"])
def test_oa6_hand_offs_back_and_forth_are_ended(mode: str, on_halt: Any) -> None:
    """OA6: hand-offs are no tools, so no guardrail sees them; they are calls all the same."""
    here, there = ScriptedModel(), ScriptedModel()
    for n in range(9):
        here.enqueue([function_call("transfer_to_there", {}, call_id=f"h{n}")])
        there.enqueue([function_call("transfer_to_here", {}, call_id=f"t{n}")])
    first, second = Agent(name="here", model=here), Agent(name="there", model=there)
    first.handoffs, second.handoffs = [second], [handoff(first)]
    guarded = guard_agent(first, guard=LoopGuard(policy=Policy(on_halt=on_halt)))
    if on_halt == "raise":
        with pytest.raises(AgentLoopDetected) as caught:
            run(guarded, mode=mode, max_turns=30)
        assert caught.value.verdict.reason == "tool_loop.ping_pong"
        return
    result = run(guarded, mode=mode, max_turns=30)
    verdict = halted_by(result)
    assert verdict is not None
    assert verdict.reason == "tool_loop.ping_pong"
    assert len(here.calls) + len(there.calls) < 10
    assert first.handoffs == [second]
    assert first.model is here


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("is_lost", [False, True])
@pytest.mark.parametrize("is_new", [False, True])
def test_oa6_agents_that_pass_on_new_texts_work(mode: str, *, is_new: bool, is_lost: bool) -> None:
    """OA6: a hand-off always answers the same, so what is said with it counts."""
    here, there = ScriptedModel(), ScriptedModel()
    draft = "The river rises in the hills and turns the old mill before it meets the sea. " * 3
    for n in range(9):
        text = assistant_message(f"{draft} {n if is_new else 0}")
        here.enqueue([text, function_call("transfer_to_there", {}, call_id=f"h{n}")])
        there.enqueue([text, function_call("transfer_to_here", {}, call_id=f"t{n}")])
    here.enqueue([assistant_message("Done.")])
    first, second = Agent(name="here", model=here), Agent(name="there", model=there)
    edits = handoff_filters.remove_all_tools if is_lost else None
    first.handoffs = [handoff(second, input_filter=edits)]
    second.handoffs = [handoff(first, input_filter=edits)]
    result = run(guard_agent(first), mode=mode, max_turns=40)
    assert (result.final_output == "Done.") is is_new
    assert (halted_by(result) is None) is is_new


@pytest.mark.parametrize("mode", MODES)
def test_oa11_a_blocked_hand_off_is_answered_although_no_guardrail_can(mode: str) -> None:
    """OA11: the runner would make it, so the model is asked again, and reads why, before that."""
    here, there = ScriptedModel(), ScriptedModel()
    for n in range(3):
        here.enqueue([function_call("transfer_to_there", {}, call_id=f"h{n}")])
        there.enqueue([function_call("transfer_to_here", {}, call_id=f"t{n}")])
    here.enqueue([assistant_message("I stay.")])
    first, second = Agent(name="here", model=here), Agent(name="there", model=there)
    first.handoffs, second.handoffs = [second], [first]
    result = run(guard_agent(first, guard=blocking_guard()), mode=mode)
    assert result.final_output == "I stay."
    assert len(there.calls) == 2
    assert outputs(here.calls[-1].input)[-1].startswith("[loopguard] This call was not executed")
    assert "[loopguard]" not in str(result.to_input_list())
    assert len(result.raw_responses) == 5


@pytest.mark.parametrize("mode", MODES)
def test_oa11_of_two_equal_hand_offs_the_first_is_made(mode: str) -> None:
    """OA11: a refused hand-off beside another one is answered in front of whoever comes next."""
    twice = [function_call("transfer_to_b", {}, call_id=f"h{n}") for n in range(2)]
    search, _ = search_tool()
    model = ScriptedModel([*calling(1), *saying("Here is b.")])
    agent = agent_of([twice], handoffs=[Agent(name="b", model=model, tools=[search])])
    guard = LoopGuard(policy=Policy(max_unanswered_calls=1))
    result = run(guard_agent(agent, guard=guard), mode=mode)
    assert result.final_output == "Here is b."
    answered = [[i["call_id"] for i in call.input if "output" in i] for call in model.calls]
    assert answered == [["h0", "h1"], ["h0", "search_0"]]
    assert "[loopguard]" not in str(result.to_input_list())


@pytest.mark.parametrize("mode", MODES)
def test_oa12_a_run_ends_after_its_tools_where_the_model_has_only_a_name(mode: str) -> None:
    """OA12: a model that is found by name cannot be wrapped; the agent's tools can end its run."""
    search, ran = search_tool()
    agent = Agent(name="a", tools=[search], model="by-name")
    model = ScriptedModel(calling(9))
    config = replace(CONFIG, model_provider=Provider(model))
    result = run(guard_agent(agent), mode=mode, run_config=config)
    verdict = halted_by(result)
    assert verdict is not None
    assert verdict.reason == "thread.repeated_suffix"
    assert result.final_output.startswith("I stopped here")
    assert len(ran) == 5


class Provider(ModelProvider):
    """Finds one model under any name."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def get_model(self, model_name: str | None) -> Model:
        """Return the model."""
        del model_name
        return self._model


@pytest.mark.parametrize("mode", MODES)
def test_oa12_calls_that_must_not_run_are_answered_before_the_run_ends(mode: str) -> None:
    """OA12: where the verdict is about a call, its siblings do not run either."""
    search, ran = search_tool()
    storm = [
        function_call("search", {"q": "x"}, call_id="stop"),
        function_call("search", {"q": "y"}, call_id="beside"),
    ]
    model = ScriptedModel([*calling(2), storm])
    agent = guard_agent(Agent(name="a", tools=[search]), guard=blocking_guard(max_blocks_in_row=1))
    result = run(agent, mode=mode, run_config=replace(CONFIG, model_provider=Provider(model)))
    verdict = halted_by(result)
    assert verdict is not None
    assert verdict.reason == "tool_loop.no_progress"
    assert ran == ["x", "x"]
    stopped, beside = outputs(result.to_input_list())[-2:]
    assert "Repeating it will not help" in stopped
    assert "because the run ended" in beside


@pytest.mark.parametrize("mode", MODES)
def test_oa12_a_hand_off_has_no_answer_so_the_run_cannot_end_after_it(mode: str) -> None:
    """OA12: hand-offs are made, whatever tools answer; where nothing else can, hooks raise."""
    script = [
        [function_call(f"transfer_to_{b}", {}, call_id=f"{b}{n}")] for n in range(9) for b in "ba"
    ]
    first, second = Agent(name="a"), Agent(name="b")
    first.handoffs, second.handoffs = [second], [first]
    guard = blocking_guard(max_blocks_in_row=1)
    config = replace(CONFIG, model_provider=Provider(ScriptedModel(script)))
    with pytest.raises(AgentLoopDetected):
        run(guard_agent(first, guard=guard), mode=mode, run_config=config)


async def slowly(_context: Any, results: list[Any]) -> ToolsToFinalOutputResult:
    """A behaviour that has to be awaited."""
    await asyncio.sleep(0)
    return ToolsToFinalOutputResult(True, results[0].output + "?")


@pytest.mark.parametrize(
    ("existing", "final"),
    [
        ("run_llm_again", "Done."),
        ("stop_on_first_tool", "nothing for x in 3"),
        ({"stop_at_tool_names": ["search"]}, "nothing for x in 3"),
        ({"stop_at_tool_names": ["other"]}, "Done."),
        (
            lambda _, results: ToolsToFinalOutputResult(True, results[0].output + "!"),
            "nothing for x in 3!",
        ),
        (slowly, "nothing for x in 3?"),
        (lambda _, __: ToolsToFinalOutputResult(False), "Done."),
    ],
)
def test_oa12_the_agents_own_behaviour_stays(existing: Any, final: str) -> None:
    """OA12: what the user chose about tools goes on to hold in a run that is not stopped."""
    search, _ = search_tool()
    hooks = LoopGuardHooks()
    agent = agent_of([*calling(1), *saying("Done.")], search)
    agent.tool_use_behavior = hooks.tool_use_behavior(existing)
    assert run(agent, hooks=hooks).final_output == final


class Answer(BaseModel):
    """An output type that is no text."""

    known: str


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("on_halt", ["end", "answer"])
def test_oa13_no_value_of_an_output_type_is_made_up(on_halt: Any, mode: str) -> None:
    """OA13: our words are no value of the agent's output type, so its model is asked for one."""
    search, ran = search_tool()
    script = [*calling(5), *saying('{"known": "nothing"}')]
    guard = LoopGuard(policy=Policy(on_halt=on_halt))
    agent = guard_agent(agent_of(script, search, output_type=Answer), guard=guard)
    result = run(agent, mode=mode)
    assert result.final_output == Answer(known="nothing")
    assert halted_by(result) is not None
    assert len(ran) == 5


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("last", [*saying("I do not know."), *calling(1)])
def test_oa13_a_last_answer_that_is_no_such_value_raises(last: list[Any], mode: str) -> None:
    """OA13: the SDK would call it the model's mistake; what ends the run is the loop."""
    search, _ = search_tool()
    with pytest.raises(AgentLoopDetected) as caught:
        run(guard_agent(agent_of([*calling(5), last], search, output_type=Answer)), mode=mode)
    assert caught.value.verdict.reason == "thread.repeated_suffix"
    assert caught.value.run_data is not None


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("guard", [LoopGuard(), blocking_guard(max_blocks_in_row=1)])
def test_oa13_where_nobody_can_be_asked_for_a_value_the_hooks_raise(
    guard: LoopGuard, mode: str
) -> None:
    """OA13: a behaviour of tools may end a run with any text, and the SDK does not look at it."""
    search, _ = search_tool()
    agent = Agent(name="a", model="by-name", tools=[search], output_type=Answer)
    config = replace(CONFIG, model_provider=Provider(ScriptedModel(calling(9))))
    with pytest.raises(AgentLoopDetected):
        run(guard_agent(agent, guard=guard), mode=mode, run_config=config)


@pytest.mark.parametrize("mode", MODES)
def test_oa14_what_a_refused_model_reads_is_the_guidance(mode: str) -> None:
    """OA14: the text of an error that a tool raises is redacted; that of a rejection is not."""
    search, ran = search_tool()
    agent = agent_of([*calling(3), *saying("Done.")], search)
    result = run(guard_agent(agent, guard=blocking_guard()), mode=mode)
    assert len(ran) == 2
    assert "This call was not executed" in outputs(result.to_input_list())[-1]
    (found,) = (r.output.output_info for r in result.tool_input_guardrail_results[-1:])
    assert found["detector"] == "tool_loop.no_progress"


@pytest.mark.parametrize("mode", MODES)
def test_oa19_the_limit_of_turns_is_what_it_was(mode: str) -> None:
    """OA19: a guard neither adds turns nor uses them up; a cut reply is asked for within its."""
    search, ran = search_tool()
    healthy = [[function_call("search", {"q": f"{n}"}, call_id=f"c{n}")] for n in range(9)]
    with pytest.raises(MaxTurnsExceeded):
        run(guard_agent(agent_of(healthy, search)), mode=mode, max_turns=4)
    assert len(ran) == 4
    cut = guard_agent(agent_of(saying(LOOPING_TEXT, LOOPING_TEXT, "Done.")))
    assert run(cut, mode=mode, max_turns=1).final_output == "Done."
    handled = {"max_turns": lambda _: RunErrorHandlerResult(final_output="At the limit.")}
    last = run(
        guard_agent(agent_of(healthy, search)), mode=mode, max_turns=4, error_handlers=handled
    )
    assert last.final_output == "At the limit."
    assert halted_by(last) is None


@pytest.mark.parametrize("mode", MODES)
def test_oa20_a_conversation_that_the_server_keeps_is_judged_as_a_whole(mode: str) -> None:
    """OA20: nothing of what is new is edited, and no call is left open on the server."""
    search, ran = search_tool()
    model = ScriptedModel([*calling(5), *saying("What I know.")])
    agent = guard_agent(Agent(name="a", model=model, tools=[search]))
    result = run(agent, mode=mode, conversation_id="conv")
    verdict = halted_by(result)
    assert verdict is not None
    assert verdict.reason == "thread.repeated_suffix"
    assert len(ran) == 5
    assert result.final_output == "What I know."
    assert not any("[loopguard]" in text for call in model.calls for text in outputs(call.input))
    last = model.calls[-1]
    assert [item["call_id"] for item in last.input if "output" in item] == ["search_4"]
    assert last.tools == []
    told = [item for call in model.calls for item in call.input if "role" in item]
    assert len(told) == 3  # the person, one nudge, and what the last answer is asked for


@pytest.mark.parametrize("mode", MODES)
def test_oa20_what_is_said_about_a_result_that_is_on_the_server_stands_beside_it(mode: str) -> None:
    """OA20: the SDK knows items by their identity, and a result that was edited is another one."""
    search, _ = search_tool()
    model = ScriptedModel([*calling(3), *saying("Done.")])
    agent = guard_agent(Agent(name="a", model=model, tools=[search]), guard=WARNING)
    run(agent, mode=mode, conversation_id="conv")
    output, note = model.calls[-1].input
    assert output["output"] == "nothing for x in 3"
    assert note["content"].startswith("[loopguard]")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("named", ["conversation_id", "previous_response_id"])
def test_oa20_calls_of_a_reply_that_is_on_the_server_are_answered_there(
    named: str, mode: str
) -> None:
    """OA20: a reply that ends the run is on the server already; only its answers are sent."""
    search, ran = search_tool()
    script = [ModelStep(output=o, response_id=f"r{n}") for n, o in enumerate(calling(3))]
    if mode == "run_streamed":  # the stream of a script names every response alike
        script = [ModelStep.stream(completed(s.output[0], s.response_id)) for s in script]
    model = ScriptedModel([*script, *saying("What I know.")])
    guard = blocking_guard(max_blocks_in_row=1)
    agent = guard_agent(Agent(name="a", model=model, tools=[search]), guard=guard)
    result = run(agent, mode=mode, **{named: "before"})
    assert halted_by(result) is not None
    assert result.final_output == "What I know."
    assert len(ran) == 2
    answer, told = model.calls[-1].input
    assert answer["call_id"] == "search_2"
    assert "Repeating it will not help" in answer["output"]
    assert told["role"] == "user"
    given = getattr(model.calls[-1], named)
    assert given == ("before" if named == "conversation_id" else "r2")


def completed(call: Any, response_id: str | None) -> Any:
    """Return the stream of a reply that is one call."""

    async def events(_call: Any) -> Any:
        response = Response.model_construct(id=response_id, output=[call], usage=None)
        yield ResponseCompletedEvent.model_construct(
            response=response, sequence_number=0, type="response.completed"
        )

    return events


@pytest.mark.parametrize("where", ["agent", "provider", "run"])
def test_oa25_a_guarded_run_guards_its_model_wherever_it_comes_from(where: str) -> None:
    """OA25: a model is the agent's, the run's, or found by name; each of them ends with words."""
    model = ScriptedModel(calling(9))
    search, ran = search_tool()
    agent = Agent(name="a", model=model if where == "agent" else "by-name", tools=[search])
    config = {
        "agent": CONFIG,
        "provider": replace(CONFIG, model_provider=Provider(model)),
        "run": replace(CONFIG, model=model, model_provider=Provider(ScriptedModel())),
    }[where]
    result = asyncio.run(guarded_run(agent, "Go.", run_config=config))
    assert halted_by(result) is not None
    assert len(ran) == 5
    assert result.to_input_list()[-1]["role"] == "assistant"


@pytest.mark.parametrize("mode", MODES)
def test_oa26_the_last_answer_is_asked_for_with_every_call_answered(mode: str) -> None:
    """OA26: a provider refuses an input in which a call is open; the model reads why each is not."""
    search, ran = search_tool()
    storm = [
        function_call("search", {"q": "y"}, call_id="beside"),
        function_call("search", {"q": "x"}, call_id="stop"),
    ]
    model = ScriptedModel([*calling(2), storm, *saying("What I know.")])
    guard = blocking_guard(max_blocks_in_row=1, on_halt="answer")
    result = run(guard_agent(Agent(name="a", model=model, tools=[search]), guard=guard), mode=mode)
    assert result.final_output == "What I know."
    assert ran == ["x", "x"]
    beside, stopped = outputs(model.calls[-1].input)[-2:]
    assert "because the run ended" in beside
    assert "Repeating it will not help" in stopped
    assert "beside" not in str(result.to_input_list())

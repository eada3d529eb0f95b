"""The traps of the Agents SDK, numbered; each was met in its source or in a run."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import weakref
from typing import TYPE_CHECKING, Any

import pytest
from agents import (
    Agent,
    ModelRetrySettings,
    ModelSettings,
    RunHooks,
    Runner,
    SQLiteSession,
    WebSearchTool,
    handoff,
)
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionWebSearch,
    ResponseOutputItemDoneEvent,
    ResponseReasoningItem,
    ResponseTextDeltaEvent,
)
from openai.types.responses.response_reasoning_item import Summary

from loopguard_core import LoopDetected
from loopguard_openai_agents import (
    AgentLoopDetected,
    GuardedModel,
    LoopGuardHooks,
    guard_agent,
    guarded_run,
    halted_by,
)

from .harness import (
    CONFIG,
    LOOPING_TEXT,
    MODES,
    agent_of,
    blocking_guard,
    calling,
    outputs,
    run,
    saying,
    search_tool,
    streamed,
)
from .servers import search_server

if TYPE_CHECKING:
    from agents import RunContextWrapper

TWO_MODES = ("run", "run_streamed")


@pytest.mark.parametrize("mode", TWO_MODES)
def test_oa1_a_hook_is_shown_the_very_list_that_the_model_gets(mode: str) -> None:
    """OA1: a model has no run context; the list of its input is what links it to its run."""
    seen: list[list[Any]] = []
    asked: list[list[Any]] = []

    class Hooks(RunHooks[Any]):
        async def on_llm_start(self, _context: Any, _agent: Any, _prompt: Any, items: Any) -> None:
            seen.append(items)

    class Model(ScriptedModel):
        async def get_response(self, *args: Any, **kwargs: Any) -> Any:
            asked.append(kwargs["input"])
            return await super().get_response(*args, **kwargs)

        def stream_response(self, *args: Any, **kwargs: Any) -> Any:
            asked.append(args[1])
            return super().stream_response(*args, **kwargs)

    search, _ = search_tool()
    agent = Agent(name="a", model=Model([*calling(1), *saying("Done.")]), tools=[search])
    run(agent, mode=mode, hooks=Hooks())
    assert len(seen) == len(asked) == 2
    assert all(a is b for a, b in zip(seen, asked, strict=True))


@pytest.mark.parametrize("mode", TWO_MODES)
def test_oa2_a_guarded_model_passes_every_argument_on(mode: str) -> None:
    """OA2: the SDK calls `get_response` by keywords and `stream_response` by position."""
    search, _ = search_tool()
    inner = ScriptedModel(saying("Done."))
    agent = Agent(
        name="a",
        instructions="Be brief.",
        model=GuardedModel(inner),
        tools=[search],
        model_settings=ModelSettings(temperature=0.5),
        handoffs=[Agent(name="b")],
        output_type=str,
    )
    run(agent, mode=mode, conversation_id="conv")
    (call,) = inner.calls
    assert call.system_instructions == "Be brief."
    assert call.model_settings.temperature == 0.5
    assert [tool.name for tool in call.tools] == ["search"]
    assert [h.agent_name for h in call.handoffs] == ["b"]
    assert call.conversation_id == "conv"
    assert call.previous_response_id is None


@pytest.mark.parametrize("mode", MODES)
def test_oa3_equal_calls_of_one_turn_are_judged_before_any_of_them_runs(mode: str) -> None:
    """OA3: a turn's tools run at the same time, so a guardrail alone would see none finished."""
    search, ran = search_tool()
    storm = [function_call("search", {"q": "x"}, call_id=f"c{n}") for n in range(6)]
    agent = guard_agent(agent_of([storm, *saying("Done.")], search))
    result = run(agent, mode=mode)
    assert ran == ["x"] * 3
    assert [text.startswith("[loopguard]") for text in outputs(result.to_input_list())] == [
        *[False] * 3,
        *[True] * 3,
    ]


def test_oa4_a_refused_call_fires_no_tool_hooks_and_counts_all_the_same() -> None:
    """OA4: hooks of tools are silent about refused calls; the guard counts what models ask."""
    started = []

    class Hooks(RunHooks[Any]):
        async def on_tool_start(self, _context: Any, _agent: Any, tool: Any) -> None:
            started.append(tool.name)

    search, ran = search_tool()
    agent = guard_agent(agent_of([*calling(9), *saying("Done.")], search), guard=blocking_guard())
    result = run(agent, hooks=Hooks())
    assert len(started) == len(ran) == 2
    verdict = halted_by(result)
    assert verdict is not None
    assert verdict.reason == "tool_loop.no_progress"


@pytest.mark.parametrize("mode", MODES)
def test_oa5_hooks_alone_raise_an_exception_of_both_kinds(mode: str) -> None:
    """OA5: only an `AgentsException` leaves a hook unchanged and with the run's data."""
    search, ran = search_tool()
    agent = agent_of(calling(9), search)
    with pytest.raises(LoopDetected) as caught:
        run(agent, mode=mode, hooks=LoopGuardHooks())
    assert isinstance(caught.value, AgentLoopDetected)
    assert caught.value.verdict.reason == "thread.repeated_suffix"
    assert caught.value.run_data is not None
    assert len(caught.value.run_data.new_items) == 2 * len(ran) == 10


@pytest.mark.parametrize("mode", MODES)
def test_oa7_what_hooks_tell_the_model_is_sent_and_not_stored(mode: str) -> None:
    """OA7: the list that `on_llm_start` gets is sent; another one is stored."""
    search, _ = search_tool()
    model = ScriptedModel([*calling(4), *saying("Done.")])
    session = SQLiteSession("s")
    result = run(
        Agent(name="a", model=model, tools=[search]),
        mode=mode,
        hooks=LoopGuardHooks(),
        session=session,
    )
    told = [item for call in model.calls for item in call.input if "[loopguard]" in str(item)]
    assert len(told) == 1
    assert "[loopguard]" not in str(result.to_input_list())
    assert "[loopguard]" not in str(asyncio.run(session.get_items()))
    session.close()


def test_oa8_a_cut_stream_is_finished_as_a_response_has_to_be() -> None:
    """OA8: a stream that ends without its last event is an error to the SDK."""
    search, _ = search_tool()
    inner = ScriptedModel([*saying("Well. " + LOOPING_TEXT), *calling(1), *saying("Done.")])
    agent = guard_agent(Agent(name="a", model=inner, tools=[search]))
    events: list[Any] = []
    result = asyncio.run(
        streamed(lambda: Runner.run_streamed(agent, "Go.", run_config=CONFIG), events)
    )
    raw = [event.data for event in events if event.type == "raw_response_event"]
    completed = [data for data in raw if data.type == "response.completed"]
    assert result.final_output == "Done."
    assert len(completed) == len(result.raw_responses) == 2
    kept, call = completed[0].response.output
    assert kept.content[0].text.startswith("Well. I will check")
    assert len(kept.content[0].text) < len(LOOPING_TEXT) / 2
    assert call.name == "search"
    done = [data.item for data in raw if data.type == "response.output_item.done"]
    assert kept in done


def test_oa8_a_provider_is_left_where_its_reply_goes_round() -> None:
    """OA8: of 5,000 pieces a few hundred are read, and the connection is closed at once."""
    read: list[int] = []
    closed: list[bool] = []

    async def pieces(_call: Any) -> Any:
        try:
            for number in range(5_000):
                read.append(number)
                yield ResponseTextDeltaEvent(
                    content_index=0,
                    delta=LOOPING_TEXT[number % 44 : number % 44 + 1],
                    item_id="m",
                    logprobs=[],
                    output_index=0,
                    sequence_number=number,
                    type="response.output_text.delta",
                )
        finally:
            closed.append(True)

    def again(_call: Any) -> list[Any]:
        assert closed == [True]
        return [assistant_message("Done.")]

    agent = guard_agent(agent_of([ModelStep.stream(pieces), ModelStep.respond(again)]))
    assert run(agent, mode="run_streamed").final_output == "Done."
    assert len(read) < 1_000


@pytest.mark.parametrize("mode", MODES)
def test_oa9_a_model_that_sends_a_call_id_again_is_stopped(mode: str) -> None:
    """OA9: the SDK takes such a call for a replay: it asks the model on and runs no tool."""
    search, ran = search_tool()
    again = [[function_call("search", {"q": "x"}, call_id="same")] for _ in range(20)]
    result = run(guard_agent(agent_of(again, search)), mode=mode, max_turns=30)
    verdict = halted_by(result)
    assert verdict is not None
    assert verdict.reason == "tool_loop.no_progress"
    assert len(ran) == 1
    assert len(result.raw_responses) <= 10


def web_search(query: str, number: int) -> ResponseFunctionWebSearch:
    """Return a search that the provider ran."""
    action = {"type": "search", "query": query}
    return ResponseFunctionWebSearch.model_validate(
        {"id": f"ws{number}", "type": "web_search_call", "status": "completed", "action": action}
    )


def streaming(items: list[Any]) -> Any:
    """Return the stream of a reply with calls of the provider, which no script makes by itself."""

    async def events(_call: Any) -> Any:
        for index, item in enumerate(items):
            yield ResponseOutputItemDoneEvent(
                item=item,
                output_index=index,
                sequence_number=index,
                type="response.output_item.done",
            )
        response = Response.model_construct(id="r", output=items, usage=None)
        yield ResponseCompletedEvent.model_construct(
            response=response, sequence_number=len(items), type="response.completed"
        )

    return events


@pytest.mark.parametrize("mode", TWO_MODES)
@pytest.mark.parametrize("kind", ["equal", "different"])
def test_oa10_a_provider_that_searches_in_a_circle_within_one_reply_is_stopped(
    kind: str, mode: str
) -> None:
    """OA10: calls of the provider never come to the runner; they are seen in the reply alone."""
    queries = ["x" if kind == "equal" else f"x{n}" for n in range(40)]
    searches = [web_search(query, n) for n, query in enumerate(queries)]
    reply = [*searches, assistant_message("Found.")]
    step = reply if mode == "run" else ModelStep.stream(streaming(reply))
    agent = agent_of([step, *saying("Done.")], WebSearchTool())
    result = run(guard_agent(agent), mode=mode)
    if kind == "equal":
        assert result.final_output == "Done."
        assert len(result.raw_responses[-1].output) < 3
    else:
        assert result.final_output == "Found."
        assert halted_by(result) is None


@pytest.mark.parametrize("mode", MODES)
def test_oa15_reasoning_does_not_stay_without_the_call_it_led_to(mode: str) -> None:
    """OA15: a provider refuses reasoning whose follower is missing."""
    search, _ = search_tool()
    thought = ResponseReasoningItem(
        id="rs", type="reasoning", summary=[Summary(text="Hm.", type="summary_text")]
    )
    script = [[thought, *step] for step in calling(9)]
    guard = blocking_guard(max_blocks_in_row=1)
    items = run(guard_agent(agent_of(script, search), guard=guard), mode=mode).to_input_list()
    kinds = [item.get("type", "message") for item in items]
    assert kinds[-2:] == ["function_call_output", "message"]
    assert kinds.count("reasoning") == kinds.count("function_call") == 2


@pytest.mark.parametrize("hooked", [False, True])
def test_oa16_an_agent_that_a_hand_off_makes_goes_with_its_run(*, hooked: bool) -> None:
    """OA16: a guarded agent keeps nothing of what it handed off to."""
    made: list[weakref.ref[Any]] = []

    async def make(_context: Any, _arguments: str) -> Agent[Any]:
        made.append(weakref.ref(specialist := agent_of(saying("Done."))))
        return specialist

    way = dataclasses.replace(handoff(Agent(name="specialist")), on_invoke_handoff=make)
    script = [function_call("transfer_to_specialist", {}, call_id=f"h{n}") for n in range(5)]
    agent = agent_of([[call] for call in script], handoffs=[way])
    guarded = LoopGuardHooks().guard_agent(agent) if hooked else guard_agent(agent)
    for _ in script:
        assert run(guarded).final_output == "Done."
    gc.collect()
    assert [ref() for ref in made] == [None] * 5


def test_oa16_two_runs_at_once_do_not_see_each_other_and_nothing_is_left() -> None:
    """OA16: the usage object tells runs apart, and is held weakly."""
    search, _ = search_tool()
    hooks = LoopGuardHooks()
    shared = hooks.guard_agent(agent_of([], search))

    async def main() -> list[Any]:
        runs = []
        for script in ([*calling(9)], [*calling(2), *saying("Done.")]):
            agent = shared.clone(model=hooks.guard_model(ScriptedModel(script)))
            runs.append(Runner.run(agent, "Go.", hooks=hooks, run_config=CONFIG))
        return await asyncio.gather(*runs)

    stuck, healthy = asyncio.run(main())
    assert halted_by(stuck) is not None
    assert healthy.final_output == "Done."
    assert halted_by(healthy) is None
    assert len(hooks.runs) == 2
    del stuck, healthy
    gc.collect()
    assert len(hooks.runs) == 0


def test_oa17_an_agent_that_is_a_tool_has_a_thread_of_its_own() -> None:
    """OA17: a nested run shares the usage object of the run that it is a tool of."""
    search, ran = search_tool()
    hooks = LoopGuardHooks()
    inner = hooks.guard_agent(
        Agent(name="inner", model=ScriptedModel([*calling(9)]), tools=[search])
    )
    ask = inner.as_tool("ask", "Ask.", hooks=hooks)
    outer = hooks.guard_agent(agent_of([*calling(1, name="ask", input="?"), *saying("Done.")], ask))
    result = run(outer, hooks=hooks)
    assert result.final_output == "Done."
    assert halted_by(result) is None
    assert len(ran) == 5
    assert outputs(result.to_input_list())[0].startswith("I stopped here")


def test_oa17_what_one_nested_run_did_is_no_evidence_against_the_next() -> None:
    """OA17: each use of an agent as a tool is a run of its own, also under the same hooks."""
    search, _ = search_tool()
    hooks = LoopGuardHooks()
    model = ScriptedModel([s for n in range(4) for s in (*calling(2), *saying(f"Answer {n}."))])
    inner = hooks.guard_agent(Agent(name="inner", model=model, tools=[search]))
    asks = [[function_call("ask", {"input": f"{n}"}, call_id=f"a{n}")] for n in range(4)]
    ask = inner.as_tool("ask", "Ask.", hooks=hooks)
    result = run(hooks.guard_agent(agent_of([*asks, *saying("Done.")], ask)), hooks=hooks)
    assert result.final_output == "Done."
    assert "[loopguard]" not in str([call.input for call in model.calls])


@pytest.mark.parametrize("mode", TWO_MODES)
def test_oa18_a_model_call_that_is_tried_again_counts_once(mode: str) -> None:
    """OA18: the SDK calls the model again with the same list when a call fails."""
    search, _ = search_tool()
    script: list[Any] = [*calling(3), ModelStep.raise_error(ConnectionError("lost")), *calling(9)]
    settings = ModelSettings(
        retry=ModelRetrySettings(max_retries=2, backoff={"initial_delay": 0}, policy=lambda _: True)
    )
    model = ScriptedModel(script)
    agent = Agent(name="a", model=model, tools=[search], model_settings=settings)
    result = run(guard_agent(agent), mode=mode)
    verdict = halted_by(result)
    assert verdict is not None
    assert len(outputs(result.to_input_list())) == 5


def test_oa21_tools_of_mcp_servers_are_guarded() -> None:
    """OA21: they are made anew at each turn, and servers take guardrails only in newer versions."""
    server, ran = search_server()
    agent = agent_of([*calling(3), *saying("Done.")], mcp_servers=[server])
    result = run(guard_agent(agent, guard=blocking_guard()))
    assert len(ran) == 2
    assert "This call was not executed" in outputs(result.to_input_list())[-1]
    assert type(agent) is Agent


def test_oa22_agents_that_lead_to_each_other_are_copied_once() -> None:
    """OA22: hand-offs form circles, and may lead to an agent that is only known when asked."""
    first, second, late = Agent(name="a"), Agent(name="b"), Agent(name="late")

    async def later(_context: RunContextWrapper[Any], _arguments: str) -> Agent[Any]:
        return late

    first.handoffs = [second]
    dynamic = handoff(late)
    dynamic.on_invoke_handoff = later
    second.handoffs = [first, dynamic]
    copied = guard_agent(first)
    other = copied.handoffs[0]
    assert isinstance(other, Agent)
    assert other.handoffs[0] is copied
    assert copied is not first
    found = asyncio.run(other.handoffs[1].on_invoke_handoff(None, ""))  # type: ignore[union-attr]  # a Handoff
    assert found is not late
    assert found.hooks is not None
    late = found
    assert asyncio.run(other.handoffs[1].on_invoke_handoff(None, "")) is found  # type: ignore[union-attr]  # likewise


def test_oa23_a_last_event_without_output_still_has_its_items() -> None:
    """OA23: some providers stream items one by one and leave the last event empty."""
    inner = ScriptedModel(calling(9))
    search, _ = search_tool()

    class Sparse(ScriptedModel):
        async def stream_response(self, *args: Any, **kwargs: Any) -> Any:
            async for event in inner.stream_response(*args, **kwargs):
                if isinstance(event, ResponseCompletedEvent):
                    response = event.response.model_copy(update={"output": []})
                    yield event.model_copy(update={"response": response})
                else:
                    yield event

    agent = guard_agent(Agent(name="a", model=Sparse(), tools=[search]), guard=blocking_guard())
    verdict = halted_by(run(agent, mode="run_streamed"))
    assert verdict is not None
    assert verdict.reason == "tool_loop.no_progress"


def test_oa24_a_guarded_run_leaves_the_users_agent_alone() -> None:
    """OA24: agents and tools are shared between runs; only copies are guarded."""
    search, _ = search_tool()
    agent = agent_of(saying("Done."), search)
    before = dict(vars(agent))
    asyncio.run(guarded_run(agent, "Go.", run_config=CONFIG))
    assert vars(agent) == before
    assert search.tool_input_guardrails is None
    assert search.needs_approval is False

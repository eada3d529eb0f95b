"""The traps of LangChain and LangGraph that a guard can fall into, numbered, each with its test.

LC1  | a middleware with sync hooks alone fails under ainvoke | test_trimmer::test_in_an_agent_it_trims_what_the_model_sees_and_not_what_is_stored
LC2  | a Command from a tool wrapper does not end the run | test_middleware_calls::test_a_command_from_a_tool_wrapper_does_not_end_a_run
LC3  | raising in one tool does not stop its siblings | test_middleware_calls::test_no_sibling_of_a_halting_call_runs
LC4  | a tool wrapper is called for tools that do not exist | test_middleware_calls::test_a_wrapper_of_tools_is_called_for_what_runs_and_for_nothing_else
LC5  | parallel calls all see the same state | test_tools::test_a_sibling_of_a_blocked_call_runs
LC6  | jumping to the end leaves calls without an answer | test_middleware_halts::test_a_halt_in_the_middle_of_a_batch_answers_every_call
LC7  | after_agent with a jump to the end never ends | test_middleware_halts::test_other_hooks_do_not_keep_a_run_from_ending
LC8  | what a model call is shown is not stored | test_trimmer::test_in_an_agent_it_trims_what_the_model_sees_and_not_what_is_stored
LC9  | a last answer needs a call without tools | test_middleware_halts::test_the_last_answer_is_asked_for_without_tools
LC10 | a model wrapper may update the state, but not say where to go | test_middleware_forms::test_a_jump_that_is_lost_where_nothing_else_ends_the_run_raises
LC11 | parallel writers of private state collide | test_middleware_calls::test_one_call_of_a_batch_is_blocked_and_its_siblings_run
LC12 | no tool starts on a call of a tool that does not exist | test_callbacks::test_a_tool_that_does_not_exist_is_seen
LC13 | writing on a tool's message in a callback is not promised to work | test_callbacks::test_nudges_are_written_behind_results_only_on_request
LC14 | taking calls out of a reply in a callback does not end an AgentExecutor | test_callbacks::test_an_agent_executor_is_stopped_by_a_block
LC15 | messages that a callback appends before a model call reach nobody | test_traps::test_nothing_a_callback_appends_before_a_model_call_is_sent
LC16 | a ToolNode answers one kind of error only, and its name is not exported | test_traps::test_the_one_error_that_a_tool_node_answers_is_where_we_import_it
LC17 | a ToolNode may answer no error, or every one | test_callbacks::test_a_tool_node_without_error_handling_is_stopped_by_a_block, test_callbacks::test_a_halt_that_is_swallowed_comes_back_at_the_next_model_call
LC18 | LangGraph's own agent has other hooks | test_callbacks::test_langgraph_agents_answer_a_blocked_call
LC19 | trim_messages loses the task, or everything | test_traps::test_a_long_single_turn_keeps_its_task
LC20 | a tool that is refused as it starts never reports its end | test_traps::test_blocked_calls_leave_nothing_behind_while_the_run_goes_on
LC21 | the nodes of middleware hooks report no events | test_callback_runs::test_nodes_that_report_no_events_do_not_cut_a_run_in_two
LC22 | an AgentExecutor tells no call ids and returns bare strings | test_callbacks::test_an_agent_executor_is_stopped_by_a_block
LC23 | an asynchronous handler cannot stop a synchronous tool | test_traps::test_a_sync_and_an_async_tool_are_stopped_under_ainvoke
LC24 | a handler that is not inline runs in a thread pool, too late | test_traps::test_the_handler_runs_where_the_run_runs
LC25 | the input of a tool is shown as the text of a dict | test_traps::test_the_order_of_arguments_makes_no_difference
LC26 | run and thread ids may be absent | test_middleware_beside::test_thread_ids_are_not_needed
LC27 | invoke does not stream | test_middleware_streaming::test_a_looping_reply_is_cut_while_it_streams
LC28 | raising on a token ends the stream with that token | test_callbacks::test_a_streamed_reply_that_goes_round_stops_the_run
LC29 | a shared handler sees all runs, and its map of them leaks | test_callback_runs::test_concurrent_runs_do_not_see_each_other, test_callback_runs::test_nothing_is_left_behind_when_a_run_fails
LC30 | an agent inside a tool inherits callbacks, but no middleware | test_callback_runs::test_an_agent_inside_a_tool_belongs_to_the_run
LC31 | a model that ignores refusals goes on to the recursion limit | test_callbacks::test_a_model_that_never_heeds_a_block_is_stopped
LC32 | structured output can loop without any tool | test_callbacks::test_a_loop_of_structured_output_without_tools_is_stopped
LC33 | editing the context destroys what a detector looks at | test_middleware_beside::test_editing_the_context_does_not_hide_a_loop
LC34 | a summary replaces the history | test_middleware_beside::test_a_summary_does_not_hide_a_loop
LC35 | every hook node takes from the recursion limit | test_middleware_graph::test_a_run_costs_one_super_step_more_and_no_turn_costs_any
LC36 | a system message in mid-history is refused by providers | test_middleware_nudges::test_what_is_sent_is_a_thread_that_providers_take
LC37 | a note between a call and its result is refused by providers | test_tools::test_a_warning_comes_behind_the_result_it_is_about
LC38 | a note cannot be added to content that is a list | test_tools::test_a_warning_comes_behind_the_result_it_is_about
LC39 | taking calls out of a message leaves results without a call | test_middleware_halts::test_a_last_answer_that_is_none_falls_back_to_ours
LC40 | a note that waits must not reach another run | test_traps::test_a_nudge_that_waits_belongs_to_its_run
LC41 | private state, a checkpointer and blocking have to work together | test_middleware_state::test_counts_go_on_in_another_agent_of_another_process
LC42 | before_agent does not run again when an interrupt is answered | test_middleware_asking::test_the_model_is_not_asked_again_for_an_answer
LC43 | a hook that interrupts is entered once more for each answer | test_middleware_asking::test_the_model_is_not_asked_again_for_an_answer
LC44 | without a checkpointer an interrupt silently ends the run | test_middleware_asking::test_without_a_checkpointer_the_run_ends_with_the_question
LC45 | in a graph built by hand nothing in the config is stable over a run | test_tools::test_concurrent_runs_of_a_graph_do_not_see_each_other, test_tools::test_an_interrupt_goes_through_and_is_no_result
LC46 | a Runnable and a middleware both have a name | test_trimmer::test_it_is_a_part_of_a_chain
LC47 | a form that a model fills in is a call that no tool answers | test_callbacks::test_forms_that_the_model_fills_in_are_no_calls
LC48 | LangChain names the id in its answer to a call it could not parse | test_callbacks::test_arguments_that_cannot_be_parsed_are_seen
LC49 | an interrupt in a tool is reported as its failure | test_callback_runs::test_an_interrupt_in_a_tool_is_no_failure
LC50 | a call setting reaches the provider, and some refuse what they do not know | test_middleware_streaming::test_a_model_streams_where_it_can_and_may
LC51 | version 3 of event streaming reports no tokens | test_middleware_streaming::test_event_streaming_is_cut_too
LC52 | before langchain 1.4 the model cannot follow the model without a hook | test_middleware_calls::test_a_reply_with_no_call_left_is_asked_for_again
LC53 | retry and fallback middleware take what a callback raises for a failure | test_middleware_attempts::test_a_cut_is_no_failure_to_retry, test_middleware_attempts::test_a_cut_is_no_failure_to_fall_back_from
LC54 | LangGraph keeps a wrong answer to an interrupt and gives it again | test_middleware_asking::test_an_answer_in_another_form_is_a_clear_error_and_can_be_given_again
LC55 | a jump is lost to the hooks behind the model | test_middleware_halts::test_other_hooks_do_not_keep_a_run_from_ending
LC56 | LangChain's own middleware answers calls that have an answer | test_middleware_beside::test_a_person_who_is_asked_about_a_refused_call_leaves_a_valid_thread
LC57 | the results at the end of a turn are still the newest when the next begins | test_middleware_state::test_results_of_an_earlier_turn_are_not_counted_into_the_next
"""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import langgraph.prebuilt.tool_node
import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, trim_messages
from langchain_core.tools import ToolException, tool
from langgraph.prebuilt import ToolNode

from loopguard_core import LoopDetected, LoopGuard, Policy
from loopguard_langchain import LoopGuardCallbackHandler, ThreadTrimmer
from loopguard_langchain._callbacks import CallBlocked

from .harness import assert_sendable, blocking_guard, config, hand_built, search_tool
from .scripted import ScriptedModel, reply, tool_call

HI: dict[str, Any] = {"messages": [HumanMessage("hi")]}
STUCK = reply("", tool_call("search", {"q": "x"}))
ROWS = [row.split(" | ") for row in (__doc__ or "").splitlines() if row.startswith("LC")]


@pytest.mark.parametrize(("number", "trap", "tests"), ROWS, ids=[row[0].strip() for row in ROWS])
def test_each_trap_has_a_test(number: str, trap: str, tests: str) -> None:
    """The table names tests that exist, and counts without gaps."""
    assert number.strip() == f"LC{ROWS.index([number, trap, tests]) + 1}"
    for name in tests.split(", "):
        file, _, function = name.partition("::")
        source = Path(__file__).with_name(f"{file}.py").read_text(encoding="utf-8")
        assert f"def {function}(" in source


def test_nothing_a_callback_appends_before_a_model_call_is_sent() -> None:
    """LC15: a callback is shown a copy, so a nudge cannot be delivered there."""
    search, _ = search_tool()
    model = ScriptedModel(script=[STUCK])
    with pytest.raises(LoopDetected):
        create_agent(model, [search]).invoke(HI, config(LoopGuardCallbackHandler()))
    assert "[loopguard]" not in str(model.inputs)


def test_the_one_error_that_a_tool_node_answers_is_where_we_import_it() -> None:
    """LC16: and an ordinary tool error, raised as a tool starts, would end the run."""
    error = langgraph.prebuilt.tool_node.ToolInvocationError
    assert issubclass(CallBlocked, error)
    assert issubclass(error, ToolException)

    class Refuses(LoopGuardCallbackHandler):
        def on_tool_start(self, *_: Any, **__: Any) -> None:
            raise ToolException("no")

    search, _ = search_tool()
    graph = hand_built(ScriptedModel(script=[STUCK]), ToolNode([search]))
    with pytest.raises(ToolException, match="no"):
        graph.invoke(HI, config(Refuses()))


def test_a_long_single_turn_keeps_its_task() -> None:
    """LC19: LangChain's own helper keeps results without the task, or, asked for it, nothing."""
    steps = [
        message
        for number in range(9)
        for message in (
            reply("", tool_call("search", {"q": str(number)}, str(number))),
            search_tool()[0].invoke(tool_call("search", {"q": str(number)}, str(number))),
        )
    ]
    thread = [HumanMessage("task"), *steps]
    assert trim_messages(thread, max_tokens=4, token_counter=len)[0].type == "ai"
    assert trim_messages(thread, max_tokens=4, token_counter=len, start_on="human") == []
    kept = ThreadTrimmer(max_tokens=5, estimate=lambda _: 1, step_messages=1).invoke(thread)
    assert kept == [thread[0], *thread[-4:]]
    assert_sendable(kept)


def test_blocked_calls_leave_nothing_behind_while_the_run_goes_on() -> None:
    """LC20: a run of many refusals must not grow the handler's map."""
    known: list[int] = []
    guard = blocking_guard(max_blocks_in_row=99)
    handler = LoopGuardCallbackHandler(guard=guard)

    def look(_: Any) -> Any:
        known.append(len(handler._runs))
        return STUCK if len(known) < 20 else reply("Done.")

    search, ran = search_tool()
    create_agent(ScriptedModel(script=[look]), [search]).invoke(HI, config(handler))
    assert len(ran) == 2
    assert set(known) == {known[0]}


def test_a_sync_and_an_async_tool_are_stopped_under_ainvoke() -> None:
    """LC23: the handler is synchronous, so it reaches both."""

    @tool
    async def wait(q: str) -> str:
        """Wait."""
        return f"nothing for {q}"

    search, ran = search_tool()
    for one in (search, wait):
        model = ScriptedModel(script=[reply("", tool_call(one.name, {"q": "x"}))])
        handler = LoopGuardCallbackHandler(guard=blocking_guard())
        with pytest.raises(LoopDetected):
            asyncio.run(create_agent(model, [one]).ainvoke(HI, config(handler)))
        assert model.calls == 5
    assert len(ran) == 2


def test_the_handler_runs_where_the_run_runs() -> None:
    """LC24: on the event loop's own thread, so that the run waits for the verdict."""
    threads: set[int] = set()
    guard = LoopGuard(
        policy=Policy.observe(), listeners=(lambda _: threads.add(threading.get_ident()),)
    )

    @tool
    async def search(q: str) -> str:
        """Search."""
        return q

    model = ScriptedModel(script=[*[STUCK] * 9, reply("Done.")])
    agent = create_agent(model, [search])
    asyncio.run(agent.ainvoke(HI, config(LoopGuardCallbackHandler(guard=guard))))
    assert threads == {threading.get_ident()}


def test_the_order_of_arguments_makes_no_difference() -> None:
    """LC25: arguments are compared as values, not as the text that callbacks are shown."""

    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    handler = LoopGuardCallbackHandler(guard=blocking_guard())
    calls = [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1, "b": 2}]
    script = [reply("", tool_call("add", arguments)) for arguments in calls]
    model = ScriptedModel(script=[*script, reply("Done.")])
    result = create_agent(model, [add]).invoke(HI, config(handler))
    assert result["messages"][-2].status == "error"


def test_a_nudge_that_waits_belongs_to_its_run() -> None:
    """LC40: a handler that two runs share gives one's nudge to no other."""
    search, _ = search_tool()
    handler = LoopGuardCallbackHandler(nudge_results=True)
    ended = ScriptedModel(script=[STUCK, STUCK, STUCK, reply("Done.")])  # told, and then done
    create_agent(ended, [search]).invoke(HI, config(handler))
    other = ScriptedModel(script=[STUCK, reply("Done.")])
    create_agent(other, [search]).invoke(HI, config(handler))
    assert "[loopguard]" not in str(other.inputs)

"""The traps of LlamaIndex that a guard can fall into, numbered, each with its test.

LI1  | memory does not see what happens inside a run | test_traps::test_a_memory_alone_does_not_see_a_run
LI2  | an exception raised in a tool becomes text and stops nothing | test_traps::test_raising_in_a_tool_stops_nothing
LI3  | event handlers swallow every exception | test_traps::test_an_event_handler_cannot_stop_a_run
LI4  | a memory that is falsy is silently replaced | test_memory::test_it_is_the_memory_that_the_agent_uses
LI5  | a tool that is no FunctionTool gets no context | test_tools::test_a_context_is_injected_and_is_no_argument
LI6  | return_direct is read from the tool after its call | test_tools::test_return_direct_ends_the_run_with_the_result
LI7  | a tool message has neither the tool's name nor its failure, and ids come again | test_convert::test_a_result_has_the_name_and_arguments_of_its_call
LI8  | hand-offs are calls that no tool wrapper sees | test_agents::test_agents_that_hand_off_to_each_other_are_stopped, test_agents::test_a_blocked_hand_off_is_answered_and_the_agent_goes_on
LI9  | ReAct retries what it cannot parse, past every tool | test_agents::test_replies_that_cannot_be_parsed_again_and_again_end_the_run
LI10 | ReAct forgets ids, and its reply is text of a protocol | test_tools::test_react_agents_ask_too
LI11 | a step without calls ends the run | test_agents::test_a_refused_call_is_answered_and_shown_in_the_stream, test_traps::test_a_reply_whose_calls_are_all_refused_does_not_end_the_run
LI12 | parallel calls are not limited | test_agents::test_a_refused_call_is_answered_and_shown_in_the_stream
LI13 | a note from memory lands before everything that happened in the run | test_agents::test_a_nudge_is_sent_once_and_never_stored
LI14 | a user message at the end makes the agent force its first tool again | test_traps::test_a_nudge_does_not_force_the_first_tool
LI15 | max_iterations is the framework's own, and stays | test_traps::test_the_limit_of_iterations_is_untouched
LI16 | the framework's buffer reads an orphan result when over its budget | test_traps::test_the_frameworks_buffer_reads_an_orphan
LI17 | calls and thinking cost nothing in the framework's memories | test_memory::test_calls_thinking_and_pictures_are_counted
LI18 | an object in the store cannot be saved; JSON can | test_agents::test_a_saved_context_goes_on_with_the_same_verdicts
LI19 | a step that waits for a person begins anew | test_tools::test_a_person_can_allow_a_blocked_call, test_tools::test_a_tool_that_waits_by_itself_counts_once
LI20 | waiting is an exception that has to go through | test_tools::test_a_tool_that_waits_by_itself_counts_once
LI21 | one agent object serves many runs at a time | test_agents::test_two_runs_of_one_agent_do_not_see_each_other, test_tools::test_tools_keep_their_count_in_the_run_they_are_called_in
LI22 | a state that looks empty is taken for none | test_state::test_it_is_something_and_is_shared_by_copies
LI23 | edit_state copies what is in the store, listeners included | test_state::test_it_is_something_and_is_shared_by_copies, test_memory::test_a_copy_shares_what_is_alive
LI24 | an agent's model has to be a field of the framework's type | test_agents::test_an_exchanged_model_is_guarded_too
LI25 | ending a stream early ends the run with what was said | test_llm::test_an_unguarded_agent_goes_on_with_what_was_said
LI26 | chunks come with or without a delta, and arguments as growing text | test_llm::test_chunks_are_read_with_or_without_a_delta, test_llm::test_arguments_that_go_round_take_their_call_with_them
LI27 | texts are joined by line breaks, and a message without text has none | test_convert::test_texts_are_joined_as_the_framework_joins_them
LI28 | calls are spelled differently by each integration | test_convert::test_calls_in_every_spelling_are_the_same_call
LI29 | a message with pictures beside it cannot be validated again | test_traps::test_messages_are_never_validated_again
LI30 | one half of many tools runs the other half | test_tools::test_a_tool_that_runs_its_other_half_counts_once
LI31 | a run that raises leaves its calls open in the store | test_agents::test_each_way_to_end_leaves_a_valid_history
LI32 | the store in memory cannot be saved by the framework with pydantic 2.14 | test_memory::test_it_saves_and_loads_as_the_frameworks_memories_do
LI33 | ReAct demands a thought, and fails on an empty one | test_traps::test_the_same_thought_beside_different_calls_is_no_loop
LI34 | the exception for waiting is not exported | test_traps::test_the_exception_for_waiting_is_where_we_import_it
LI35 | asking in a step would ask the model twice | test_tools::test_a_person_can_allow_a_blocked_call
LI36 | sync tools run in threads | test_traps::test_sync_tools_belong_to_their_run
LI37 | early stopping asks the model past every step | test_traps::test_what_early_stopping_says_is_watched
LI38 | a stop event that is sent to a run has no effect | test_traps::test_a_stop_event_stops_nothing
LI39 | span handlers swallow every exception too | test_traps::test_a_span_handler_cannot_stop_a_run
LI40 | within one long turn there is no earlier turn to leave out | test_traps::test_one_long_turn_is_trimmed_too
LI41 | a mixin behind the agent's class guards nothing | test_agents::test_a_mixin_behind_the_agents_class_is_refused
LI42 | a limit of 0 iterations is none | test_traps::test_a_limit_of_no_iterations_is_the_frameworks_default
LI43 | a workflow looks at every member of an agent several times a step | test_traps::test_a_guarded_agent_lists_all_that_can_be_a_step
LI44 | integrations give calls no ids, or the tool's name | test_pairs::test_all_results_are_sent
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent, ReActAgent, base_agent
from llama_index.core.base.llms.types import ChatMessage, ImageBlock
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.span_handlers import NullSpanHandler
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import StopEvent
from llama_index.core.workflow.errors import WorkflowRuntimeError
from workflows.runtime.types.results import WaitingForEvent

from loopguard_core import LoopDetected
from loopguard_core.tokens import chars_estimate
from loopguard_llamaindex import (
    GuardedFunctionAgent,
    GuardedReActAgent,
    LoopGuardMemory,
    guard_tools,
)

from .driver import assert_valid
from .harness import CIRCLE, DONE, READ, Reader, agent, asked, guard, plain, react, repeat
from .scripted import ScriptedModel, action, answer, call, reply

if TYPE_CHECKING:
    from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent

ROWS = [row.split(" | ") for row in (__doc__ or "").splitlines() if row.startswith("LI")]


@pytest.mark.parametrize(("number", "trap", "tests"), ROWS, ids=[row[0].strip() for row in ROWS])
def test_each_trap_has_a_test(number: str, trap: str, tests: str) -> None:
    """The table names tests that exist, and counts without gaps."""
    assert number.strip() == f"LI{ROWS.index([number, trap, tests]) + 1}"
    for name in tests.split(", "):
        file, _, function = name.partition("::")
        source = Path(__file__).with_name(f"{file}.py").read_text(encoding="utf-8")
        assert f"def {function}(" in source


async def test_a_memory_alone_does_not_see_a_run() -> None:
    """LI1: without guarded tools the framework's own limit ends the run."""
    memory = LoopGuardMemory.from_defaults(token_limit=10**6, estimate=chars_estimate)
    with pytest.raises(WorkflowRuntimeError, match="Max iterations"):
        await plain(READ, tools=[Reader().tool]).run("Read.", memory=memory)


async def test_raising_in_a_tool_stops_nothing() -> None:
    """LI2: so a guarded agent raises in its own step, and tools block."""

    async def stop(path: str) -> str:
        """Stop."""
        raise LoopDetected(agent(DONE).guard.start_run().check_call("read", {}))

    tool = FunctionTool.from_defaults(async_fn=stop, name="read")
    assert str(await plain(READ, DONE, tools=[tool]).run("Read.")) == "Done."
    with pytest.raises(LoopDetected):
        await agent(READ, tools=[Reader().tool], guard=guard(on_halt="raise")).run("Read.")


class Angry(BaseEventHandler):
    """A handler that fails on every event."""

    def handle(self, event: Any, **_: Any) -> None:
        """Fail."""
        raise KeyboardInterrupt


async def test_an_event_handler_cannot_stop_a_run() -> None:
    """LI3: what it raises is swallowed, even this; the guard does not sit there."""
    dispatcher, handler = get_dispatcher(), Angry()
    dispatcher.add_event_handler(handler)
    try:
        assert str(await plain(DONE).run("Hello.")) == "Done."
        assert (await agent(READ, tools=[Reader().tool]).run("Read."))["loopguard"]
    finally:
        dispatcher.event_handlers.remove(handler)


class AngrySpans(NullSpanHandler):
    """A span handler that fails on every span."""

    def span_enter(self, *_args: Any, **_kwargs: Any) -> None:
        """Fail."""
        raise KeyboardInterrupt


async def test_a_span_handler_cannot_stop_a_run() -> None:
    """LI39: as with events."""
    dispatcher, handler = get_dispatcher(), AngrySpans()
    dispatcher.add_span_handler(handler)
    try:
        assert str(await plain(DONE).run("Hello.")) == "Done."
    finally:
        dispatcher.span_handlers.remove(handler)


async def test_a_reply_whose_calls_are_all_refused_does_not_end_the_run() -> None:
    """LI11: the model reads the refusals and is asked again at once."""
    strict = guard(max_unanswered_calls=1, max_blocks_in_row=9)
    runner = agent(
        reply("", call("handoff", to_agent="x"), call("handoff", to_agent="x")),
        DONE,
        tools=[Reader().tool],
        guard=strict,
    )
    assert str(await runner.run("Go.")) == "Done."
    assert len(asked(runner).inputs) == 2


async def test_a_nudge_does_not_force_the_first_tool() -> None:
    """LI14: the agent looks at its own messages, and a nudge is none of them."""
    runner = agent(*repeat(READ, 4), tools=[Reader().tool], initial_tool_choice="read")
    await runner.run("Read.")
    assert asked(runner).choices == ["read", None, None, None, None]


async def test_the_limit_of_iterations_is_untouched() -> None:
    """LI15: a run that the guard has nothing against ends where the user said."""
    steps = [reply("", call("read", path=f"{n}.py")) for n in range(9)]
    with pytest.raises(WorkflowRuntimeError, match="Max iterations of 5"):
        await agent(*steps, tools=[Reader().tool]).run("Read.", max_iterations=5)


async def test_a_limit_of_no_iterations_is_the_frameworks_default() -> None:
    """LI42: 0 means 20, so a guard cannot be had by a low limit."""
    with pytest.raises(WorkflowRuntimeError, match="Max iterations of 20"):
        await plain(READ, tools=[Reader().tool]).run("Read.", max_iterations=0)


async def test_what_early_stopping_says_is_watched() -> None:
    """LI37: the model is asked outside `take_step`; what it says is cut like any other text."""
    steps = [reply("", call("read", path=f"{n}.py")) for n in range(5)]
    runner = agent(*steps, reply(CIRCLE), tools=[Reader().tool], early_stopping_method="generate")
    output = await runner.run("Read.", max_iterations=5)
    assert CIRCLE.startswith(str(output))
    assert len(str(output)) < len(CIRCLE) / 10


async def test_a_stop_event_stops_nothing() -> None:
    """LI38: so whoever reads the stream of a run can only cancel it."""
    reader = Reader()
    handler = plain(*repeat(READ, 4), tools=[reader.tool]).run("Read.")
    handler.ctx.send_event(StopEvent(result="Stop."))
    assert str(await handler) == "Done."
    assert reader.ran == 4


def test_the_frameworks_buffer_reads_an_orphan() -> None:
    """LI16: or nothing, in older versions; ours reads the exchange, its result shortened."""
    result = ChatMessage(role="tool", content="x " * 900, additional_kwargs={"tool_call_id": "c"})
    thread = [
        ChatMessage(role="user", content="Read."),
        reply("", call("read", "c", path="a")),
        result,
    ]
    theirs = ChatMemoryBuffer.from_defaults(thread, token_limit=100)
    ours = LoopGuardMemory.from_defaults([*thread], token_limit=100, estimate=chars_estimate)
    assert [m.role.value for m in theirs.get()] in (["tool"], [])
    assert [m.role.value for m in ours.get()][-2:] == ["assistant", "tool"]


def test_one_long_turn_is_trimmed_too() -> None:
    """LI40: what one run left behind is read by its newest exchanges."""
    thread = [ChatMessage(role="user", content="Read.")]
    for n in range(9):
        told = {"tool_call_id": f"c{n}"}
        result = ChatMessage(role="tool", content="x " * 99, additional_kwargs=told)
        thread += [reply("", call("read", f"c{n}", path=f"{n}.py")), result]
    memory = LoopGuardMemory.from_defaults(thread, token_limit=300, estimate=chars_estimate)
    read = memory.get()
    assert 3 <= len(read) < len(thread)
    assert read[0] is thread[0]
    assert_valid(read)


def test_messages_are_never_validated_again() -> None:
    """LI29: a result that is cut keeps what stands beside it as it is."""
    memory = LoopGuardMemory.from_defaults(token_limit=1_500, estimate=chars_estimate)
    result = ChatMessage(role="tool", content="x" * 20_000, additional_kwargs={"tool_call_id": "c"})
    result.blocks.append(ImageBlock(image=b"GIF89a"))
    result.additional_kwargs["images"] = ["no longer an image"]
    memory.put_messages([reply("", call("read", "c", path="a")), result])
    read = memory.get()[-1]
    assert read is not result
    assert read.additional_kwargs is result.additional_kwargs


@pytest.mark.parametrize(
    ("guarded", "bare"), [(GuardedFunctionAgent, FunctionAgent), (GuardedReActAgent, ReActAgent)]
)
def test_a_guarded_agent_lists_all_that_can_be_a_step(
    guarded: type[BaseWorkflowAgent], bare: type[BaseWorkflowAgent]
) -> None:
    """LI43: every member but Python's own, so that the steps are found among fewer."""
    model = ScriptedModel(script=[DONE])
    theirs, ours = dir(bare(tools=[], llm=model)), dir(guarded(tools=[], llm=model))
    assert set(theirs) - set(ours) == {name for name in theirs if name.startswith("__")}
    assert not [name for name in ours if name.startswith("__")]


async def test_the_same_thought_beside_different_calls_is_no_loop() -> None:
    """LI33: the protocol demands a thought, so an equal one says nothing."""
    steps = [action("read", "I have to read the next file.", path=f"{n}.py") for n in range(12)]
    output = await react(*steps, answer("42"), tools=[Reader("text").tool]).run("Read.")
    assert str(output) == "42"


def test_the_exception_for_waiting_is_where_we_import_it() -> None:
    """LI34: the framework looks for it in the same place."""
    assert base_agent._get_waiting_for_event_exception() is WaitingForEvent


async def test_sync_tools_belong_to_their_run() -> None:
    """LI36: a tool in a thread counts in its own run, beside others."""
    ran: list[str] = []

    def read(path: str) -> str:
        """Read."""
        ran.append(path)
        return "text"

    tools = guard_tools([read])
    runners = [plain(*repeat(READ, 5), tools=tools) for _ in range(4)]
    await asyncio.gather(*(runner.run("Read.") for runner in runners))
    assert len(ran) == 20

"""The trimmer in chains and agents: what it leaves out, and that every provider takes the rest."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.prompts import ChatPromptTemplate
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import ValidationError

from loopguard_core.guard.guidance import append_guidance
from loopguard_core.thread import Trimmer
from loopguard_core.tokens import chars_estimate
from loopguard_langchain import ThreadTrimmer

from .harness import MODES, assert_sendable, drive, search_tool
from .scripted import ScriptedModel, reply, tool_call

if TYPE_CHECKING:
    from collections.abc import Mapping


def ten_each(message: Mapping[str, object]) -> float:
    """Price every neutral message at ten tokens."""
    del message
    return 10


def trimmer(max_tokens: int, **options: Any) -> ThreadTrimmer:
    """Return a trimmer whose cut may fall anywhere, at ten tokens a message."""
    return ThreadTrimmer(
        max_tokens=max_tokens, **{"estimate": ten_each, "step_messages": 1} | options
    )


def step(number: int, *, answers: int = 1, reasoning: str = "") -> list[BaseMessage]:
    """Return one exchange: a message with text and calls, and the answers to them."""
    ids = [f"{number}-{call}" for call in range(answers)]
    calls = [tool_call("search", {"q": call_id}, call_id) for call_id in ids]
    asked = reply(f"step {number}", *calls, reasoning=reasoning)
    return [asked, *(ToolMessage(f"found {i}", tool_call_id=i, name="search") for i in ids)]


def in_order(kept: list[BaseMessage], thread: list[BaseMessage]) -> bool:
    """Return True if *kept* holds objects of *thread*, in the thread's order."""
    places = [next(at for at, m in enumerate(thread) if m is k) for k in kept]
    return places == sorted(set(places))


def run_of(steps: int) -> list[BaseMessage]:
    """Return a long run of one turn: its task, and so many exchanges of three parts each."""
    return [HumanMessage("task"), *(m for number in range(steps) for m in step(number))]


def test_what_fits_is_kept_as_it_is() -> None:
    """The very same objects come back."""
    thread = run_of(3)
    kept = trimmer(100).invoke(thread)
    assert all(a is b for a, b in zip(kept, thread, strict=True))


def test_whole_exchanges_are_left_out_from_the_oldest_on() -> None:
    """The task stays, and the newest exchanges that fit beside it."""
    thread = run_of(9)
    kept = trimmer(70).invoke(thread)
    assert kept == [thread[0], *thread[-4:]]
    assert_sendable(kept)


@pytest.mark.parametrize("max_tokens", range(10, 200, 10))
def test_no_budget_breaks_a_thread_in_a_way_that_a_provider_refuses(max_tokens: int) -> None:
    """No result without its call, no call without results, no tool message first, never empty."""
    thread = [SystemMessage("rules"), *run_of(2), reply("ok"), *run_of(1), *step(7, answers=3)]
    kept = trimmer(max_tokens).invoke(thread)
    assert_sendable(kept)
    assert not isinstance(kept[0], ToolMessage)
    assert in_order(kept, thread)


def test_all_parts_of_a_message_go_together() -> None:
    """Reasoning, text and parallel calls are priced apart, and kept or left out as one."""
    thread = [HumanMessage("task"), *step(1, answers=3, reasoning="hm"), *step(2, answers=3)]
    for max_tokens in range(10, 180, 10):
        kept = trimmer(max_tokens).invoke(thread)
        assert len(kept) in {4, 5, 9}
        assert_sendable(kept)


def test_system_messages_at_the_head_and_pinned_ones_stay() -> None:
    """A pin is `additional_kwargs["loopguard_pinned"]`, on any kind of message."""
    pinned = HumanMessage("remember", additional_kwargs={"loopguard_pinned": True})
    done = run_of(9)
    thread = [SystemMessage("rules"), *done[:5], pinned, *done[5:]]
    kept = trimmer(80).invoke(thread)
    assert kept == [thread[0], pinned, *thread[-4:]]


def test_a_pinned_call_keeps_its_result() -> None:
    """What belongs to a pinned message stays with it."""
    thread = run_of(9)
    thread[3].additional_kwargs = {"loopguard_pinned": True}
    kept = trimmer(80).invoke(thread)
    assert thread[3] in kept
    assert thread[4] in kept
    assert_sendable(kept)


def test_results_without_a_call_are_left_out() -> None:
    """Summaries and crashes leave some behind; no provider takes them."""
    orphan = ToolMessage("lost", tool_call_id="gone")
    thread = [orphan, *run_of(2), orphan]
    assert trimmer(1000).invoke(thread) == thread[1:-1]


@pytest.mark.parametrize("thread", [[], [ToolMessage("lost", tool_call_id="gone")]])
def test_a_thread_without_anything_to_send_comes_back_as_it_is(thread: list[BaseMessage]) -> None:
    """There is no good list to make of it, and an empty one would hide that."""
    assert trimmer(10).invoke(thread) == thread


def test_an_oversized_result_is_cut_on_a_copy() -> None:
    """Head and tail stay; everything else of the message, and the original, is as it was."""
    big = ToolMessage("a" * 4000 + "z" * 4000, tool_call_id="1-0", artifact={"kept": 1})
    thread = [HumanMessage("task"), step(1)[0], big]
    kept = ThreadTrimmer(max_tokens=500, estimate=chars_estimate).invoke(thread)
    cut = kept[-1]
    assert kept[:2] == thread[:2]
    assert isinstance(cut, ToolMessage)
    assert len(cut.text) < 2000
    assert cut.text.startswith("aaa")
    assert cut.text.endswith("zzz")
    assert "left out" in cut.text
    assert (cut.artifact, cut.tool_call_id, len(big.text)) == ({"kept": 1}, "1-0", 8000)


def test_a_cut_result_keeps_its_pictures_and_the_note_behind_it() -> None:
    """Only text is cut, and a nudge stands at its end."""
    note = "[loopguard] Try something else. [/loopguard]"
    image = {"type": "image", "base64": "AAAA", "mime_type": "image/png"}
    text = {"type": "text", "text": append_guidance("x" * 8000, note)}
    thread = [step(1)[0], ToolMessage([text, image], tool_call_id="1-0")]
    cut = ThreadTrimmer(max_tokens=1500, estimate=chars_estimate).invoke(thread)[-1]
    assert cut.content[1] == image
    assert cut.text.endswith(note)
    assert len(cut.text) < 2000


def test_what_a_provider_executed_is_never_cut() -> None:
    """It stands inside the model's own message, which must go back untouched."""
    hosted = AIMessage(
        [
            {"type": "server_tool_call", "name": "web", "args": {}, "id": "s"},
            {"type": "server_tool_result", "tool_call_id": "s", "output": "x" * 8000},
        ]
    )
    kept = ThreadTrimmer(max_tokens=100, estimate=chars_estimate).invoke([hosted])
    assert kept[0] is hosted


@pytest.mark.parametrize("mode", ["runnable", "middleware"])
def test_a_budget_that_cannot_be_met_is_logged_and_visible(
    mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What must stay is passed on all the same."""
    thread = [SystemMessage("rules"), HumanMessage("task")]
    small = trimmer(5)
    model = ScriptedModel(script=[reply("Done.")])
    with caplog.at_level(logging.WARNING, logger="loopguard"):
        if mode == "runnable":
            assert small.invoke(thread) == thread
        else:
            create_agent(model, [], middleware=[small]).invoke({"messages": thread})
            assert model.inputs[0] == thread
    assert [record.name for record in caplog.records] == ["loopguard"]
    assert small.plan(thread).over_budget
    assert not trimmer(20).plan(thread).over_budget


def test_it_is_a_part_of_a_chain() -> None:
    """Prompts and whatever becomes messages are taken as well."""
    prompt = ChatPromptTemplate.from_messages([("system", "{rules}"), ("placeholder", "{thread}")])
    model = ScriptedModel(script=[reply("Done.")])
    chain = prompt | trimmer(50) | model
    chain.invoke({"rules": "Be brief.", "thread": run_of(9)})
    assert [m.type for m in model.inputs[0]] == ["system", "human", "ai", "tool"]
    assert trimmer(10).invoke([("human", "a"), ("human", "b")]) == [HumanMessage("b")]
    assert trimmer(10).get_name() == "ThreadTrimmer"


@pytest.mark.parametrize("mode", MODES)
def test_in_an_agent_it_trims_what_the_model_sees_and_not_what_is_stored(mode: str) -> None:
    """However the agent is run."""
    search, _ = search_tool()
    calls = [reply("", tool_call("search", {"q": str(turn)})) for turn in range(8)]
    model = ScriptedModel(script=[*calls, reply("Done.")])
    agent = create_agent(model, [search], middleware=[trimmer(70)], checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    drive(agent, {"messages": [HumanMessage("task")]}, config, mode)
    assert len(agent.get_state(config).values["messages"]) == 18
    assert max(map(len, model.inputs)) == 5  # ten of the seventy go to the tool's schema
    for messages in model.inputs:
        assert messages[0].text == "task"
        assert_sendable(messages)


def test_the_system_prompt_and_the_tools_count_against_the_budget() -> None:
    """Both are sent with every request, and neither is trimmed."""
    search, _ = search_tool()
    thread = {"messages": run_of(9)}
    lengths = []
    for tools, prompt in [([], None), ([search], None), ([search], "Be brief.")]:
        model = ScriptedModel(script=[reply("Done.")])
        agent = create_agent(model, tools, system_prompt=prompt, middleware=[trimmer(80)])
        agent.invoke(thread)
        lengths.append(sum(m.type != "system" for m in model.inputs[0]))
    assert lengths == [5, 5, 3]  # two exchanges beside the task, and one in what is left then


def test_the_cut_moves_in_steps() -> None:
    """Most prompts of a long run begin like the one before, so that a provider's cache works."""
    thread = run_of(60)
    stepped = trimmer(500, step_messages=30)
    heads = [stepped.invoke(thread[: 1 + 2 * done])[1].text for done in range(40, 60)]
    assert len(set(heads)) <= 3


@pytest.mark.parametrize("options", [{"max_tokens": 0}, {"max_tokens": "5"}, {"max_tokens": True}])
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    """The error names the option and its value."""
    with pytest.raises(ValidationError, match="max_tokens"):
        ThreadTrimmer(**options)


def test_defaults_are_the_core_s() -> None:
    """An adapter has no numbers of its own."""
    made = ThreadTrimmer(max_tokens=9)._trimmer
    plain = Trimmer(max_tokens=9)
    assert (made.step_messages, made.keep_task) == (plain.step_messages, plain.keep_task)


UNITS = st.lists(
    st.sampled_from(["user", "text", "call", "batch", "orphan", "system", "pinned"]), max_size=12
)


def thread_of(units: list[str]) -> list[BaseMessage]:
    """Build a thread of such units."""
    thread: list[BaseMessage] = []
    for number, unit in enumerate(units):
        match unit:
            case "user":
                thread.append(HumanMessage(f"say {number}"))
            case "text":
                thread.append(reply(f"said {number}", reasoning="hm"))
            case "call" | "batch":
                thread += step(number, answers=1 if unit == "call" else 3)
            case "orphan":
                thread.append(ToolMessage("lost", tool_call_id=f"gone {number}"))
            case "system":
                thread.append(SystemMessage(f"rule {number}"))
            case _:
                thread.append(
                    HumanMessage(f"pin {number}", additional_kwargs={"loopguard_pinned": True})
                )
    return thread


@settings(derandomize=True, max_examples=80, deadline=None)
@given(UNITS, st.integers(1, 300), st.integers(1, 8))
def test_whatever_the_thread_what_is_kept_can_be_sent(
    units: list[str], max_tokens: int, step_messages: int
) -> None:
    """Order, pairing and pins hold for every thread and budget, and trimming twice is trimming."""
    thread = thread_of(units)
    before = [message.model_copy() for message in thread]
    cut = trimmer(max_tokens, step_messages=step_messages)
    kept = cut.invoke(thread)
    assert thread == before
    assert in_order(kept, thread)
    if any(unit != "orphan" for unit in units):
        assert_sendable(kept)
        assert cut.invoke(kept) == kept
        assert all(m in kept for m in thread if m.additional_kwargs.get("loopguard_pinned"))

"""What the model is told: sent with the thread, never stored, never between a call and its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

from loopguard_core import LoopGuard, Policy

from .agents import DONE, STUCK, finish, guarded, person, thread
from .harness import MODES, assert_sendable, search_tool, warning_guard
from .scripted import ScriptedModel, reply, tool_call

if TYPE_CHECKING:
    from collections.abc import Iterable

NOTE = "[loopguard]"


def notes(messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    """Return the messages with something that the guard wrote."""
    return [message for message in messages if NOTE in str(message.content)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("guard", [LoopGuard(), warning_guard()], ids=["thread", "result"])
def test_a_nudge_is_sent_and_not_stored(guard: LoopGuard, mode: str) -> None:
    """The model reads it once; neither the state nor what users see has it."""
    search, _ = search_tool()
    model = ScriptedModel(script=[*[STUCK] * 3, DONE])
    agent = guarded(model, search, guard=guard, checkpointer=InMemorySaver())
    messages = finish(agent, person(), mode=mode)["messages"]
    assert [len(notes(sent)) for sent in model.inputs] == [0, 0, 0, 1]
    assert not notes(messages)
    assert not notes(agent.get_state(thread()).values["messages"])
    assert messages[-1].content == "Done."


@pytest.mark.parametrize("mode", MODES)
def test_a_nudge_is_no_part_of_what_is_streamed(mode: str) -> None:
    """Who streams messages, updates or values never sees it."""
    search, _ = search_tool()
    agent = guarded(ScriptedModel(script=[*[STUCK] * 3, DONE]), search)
    if mode in ("stream", "invoke"):
        kinds = ["messages", "updates", "values"]
        events = list(agent.stream(person(), thread(), stream_mode=kinds))
        # The run's own state says in words what was found; it is the guard's, and private.
        shown = [event for event in events if "loopguard" not in str(event[1])]
        assert NOTE not in str(shown)
        assert "All done" not in str(shown)


@pytest.mark.parametrize("guard", [LoopGuard(), warning_guard()], ids=["thread", "result"])
def test_what_is_sent_is_a_thread_that_providers_take(guard: LoopGuard) -> None:
    """LC36, LC37: no system message in mid-history, nothing between a call and its result."""
    search, _ = search_tool()
    batch = reply("", *[tool_call("search", {"q": q}) for q in "xy"])
    model = ScriptedModel(script=[*[batch] * 4, DONE])
    finish(guarded(model, search, guard=guard, system_prompt="Be brief."), person())
    for sent in model.inputs:
        assert_sendable(sent)
        assert [isinstance(message, SystemMessage) for message in sent[:2]] == [True, False]
        assert not any(isinstance(message, SystemMessage) for message in sent[1:])


def test_a_nudge_about_a_result_stands_behind_that_result() -> None:
    """The model reads it where it looks, and the stored result is the very object it was."""
    search, _ = search_tool()
    model = ScriptedModel(script=[*[STUCK] * 3, DONE])
    messages = finish(guarded(model, search, guard=warning_guard()), person())["messages"]
    sent, stored = model.inputs[-1][-1], messages[-2]
    assert isinstance(sent, ToolMessage)
    assert str(sent.content).startswith("nothing for x\n\n[loopguard]")
    assert stored.content == "nothing for x"
    assert stored.tool_call_id == sent.tool_call_id


def test_a_nudge_behind_a_result_of_blocks_is_a_block() -> None:
    """LC38: a list takes no text; pictures stay what they are."""
    picture = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}

    def look(q: str) -> list[dict[str, str]]:
        """Look."""
        return [{"type": "text", "text": f"nothing for {q}"}, picture]

    tool = StructuredTool.from_function(look, name="search")
    model = ScriptedModel(script=[*[STUCK] * 3, DONE])
    messages = finish(guarded(model, tool, guard=warning_guard()), person())["messages"]
    content = model.inputs[-1][-1].content
    assert content[:2] == messages[-2].content
    assert content[1] == picture
    assert NOTE in content[2]["text"]


def test_a_nudge_about_the_thread_is_a_message_of_a_user_at_its_end() -> None:
    """A message of its own comes behind the newest results, where every provider takes one."""
    search, _ = search_tool()
    model = ScriptedModel(script=[*[STUCK] * 3, DONE])
    finish(guarded(model, search), person())
    assert isinstance(model.inputs[-1][-2], ToolMessage)
    assert isinstance(model.inputs[-1][-1], HumanMessage)


def test_replies_made_of_blocks_are_left_as_they_are() -> None:
    """LC38: nothing is ever written into what the model said."""
    blocks = AIMessage(
        [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "I search."}],
        tool_calls=[tool_call("search", {"q": "x"})],
    )
    search, _ = search_tool()
    model = ScriptedModel(script=[blocks])
    messages = finish(guarded(model, search), person())["messages"]
    assert not notes(m for m in messages if isinstance(m, AIMessage))
    assert_sendable(messages)


def test_a_nudge_is_not_evidence() -> None:
    """What was sent and not stored changes no later verdict, and neither does its absence."""
    search, _ = search_tool()
    model = ScriptedModel(script=[*[STUCK] * 4, reply("", tool_call("search", {"q": "y"})), DONE])
    messages = finish(guarded(model, search), person())["messages"]
    assert sum(bool(notes(sent)) for sent in model.inputs) == 1
    assert messages[-1].content == "Done."


@pytest.mark.parametrize("mode", MODES)
def test_an_observing_guard_tells_nobody(mode: str) -> None:
    """Nothing is added to what is sent under a policy that never interferes."""
    search, ran = search_tool()
    heard: list[Any] = []
    guard = LoopGuard(policy=Policy.observe(), listeners=(heard.append,))
    model = ScriptedModel(script=[*[STUCK] * 9, DONE])
    messages = finish(guarded(model, search, guard=guard), person(), mode=mode)["messages"]
    assert len(ran) == 9
    assert not any(notes(sent) for sent in model.inputs)
    assert not notes(messages)
    assert heard

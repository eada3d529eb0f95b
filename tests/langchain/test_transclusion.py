"""Placeholders in replies: what they stand for, and what the final state says."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from loopguard_core.agent import ShaperPolicy
from loopguard_langchain import ContextShaper, LoopGuardMiddleware, ToolHygieneMiddleware

from .agents import HALTING, finish, person, thread
from .harness import MODES, blocking_guard
from .scripted import ScriptedModel, reply, tool_call
from .test_shaper import SMALL, agent, rounds

SHAPER = ContextShaper(policy=ShaperPolicy(), transclude=True)
LOOKS_UP = reply("", tool_call("search", {"q": "x"}))
TABLE = json.dumps([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])


@pytest.mark.parametrize("outer", [True, False])
@pytest.mark.parametrize(("on_halt", "says"), [("end", "I stopped here"), ("answer", "it is x")])
def test_the_guard_has_the_last_word(on_halt: Any, says: str, *, outer: bool) -> None:
    """What a person reads is the last message, and not the reply of an earlier turn."""
    model = ScriptedModel(script=[reply("first"), *HALTING, LOOKS_UP, reply("it is {report}")])
    both = [LoopGuardMiddleware(guard=blocking_guard(on_halt=on_halt)), SHAPER]
    some = agent(model, *(both if outer else reversed(both)), checkpointer=InMemorySaver())
    assert finish(some, person(), thread())["expanded_reply"] == "first"
    end = finish(some, person("again"), thread())
    assert says in end["expanded_reply"]
    assert "loopguard" in end["messages"][-1].response_metadata


def test_a_limit_has_the_last_word() -> None:
    """Also where the model is not called at all."""
    limit = ModelCallLimitMiddleware(thread_limit=1, exit_behavior="end")
    some = agent(
        ScriptedModel(script=[reply("first")]), limit, SHAPER, checkpointer=InMemorySaver()
    )
    finish(some, person(), thread())
    end = finish(some, person("again"), thread())
    assert end["expanded_reply"] == end["messages"][-1].text != "first"


def test_an_earlier_reply_is_not_shown_while_a_turn_goes_on() -> None:
    """A turn that waits, or breaks off, has no reply yet."""
    model = ScriptedModel(script=[reply("first"), LOOKS_UP, OSError("gone")])
    some = agent(model, SHAPER, checkpointer=InMemorySaver())
    finish(some, person(), thread())
    with pytest.raises(OSError, match="gone"):
        finish(some, person("again"), thread())
    assert some.get_state(thread()).values["expanded_reply"] == ""


def test_there_is_a_reply_without_tools() -> None:
    """The key is always there; the model is taught nothing that it cannot use."""
    model = ScriptedModel(script=[reply("hello {OUTPUT}")])
    end = finish(create_agent(model, [], middleware=[SHAPER]), person())
    assert end["expanded_reply"] == "hello {OUTPUT}"
    assert [message.type for message in model.inputs[-1]] == ["human"]


@pytest.mark.parametrize("mode", MODES)
def test_placeholders_outlive_a_fold(mode: str) -> None:
    """A result of this turn that was folded can still be shown."""

    @tool
    def find(q: str) -> str:
        """Find."""
        return ("<report>R</report>" if q == "0" else "") + "x" * 900

    finds = [reply("", tool_call("find", {"q": str(number)})) for number in range(9)]
    model = ScriptedModel(script=[*finds, reply("{report}")])
    folds: list[Any] = []
    shaper = ContextShaper(
        policy=SMALL, summarizer=lambda _: "so", transclude=True, on_fold=folds.append
    )
    some = create_agent(model, [find], middleware=[shaper], checkpointer=InMemorySaver())
    end = finish(some, person("the task"), thread(), mode=mode)
    assert len(folds) > 1
    assert end["expanded_reply"] == "R"
    model.script.append(reply("and {report}?"))
    assert finish(some, person("more"), thread(), mode=mode)["expanded_reply"] == "and {report}?"


def test_what_was_folded_of_an_earlier_turn_is_gone() -> None:
    """A fold keeps placeholders for the turn that it happens in, and no others."""
    old = rounds(5)
    old[2] = old[2].model_copy(update={"content": "<report>old</report>" + "r" * 600})
    shaper = ContextShaper(policy=SMALL, summarizer=lambda _: "so", transclude=True)
    some = agent(ScriptedModel(script=[reply("{report}")]), shaper)
    end = finish(some, {"messages": [*old, HumanMessage("now")]})
    assert end["messages"][0].text == "[compacted]\nso"
    assert end["expanded_reply"] == "{report}"


def test_the_blocks_of_a_system_prompt_stay() -> None:
    """A provider's cache ends where its mark stands; the note comes behind it."""
    block = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    model = ScriptedModel(script=[reply("ok")])
    system = SystemMessage([block], additional_kwargs={"mine": 1})
    finish(agent(model, SHAPER, system_prompt=system), person())
    sent = model.inputs[-1][0]
    assert sent.content[0] == block
    assert sent.additional_kwargs == {"mine": 1}
    assert sent.text.startswith("Be brief.\n\n")
    assert system.content == [block]


def test_what_a_person_reads_of_a_tool_is_left_alone() -> None:
    """A tool with `return_direct` has the last word: neither encoded, nor expanded."""

    @tool(return_direct=True)
    def rows(table: str) -> str:
        """Read rows."""
        return TABLE + "{OUTPUT}" * (table == "braces")

    for table in ("t", "braces"):
        model = ScriptedModel(script=[reply("", tool_call("rows", {"table": table}))])
        some = create_agent(model, [rows], middleware=[SHAPER, ToolHygieneMiddleware()])
        end = finish(some, person())
        assert end["messages"][-1].text == end["expanded_reply"]
        assert end["expanded_reply"].startswith(TABLE)


async def test_two_runs_show_their_own_results() -> None:
    """One shaper, two threads at once."""

    @tool
    async def find(q: str) -> str:
        """Find."""
        await asyncio.sleep(0)
        return f"<report>{q}</report>"

    def asks(messages: list[Any]) -> AIMessage:
        if messages[-1].type == "human":
            return reply("", tool_call("find", {"q": messages[-1].text}))
        return reply("{report}")

    some = create_agent(ScriptedModel(script=[asks]), [find], middleware=[SHAPER])
    ends = await asyncio.gather(*(some.ainvoke(person(name)) for name in "ABCD"))
    assert [end["expanded_reply"] for end in ends] == list("ABCD")

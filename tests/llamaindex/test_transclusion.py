"""Transclusion: whole results in the answer that leaves a run, and nowhere else."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from llama_index.core.agent.workflow import AgentStream, AgentWorkflow, FunctionAgent
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context, JsonSerializer

from loopguard_core.agent.transclusion import SLOT_NOTE
from loopguard_llamaindex import LoopGuardMemory, Transcluding, expanded, prepare_tools

from .harness import DONE, agent, asked, model, pair, plain, react
from .scripted import action, answer, call, reply

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage

PAGE = "<title>Tea</title>\n" + "leaf " * 200
WHOLE = "Tea\n" + "leaf " * 200
SHOWN = reply("Here: {title}. {OUTPUT} {other}")
EXPANDED = f"Here: Tea. {WHOLE} {{other}}"


class TranscludingAgent(Transcluding, FunctionAgent):
    """An agent that nobody guards."""


def tools(text: str = PAGE, **fields: Any) -> Any:
    """Return a prepared tool that reads a page."""

    async def read(page: int = 1) -> str:
        """Read a page."""
        return text.replace("Tea", f"Tea {page}") if page > 1 else text

    tool = FunctionTool.from_defaults(async_fn=read, name="read", **fields)
    return prepare_tools([tool], max_result_bytes=60, transclude=True)


def own(*script: Any, **fields: Any) -> TranscludingAgent:
    """Return an agent that nobody guards."""
    fields.setdefault("streaming", False)
    return TranscludingAgent(llm=model(*script), **fields)


READ = reply("", call("read"))


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("make", [agent, own])
async def test_the_answer_is_expanded_and_nothing_else(make: Any, *, streaming: bool) -> None:
    """The note is sent and not stored, streams and memory keep the placeholders."""
    runner = make(
        READ, SHOWN, tools=tools(), transclude=True, streaming=streaming, system_prompt="Be brief."
    )
    kept = LoopGuardMemory.from_defaults(token_limit=10**6)
    handler = runner.run("Show.", memory=kept)
    streamed = "".join(
        [e.delta async for e in handler.stream_events() if isinstance(e, AgentStream)]
    )
    output = await handler
    assert output.response.content == EXPANDED
    assert str(output) == EXPANDED
    stored = kept.get_all()
    assert stored[-1].content == SHOWN.content
    assert not any(SLOT_NOTE in str(message.content) for message in stored)
    sent = asked(runner).inputs
    assert all(messages[0].content == f"Be brief.\n\n{SLOT_NOTE}" for messages in sent)
    assert "{OUTPUT}" in str(sent[1][-1].content)  # the result was cut, and says so
    assert not streaming or streamed == SHOWN.content


async def test_react_shows_its_answer() -> None:
    """The protocol around the answer is gone, and what is written is expanded."""
    runner = react(
        action("read", "Look.", page=1), answer("{title}"), tools=tools(), transclude=True
    )
    kept = LoopGuardMemory.from_defaults(token_limit=10**6)
    output = await runner.run("Show.", memory=kept)
    assert output.response.content == "Tea"
    assert "{title}" in str(kept.get_all()[-1].content)
    assert SLOT_NOTE in str(asked(runner).inputs[0][1].content)


async def test_in_a_workflow_another_agent_shows_it() -> None:
    """Slots belong to the run, whoever called the tool."""
    handoff = reply("", call("handoff", to_agent="b", reason="show"))
    workflow = pair([READ, handoff], [SHOWN], tools=tools(), transclude=True)
    output = await workflow.run("Show.")
    assert output.response.content == EXPANDED


async def test_slots_are_those_of_the_turn() -> None:
    """A turn without a call shows nothing of an earlier one; later results replace earlier ones."""
    more = reply("", call("read", page=2))
    runner = agent(READ, SHOWN, SHOWN, READ, more, SHOWN, tools=tools(), transclude=True)
    ctx: Any = Context(runner)
    said = [(await runner.run("Show.", ctx=ctx)).response.content for _ in range(3)]
    assert said[0] == EXPANDED
    assert said[1] == SHOWN.content
    assert said[2].startswith("Here: Tea 2.")


@pytest.mark.parametrize("how", ["output", "text"])
async def test_the_helper_expands_for_other_agents(how: str) -> None:
    """`expanded` reads what the tools kept; an answer of a turn without calls stays."""
    runner = plain(READ, SHOWN, SHOWN, tools=tools())
    ctx: Any = Context(runner)
    output = await runner.run("Show.", ctx=ctx)
    assert output.response.content == SHOWN.content
    if how == "text":
        assert await expanded(str(output), ctx) == EXPANDED
        return
    shown = await expanded(output, ctx)
    assert shown.response.content == EXPANDED
    assert output.response.content == SHOWN.content
    again = await runner.run("Show.", ctx=ctx)
    assert (await expanded(again, ctx)) is again


async def test_turns_of_other_agents_do_not_see_each_other() -> None:
    """Without an agent that says so, a turn begins where another run counts from the beginning."""
    runner = plain(READ, DONE, READ, SHOWN, tools=prepare_tools([_counting()], transclude=True))
    ctx: Any = Context(runner)
    await runner.run("Show.", ctx=ctx)
    output = await runner.run("Show.", ctx=ctx)
    assert (await expanded(output, ctx)).response.content == "Here: {title}. two {other}"


def _counting() -> FunctionTool:
    texts = iter(["<title>one</title>", "two"])

    def read() -> str:
        """Read the next page."""
        return next(texts)

    return FunctionTool.from_defaults(read)


async def test_two_runs_at_once_do_not_see_each_other() -> None:
    """One agent and one tool, two runs: each shows its own result."""

    async def read(word: str) -> str:
        """Read slowly."""
        await asyncio.sleep(0.01)
        return word

    def script(messages: list[ChatMessage]) -> ChatMessage:
        asked_for = str(next(m.content for m in messages if m.role == "user"))
        is_done = messages[-1].role == "tool"
        return reply("{OUTPUT}") if is_done else reply("", call("read", word=asked_for))

    runner = agent(script, tools=prepare_tools([read], transclude=True), transclude=True)
    outputs = await asyncio.gather(runner.run("one"), runner.run("two"))
    assert [output.response.content for output in outputs] == ["one", "two"]


async def test_a_context_that_is_saved_keeps_its_slots() -> None:
    """They are JSON values in `ctx.store`."""
    runner = agent(READ, SHOWN, tools=tools(), transclude=True)
    ctx: Any = Context(runner)
    await runner.run("Show.", ctx=ctx)
    saved = Context.from_dict(runner, ctx.to_dict(JsonSerializer()), JsonSerializer())
    assert await expanded("{title}", saved) == "Tea"


async def test_parallel_results_are_all_there() -> None:
    """Calls of one reply come back at the same time; none is lost."""

    async def read(name: str) -> str:
        """Read a section."""
        await asyncio.sleep(0)
        return f"<{name}>about {name}</{name}>"

    calls = reply("", *(call("read", name=name) for name in "abcd"))
    runner = agent(
        calls, reply("{a} {b} {c} {d}"), tools=prepare_tools([read], transclude=True),
        transclude=True,
    )  # fmt: skip
    output = await runner.run("Show.")
    assert output.response.content == "about a about b about c about d"


async def test_what_a_tool_answers_itself_is_left_alone() -> None:
    """Braces in the result of a `return_direct` tool are its own."""
    runner = agent(READ, tools=tools("<a>x</a>{a}", return_direct=True), transclude=True)
    output = await runner.run("Show.")
    assert output.response.content == "<a>x</a>{a}"


@pytest.mark.parametrize("fields", [{"tools": tools()}, {"transclude": True}])
async def test_nothing_is_told_without_need(fields: Any) -> None:
    """No note for an agent that does not transclude, or that has no tools."""
    runner = agent(SHOWN, **fields)
    output = await runner.run("Show.")
    assert output.response.content == SHOWN.content
    assert not any(SLOT_NOTE in str(m.content) for m in asked(runner).inputs[0])


async def test_the_memory_that_was_given_gets_the_run() -> None:
    """Capturing leaves everything else in the store as it is."""
    runner = AgentWorkflow(agents=[own(READ, SHOWN, tools=tools(), transclude=True)])
    kept = LoopGuardMemory.from_defaults(token_limit=10**6)
    await runner.run("Show.", memory=kept)
    assert len(kept.get_all()) == 4

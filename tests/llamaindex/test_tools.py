"""Guarded tools: everything a tool does is kept, and calls that loop are not executed."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from llama_index.core.base.llms.types import ImageBlock, TextBlock
from llama_index.core.base.response.schema import Response
from llama_index.core.query_engine import CustomQueryEngine
from llama_index.core.tools import BaseTool, FunctionTool, QueryEngineTool, ToolMetadata, ToolOutput
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent

from loopguard_core import ToolRule
from loopguard_core.tool_loop import ToolLoopConfig
from loopguard_llamaindex import LoopGuardMemory, guard_tools

from .harness import DONE, READ, Reader, agent, asked, guard, notes, plain, react, repeat
from .scripted import action, call, reply


def one(tool: Any, **policy: Any) -> Any:
    """Return the guarded copy of a tool."""
    (copy,) = guard_tools([tool], guard=guard(**policy))
    return copy


async def test_a_copy_is_of_the_tools_own_class_and_the_original_is_untouched() -> None:
    """The framework asks for the class; the user's tool stays what it was."""
    tool = Reader().tool
    copy = one(tool)
    assert isinstance(copy, FunctionTool)
    assert type(tool) is FunctionTool
    assert copy.metadata is tool.metadata
    assert (await copy.acall(path="a")).content == (await tool.acall(path="a")).content


async def test_a_function_becomes_a_tool() -> None:
    """As in an agent, a plain function may be passed."""

    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    assert (await one(add).acall(a=1, b=2)).content == "3"
    assert one(add)(a=1, b=2).content == "3"


async def test_partial_parameters_reach_the_tool_and_are_no_arguments() -> None:
    """What the user fixed in advance is no part of what the model asked for."""

    def look(user: str, item: int) -> str:
        """Look."""
        return f"{user} {item}"

    tool = FunctionTool.from_defaults(look, partial_params={"user": "me"})
    assert one(tool)(item=3).content == "me 3"


async def test_a_context_is_injected_and_is_no_argument() -> None:
    """Equal calls are equal, although each gets a context of its own."""
    seen: list[Any] = []

    async def read(ctx: Context, path: str) -> str:
        """Read."""
        seen.append(await ctx.store.get("num_iterations"))
        return "text"

    read.__annotations__["ctx"] = Context  # the framework reads no annotation that is a string
    runner = plain(READ, tools=guard_tools([read]))
    with pytest.raises(Exception, match="Max iterations"):
        await runner.run("Read.", max_iterations=12)
    assert len(seen) == 7


async def test_return_direct_ends_the_run_with_the_result() -> None:
    """A guarded tool that returns directly still does."""
    tool = FunctionTool.from_defaults(async_fn=Reader().read, name="read", return_direct=True)
    assert str(await plain(READ, tools=guard_tools([tool])).run("Read.")) == "text"
    assert str(await agent(READ, tools=[tool]).run("Read.")) == "text"


class Echo(CustomQueryEngine):
    """A query engine without an index."""

    def custom_query(self, query_str: str) -> Response:
        """Answer."""
        return Response(response=f"about {query_str}")


async def test_a_query_engine_tool_stays_one() -> None:
    """Its query is taken from the argument `input`, or from the position."""
    copy = one(QueryEngineTool.from_defaults(Echo(), name="ask"))
    assert isinstance(copy, QueryEngineTool)
    assert copy.call("x").content == "about x"
    assert (await copy.acall(input="x")).content == "about x"


class SyncOnly(BaseTool):
    """A tool without an async half."""

    ran = 0

    @property
    def metadata(self) -> ToolMetadata:
        """What it is."""
        return ToolMetadata(name="sync", description="A tool.")

    def __call__(self, input: Any) -> ToolOutput:
        """Answer."""
        self.ran += 1
        return ToolOutput("sync", content="same", raw_input={"input": input})


async def test_a_tool_that_runs_its_other_half_counts_once() -> None:
    """The adapter of a sync tool calls its sync half in a thread: that is one call."""
    tool = SyncOnly()
    copy = one(tool)
    results = [(await copy.acall("x")).is_error for _ in range(8)]
    assert results == [False] * 7 + [True]
    assert tool.ran == 7


def test_by_hand_the_copies_share_one_run() -> None:
    """Outside a workflow a call is blocked at its eighth attempt, whichever copy is called."""
    reader = Reader()
    copy, other = guard_tools(
        [FunctionTool.from_defaults(lambda path: "text", name=n) for n in ("read", "x")]
    )
    results = [copy(path="a") for _ in range(8)]
    assert [result.is_error for result in results] == [False] * 7 + [True]
    assert "was not executed" in results[-1].content
    assert not other(path="a").is_error
    assert reader.ran == 0


async def test_a_warning_stands_behind_the_result_it_is_about() -> None:
    """An unguarded agent can only be told in the result, so that is where the note is."""
    strict = guard(disabled_detectors=frozenset(), on_critical=1)
    (copy,) = guard_tools([Reader().tool], guard=strict)
    texts = [(await copy.acall(path="a")).content for _ in range(6)]
    assert texts[0] == "text"
    assert any(text.startswith("text\n\n[loopguard]") for text in texts)


async def test_a_tool_that_fails_fails_on_and_is_counted() -> None:
    """The tool's own error reaches the caller; the same failure again and again is blocked."""

    async def fail(path: str) -> str:
        """Fail."""
        raise ValueError("no such file")

    copy = one(FunctionTool.from_defaults(async_fn=fail))
    for _ in range(7):
        with pytest.raises(ValueError, match="no such file"):
            await copy.acall(path="a")
    assert (await copy.acall(path="a")).is_error


def test_a_sync_tool_that_fails_is_counted_too() -> None:
    """The sync half behaves like the async one."""

    def fail(path: str) -> str:
        """Fail."""
        raise ValueError("no such file")

    copy = one(FunctionTool.from_defaults(fail))
    for _ in range(7):
        with pytest.raises(ValueError, match="no such file"):
            copy(path="a")
    assert copy(path="a").is_error


async def test_pictures_that_differ_are_new_results() -> None:
    """What is compared is the whole output, not its text alone."""
    pictures = iter(range(100))

    async def look(path: str) -> list[Any]:
        """Look."""
        return [TextBlock(text="seen"), ImageBlock(image=b"GIF89a%d" % next(pictures))]

    copy = one(FunctionTool.from_defaults(async_fn=look))
    assert not any([(await copy.acall(path="a")).is_error for _ in range(12)])


async def test_tools_keep_their_count_in_the_run_they_are_called_in() -> None:
    """Runs beside each other do not see each other, and a later run is a new turn."""
    reader = Reader()
    tools = guard_tools([reader.tool])
    runner = plain(*repeat(READ, 5), tools=tools)
    ctx = Context(runner)
    for _ in range(3):
        asked(runner).inputs.clear()
        await runner.run("Read.", ctx=ctx)
    assert reader.ran == 15
    others = [plain(*repeat(READ, 5), tools=tools) for _ in range(4)]
    await asyncio.gather(*(other.run("Read.") for other in others))
    assert reader.ran == 35


async def test_in_a_guarded_agent_the_agent_alone_counts() -> None:
    """Guarded tools of a guarded agent do not count a second time."""
    reader = Reader()
    runner = agent(*repeat(READ, 4), tools=guard_tools([reader.tool]))
    await runner.run("Read.")
    assert reader.ran == 4
    assert len(notes(asked(runner).inputs[3])) == 1


QUICK = {"on_block": "ask", "max_unanswered_calls": 1}
THIRD = guard(
    on_block="ask", tools={"read": ToolRule(tool_loop=ToolLoopConfig(no_progress_critical=3))}
)
THRICE = [*[READ] * 3, DONE]
TWICE = reply("", *[call("read", path="a")] * 2)


async def answered(handler: Any, **response: Any) -> list[InputRequiredEvent]:
    """Answer every question of a run in the same way; return the questions."""
    questions = []
    async for event in handler.stream_events():
        if isinstance(event, InputRequiredEvent):
            questions.append(event)
            handler.ctx.send_event(HumanResponseEvent(call_id=event.call_id, **response))
    return questions


@pytest.mark.parametrize("guarded", [True, False])
async def test_a_person_can_allow_a_blocked_call(guarded: bool) -> None:
    """The call runs once, the model is not called again for it, and its count starts over."""
    reader = Reader()
    if guarded:
        runner = agent(*THRICE, tools=[reader.tool], guard=THIRD)
    else:
        runner = plain(*THRICE, tools=guard_tools([reader.tool], guard=THIRD))
    handler = runner.run("Read.")
    questions = await answered(handler, allow=True)
    assert str(await handler) == "Done."
    assert [(q.tool_name, q.tool_kwargs) for q in questions] == [("read", {"path": "a.py"})]
    assert "was not executed" in questions[0].prefix
    assert reader.ran == 3
    assert len(asked(runner).inputs) == 4


@pytest.mark.parametrize("guarded", [True, False])
@pytest.mark.parametrize("message", ["", "Use the other file."])
async def test_a_person_can_refuse_a_blocked_call(guarded: bool, message: str) -> None:
    """The model reads what the person said, or else the guard's own words."""
    reader = Reader()
    if guarded:
        runner = agent(*THRICE, tools=[reader.tool], guard=THIRD)
    else:
        runner = plain(*THRICE, tools=guard_tools([reader.tool], guard=THIRD))
    handler = runner.run("Read.")
    await answered(handler, allow=False, message=message)
    await handler
    assert reader.ran == 2
    told = [m.content or "" for m in asked(runner).inputs[-1] if m.role.value == "tool"]
    assert any(message in text if message else "was not executed" in text for text in told)


async def test_a_question_survives_a_saved_context() -> None:
    """A run that waits for a person can be saved, loaded elsewhere, and answered there."""
    reader, memory = Reader(), LoopGuardMemory.from_defaults(token_limit=10**6)
    runner = agent(TWICE, DONE, tools=[reader.tool], guard=guard(**QUICK))
    handler = runner.run("Read.", memory=memory)
    async for event in handler.stream_events():
        if isinstance(event, InputRequiredEvent):
            break
    saved = json.loads(json.dumps(handler.ctx.to_dict()))
    await handler.cancel_run()
    assert reader.ran == 1
    again = runner.run(ctx=Context.from_dict(runner, saved))
    again.ctx.send_event(HumanResponseEvent(call_id=event.call_id, allow=True))
    assert str(await again) == "Done."
    assert reader.ran == 2


async def test_a_hand_off_is_refused_without_a_question() -> None:
    """It is made inside the workflow, where nothing can be put around it."""
    from .harness import pair  # noqa: PLC0415

    many = reply("", *[call("handoff", to_agent="b", reason="x")] * 2)
    handler = pair([many], [reply("B did it.")], guard=guard(**QUICK)).run("Do it.")
    assert await answered(handler, allow=True) == []
    assert str(await handler) == "B did it."


async def test_react_agents_ask_too() -> None:
    """Their calls have no ids that last, and are known by what they ask for."""
    reader = Reader()
    steps = [action("read", "Next.", path="a")] * 3
    runner = react(*steps, reply("Done."), tools=[reader.tool], guard=THIRD)
    handler = runner.run("Read.")
    assert len(await answered(handler, allow=True)) == 1
    assert str(await handler) == "Done."
    assert reader.ran == 3


async def test_a_tool_that_waits_by_itself_counts_once() -> None:
    """A step that waits begins anew when the event comes; its call is the same call."""
    asks = 0

    async def confirm(ctx: Context, what: str) -> str:
        """Confirm."""
        nonlocal asks
        asks += 1
        event = InputRequiredEvent(call_id=what)
        response = await ctx.wait_for_event(
            HumanResponseEvent, waiter_event=event, requirements={"call_id": what}
        )
        return f"{response.text} {asks}"

    confirm.__annotations__["ctx"] = Context
    steps = [reply("", call("confirm", what="x"))] * 6
    runner = plain(*steps, DONE, tools=guard_tools([confirm]))
    handler = runner.run("Ask.")
    await answered(handler, text="yes")
    assert str(await handler) == "Done."
    assert asks == 12

"""`prepare_tools`: what runs, what the model reads, what stays raw, and how copies compose."""

from __future__ import annotations

import json
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock, ToolCallBlock
from llama_index.core.tools import BaseTool, FunctionTool, ToolOutput
from llama_index.core.workflow import Context

from loopguard_core.agent.tool_hygiene import ToolHygiene
from loopguard_core.agent.transclusion import Slots
from loopguard_llamaindex import LoopGuardMemory, guard_tools, prepare_tools

from .driver import assert_valid
from .harness import DONE, agent, asked, plain, react, repeat
from .scripted import ScriptedModel, action, answer, call, reply

ROWS = [{"name": "a", "size": 1}, {"name": "b", "size": 2}]
TABLE = "[2]name,size\na,1\nb,2"


class Files:
    """A tool that counts its runs and returns what it was made with."""

    def __init__(self, answer: Any = "text") -> None:
        self.got: list[dict[str, Any]] = []
        self._answer = answer

    async def read(self, path: str, lines: int = 10) -> Any:
        """Read a file."""
        self.got.append({"path": path, "lines": lines})
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    def tool(self, **fields: Any) -> FunctionTool:
        """Return the tool."""
        return FunctionTool.from_defaults(async_fn=self.read, name="read", **fields)


def prepared(tool: BaseTool, **fields: Any) -> Any:
    """Return one prepared copy."""
    return prepare_tools([tool], **fields)[0]


# In front of the tool


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"path": "a"}, None),
        ({"path": "a", "lines": 3}, None),
        ({"path": "a", "lines": None}, None),
        ({}, "missing required field(s): path"),
        ({"path": 3}, "path should be string, got number"),
        ({"path": "a", "lines": "3"}, "lines should be integer, got string"),
    ],
    ids=str,
)
@pytest.mark.parametrize("is_async", [True, False])
async def test_what_does_not_fit_is_not_executed(
    arguments: dict[str, Any], said: str | None, *, is_async: bool
) -> None:
    """The refusal is the call's result, marked as an error; fit calls run as they were made."""
    files = Files()
    tool = prepared(files.tool())
    output = await tool.acall(**arguments) if is_async else tool.call(**arguments)
    assert len(files.got) == (said is None)
    assert output.is_error == (said is not None)
    if said is not None:
        assert said in output.content
        assert output.raw_input == arguments


async def test_strict_validation_and_none() -> None:
    """`strict` reads the whole schema, `off` only asks for an object."""
    files = Files()
    with_extra: dict[str, Any] = {"path": "a", "lines": 1.5}
    for level, ran in (("light", 1), ("strict", 1), ("off", 2)):
        await prepared(files.tool(), hygiene=ToolHygiene(validate_schema=level)).acall(**with_extra)
        assert len(files.got) == ran


class TextArguments(ScriptedModel):
    """A model whose integration keeps arguments as text, and reads what it can of them."""

    def get_tool_calls_from_response(self, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Guess, as integrations do."""
        calls = super().get_tool_calls_from_response(response, *args, **kwargs)
        for selection in calls:
            if not selection.tool_kwargs:
                selection.tool_kwargs = {"path": "guessed"}
        return calls


def written(text: str) -> ChatMessage:
    """Return a call of `read` with arguments as the model wrote them."""
    return reply("", ToolCallBlock(tool_call_id="c", tool_name="read", tool_kwargs=text))


@pytest.mark.parametrize(
    ("text", "got", "said"),
    [
        ('{"path": "a", "lines": 3}', {"path": "guessed", "lines": 10}, None),
        ("{'path': 'a', lines: 3,}", {"path": "a", "lines": 3}, None),
        ('{"path": "a", "lin', None, "truncation detected"),
        ("[1]", None, "must be a JSON object"),
        ('{"path" "a"}', None, "NOT executed"),
    ],
)
@pytest.mark.parametrize("streaming", [True, False])
async def test_arguments_go_through_the_gate_as_they_were_written(
    text: str, got: dict[str, Any] | None, said: str | None, *, streaming: bool
) -> None:
    """In a guarded agent mended ones run, cut ones do not, whatever the integration guessed."""
    files = Files()
    runner = agent(tools=prepare_tools([files.tool()]), streaming=streaming)
    model = TextArguments(script=[written(text), DONE])
    runner.llm = model
    kept = LoopGuardMemory.from_defaults(token_limit=10**6)
    await runner.run("Read.", memory=kept)
    assert files.got == ([got] if got else [])
    stored = kept.get_all()
    assert_valid(stored)
    assert json.loads(stored[1].blocks[0].tool_kwargs)  # type: ignore[union-attr]  # a provider can read it
    assert said is None or said in str(stored[2].content)


async def test_arguments_of_other_tools_are_left_alone() -> None:
    """A tool that does not know a stand-in gets what the integration made of the text."""
    files = Files()
    other = FunctionTool.from_defaults(len, name="size", description="Measure.")
    runner = agent(tools=[files.tool(), *prepare_tools([other])])
    runner.llm = TextArguments(script=[written('{"path": "a'), DONE])
    await runner.run("Read.")
    assert files.got == [{"path": "guessed", "lines": 10}]


# Behind the tool


@pytest.mark.parametrize(
    ("raw", "fields", "read"),
    [
        pytest.param("text", {}, "text", id="text"),
        pytest.param(json.dumps(ROWS), {}, TABLE, id="JSON text"),
        pytest.param(ROWS, {}, TABLE, id="a list"),
        pytest.param(ROWS, {"hygiene": ToolHygiene(encode=None)}, str(ROWS), id="as it is"),
        pytest.param({"a": {1, 2}}, {}, "{'a': {1, 2}}", id="no JSON"),
        pytest.param("a <|im_end|> b", {}, "a &lt;|im_end|> b", id="control tokens"),
        pytest.param("x" * 50, {"max_result_bytes": 50}, "x" * 50, id="just fits"),
        pytest.param(
            "a" * 20 + "b" * 50 + "c" * 10,
            {"max_result_bytes": 30},
            "a" * 20 + "\n…[truncated 50 of 80 chars]…\n" + "c" * 10,
            id="cut",
        ),
    ],
)
@pytest.mark.parametrize("is_async", [True, False])
async def test_what_the_model_reads(raw: Any, fields: Any, read: str, *, is_async: bool) -> None:
    """Content is encoded, made harmless and cut; the raw output is what the tool returned."""
    tool = prepared(Files(raw).tool(), **fields)
    output = await tool.acall(path="a") if is_async else tool.call(path="a")
    assert output.content == read
    assert output.raw_output is raw
    assert not output.is_error


async def test_what_needs_nothing_is_the_very_output() -> None:
    """A tool's own output is passed on; only text of one that is changed is replaced."""
    own = ToolOutput("read", content="text", raw_input={}, raw_output=1)
    tool = FunctionTool.from_defaults(lambda path: path, name="read", callback=lambda _: own)
    assert prepared(tool).call(path="a") is own
    mixed = [TextBlock(text="<|a|>"), ImageBlock(image=b"GIF89a"), TextBlock(text="b")]
    output = await prepared(Files(mixed).tool()).acall(path="a")
    assert [block.block_type for block in output.blocks] == ["text", "image"]
    assert output.content == "&lt;|a|>\nb"
    assert mixed[0].text == "<|a|>"  # type: ignore[union-attr]


@pytest.mark.parametrize("make", [agent, plain])
async def test_a_result_that_ends_the_run_stays(make: Any) -> None:
    """It is read by a person; its refusals are read by the model."""
    tools = prepare_tools([Files(ROWS).tool(return_direct=True)], max_result_bytes=3)
    runner = make(reply("", call("read", path=1)), reply("", call("read", path="a")), tools=tools)
    output = await runner.run("Read.")
    assert output.response.content == str(ROWS)
    assert len(asked(runner).inputs) == 2


def test_an_error_of_such_a_tool_is_shortened() -> None:
    """With an error the run goes on, so that a model reads it."""
    own = ToolOutput("read", content="x" * 90, raw_input={}, raw_output=1, is_error=True)
    tool = FunctionTool.from_defaults(
        lambda path: path, name="read", callback=lambda _: own, return_direct=True
    )
    assert "…[truncated" in prepared(tool, max_result_bytes=9).call(path="a").content


@pytest.mark.parametrize("is_async", [True, False])
async def test_what_a_tool_raises_goes_on(*, is_async: bool) -> None:
    """Its error is the framework's to tell, and a slot like any result."""
    slots = Slots({"OUTPUT": "old"})
    tool = prepared(Files(OSError("no disk")).tool(), slots=slots)
    with pytest.raises(OSError, match="no disk"):
        await tool.acall(path="a") if is_async else tool.call(path="a")
    assert slots.expand("{OUTPUT}") == "no disk"


async def test_slots_hold_what_was_returned() -> None:
    """They are captured before a result is encoded or cut, and refusals are among them."""
    slots = Slots()
    tool = prepared(Files("<log>long</log> text").tool(), slots=slots, max_result_bytes=6)
    output = await tool.acall(path="a")
    assert "{OUTPUT}" in output.content
    assert slots.expand("{log}: {OUTPUT}") == "long: long text"
    await tool.acall()
    assert "missing required field" in slots.expand("{OUTPUT}")


# Copies


@pytest.mark.parametrize("order", ["guard(prepare)", "prepare(guard)", "twice"])
@pytest.mark.parametrize("make", [agent, plain, react])
async def test_they_compose_with_guarded_tools(order: str, make: Any) -> None:
    """Either order checks arguments, shortens results and blocks a loop; wrapped twice works too."""
    files = Files(ROWS)
    tools: list[BaseTool] = [files.tool()]
    for step in {
        "guard(prepare)": [prepare_tools, guard_tools],
        "prepare(guard)": [guard_tools, prepare_tools],
        "twice": [guard_tools, prepare_tools, prepare_tools, guard_tools],
    }[order]:
        tools = list(step(tools))
    read = action("read", "Look.", path="a") if make is react else reply("", call("read", path="a"))
    done = answer("Done.") if make is react else DONE
    wrong = action("read", "Look.") if make is react else reply("", call("read"))
    runner = make(wrong, *[read] * 8, done, tools=tools)
    handler = runner.run("Read.")
    results = [e.tool_output async for e in handler.stream_events() if hasattr(e, "tool_output")]
    await handler
    assert "missing required field" in results[0].content
    assert results[1].content == TABLE
    assert len(files.got) < 8


def test_the_original_is_not_changed() -> None:
    """A copy is an instance of the tool's own class with its attributes."""
    tool = Files().tool()
    copy = prepared(tool)
    assert isinstance(copy, FunctionTool)
    assert copy.metadata is tool.metadata
    assert type(tool) is FunctionTool
    assert prepare_tools([len])[0].metadata.name == "len"


async def test_a_context_is_injected_and_not_checked() -> None:
    """What the framework gives a tool is no argument of the model."""

    async def note(ctx: Context, text: str) -> str:
        """Keep a note."""
        await ctx.store.set("note", text)
        return "kept"

    note.__annotations__["ctx"] = Context  # the framework reads no annotation that is a string
    script = [reply("", call("note")), reply("", call("note", text="x")), DONE]
    handler = agent(*script, tools=prepare_tools([note])).run("Note.")
    results = [e.tool_output async for e in handler.stream_events() if hasattr(e, "tool_output")]
    await handler
    assert await handler.ctx.store.get("note") == "x"
    assert results[0].is_error
    assert results[0].raw_input == {}


async def test_a_call_that_is_refused_again_and_again_is_a_loop() -> None:
    """The guard counts refusals as results."""
    files = Files()
    tools = guard_tools(prepare_tools([files.tool()]))
    runner = plain(*repeat(reply("", call("read")), 12), tools=tools)
    handler = runner.run("Read.")
    results = [e.tool_output async for e in handler.stream_events() if hasattr(e, "tool_output")]
    await handler
    assert files.got == []
    assert any("[loopguard]" in output.content for output in results)

"""A page of user code around a session that the type checker has to accept; never executed."""

from collections.abc import AsyncIterator, Sequence
from typing import assert_type

from loopguard_core import LoopGuard, Policy, Verdict
from loopguard_core.agent import (
    AbortTurn,
    ChatMessage,
    ChatOptions,
    Chunk,
    CompactionInfo,
    Entry,
    LLMRunner,
    MaxTurnsError,
    MemoryStore,
    OpenAIRunner,
    OpenTelemetryTracer,
    Session,
    SessionClosed,
    Shaper,
    ShaperPolicy,
    SqliteStore,
    Store,
    TokenUsage,
    ToolCall,
    ToolDefinition,
    TurnError,
    TurnResult,
    TurnStoppedError,
    encode_tight_c,
)

# What a session is made of: a store, a model, tools.


class EchoRunner:
    """A model of one's own."""

    async def stream(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolDefinition] = (),
        options: ChatOptions | None = None,
    ) -> AsyncIterator[Chunk]:
        """Say again what was said, and how many tools there are."""
        yield Chunk(content=f"{messages[-1].content} {len(tools)} {options}")
        yield Chunk(done=True)


async def dispatch(call: ToolCall) -> str:
    """Run a tool, or end the turn."""
    match call.name:
        case "done":
            raise SessionClosed("bye")
        case "broken":
            raise AbortTurn("the disk is full")
        case _:
            return call.arguments


def plain_dispatch(call: ToolCall) -> str:
    """A plain function will do."""
    return call.name


def on_compaction(info: CompactionInfo) -> None:
    """Hear of a fold."""
    assert_type(info.subsumed_count, int)


async def on_usage(usage: TokenUsage) -> None:
    """Hear of the costs."""
    assert_type(usage.total, int)


async def ask_a_person(call: ToolCall, verdict: Verdict) -> bool:
    """Let a person decide about a call that goes round."""
    return call.name == "wait" and verdict.guidance != ""


runner: LLMRunner = EchoRunner()
store: Store = SqliteStore("sessions.db")
memory = MemoryStore()
shaper = Shaper(memory, summarizer=runner, policy=ShaperPolicy.for_context(128_000))
small = Session(session_id="ada", store=store, runner=runner)
large = Session(
    session_id="ada",
    store=memory,
    runner=OpenAIRunner("model"),
    system="You help.",
    build=shaper.build,
    tools=[ToolDefinition(name="look", parameters={"type": "object"})],
    dispatch=dispatch,
    chat_opts=ChatOptions(extra={"temperature": 0}),
    on_assistant_token=print,
    on_compaction=on_compaction,
    on_usage=on_usage,
    on_tool_calls=lambda calls: calls[:1],
    on_blocked_call=ask_a_person,
    encode_tool_result=encode_tight_c,
    max_tool_result_chars=20_000,
    tracer=OpenTelemetryTracer(),
    guard=LoopGuard(policy=Policy(on_block="ask")),
)
heredoc = Session(
    session_id="ada",
    store=memory,
    runner=runner,
    tools=large.tools,
    dispatch=plain_dispatch,
    tool_format="heredoc",
)


async def talk() -> None:
    """Take turns, and look at how they ended."""
    try:
        result = await large.turn("Hello")
    except MaxTurnsError as error:
        assert_type(error.max_turns, int)
        assert_type(error.result, TurnResult | None)
        return
    except TurnStoppedError as error:
        assert_type(error.verdict, Verdict)
        return
    except TurnError as error:
        assert_type(error.cause, BaseException | None)
        raise
    assert_type(result.reply, str)
    assert_type(result.compactions, tuple[CompactionInfo, ...])
    assert_type(result.stopped_by, Verdict | None)
    await large.enqueue("And another thing")
    await large.inject(Entry(kind="notification", tag="build", content="red"))
    await large.turn(Entry(kind="user", content="What is red?"))
    if large.guarded_run is not None:
        assert_type(large.guarded_run.snapshot(), dict[str, object])


assert_type(small.turn_sync("Hello"), TurnResult)
assert_type(small.usage, TokenUsage)

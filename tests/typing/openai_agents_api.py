"""What a user of the Agents SDK writes; the type checker has to accept it. Never executed."""

# ruff: noqa: T201 - user code prints

from agents import (
    Agent,
    Model,
    RunConfig,
    Runner,
    RunResult,
    RunState,
    Session,
    SQLiteSession,
    Tool,
    TResponseInputItem,
    function_tool,
)

from loopguard_core import LoopDetected, LoopGuard, Policy
from loopguard_core.agent import ShaperPolicy, ToolHygiene
from loopguard_openai_agents import (
    AgentLoopDetected,
    ContextShaper,
    GuardedModel,
    LoopGuardHooks,
    ShapedSession,
    TrimmedSession,
    expanded_output,
    guard_agent,
    guarded_run,
    guarded_run_streamed,
    guarded_run_sync,
    halted_by,
    prepare_tools,
)

guard = LoopGuard(policy=Policy(on_block="ask"))


@function_tool
def search(query: str) -> str:
    """Search for something."""
    return query


async def one_run(agent: Agent[None], items: list[TResponseInputItem]) -> RunResult:
    """The shortest way in takes whatever the runner takes."""
    result = await guarded_run(agent, items, guard=guard, max_tokens=8_000, max_turns=30)
    if verdict := halted_by(result):
        print(verdict.reason)
    guarded_run_sync(agent, "Hello", run_config=RunConfig(tracing_disabled=True))
    async for event in guarded_run_streamed(agent, "Hello").stream_events():
        print(event.type)
    return result


async def asked(agent: Agent[None]) -> RunResult:
    """A guarded agent is saved and resumed by the SDK's own means."""
    guarded = guard_agent(agent, guard=guard)
    result = await Runner.run(guarded, "Hello")
    state: RunState[None] = result.to_state()
    for waiting in result.interruptions:
        state.approve(waiting)
    return await Runner.run(guarded, state)


async def with_hooks(agent: Agent[None], tools: list[Tool], model: Model) -> None:
    """Hooks make whatever works beside them."""
    hooks = LoopGuardHooks(guard=guard, max_tokens=8_000, pinned=lambda item: "pin" in item)
    agent = agent.clone(
        tools=hooks.guard_tools([*tools, search]),
        model=hooks.guard_model(model),
        tool_use_behavior=hooks.tool_use_behavior(agent.tool_use_behavior),
    )
    config = RunConfig(call_model_input_filter=hooks.trim_input, model=GuardedModel(model))
    session: Session = TrimmedSession(SQLiteSession("user"), max_tokens=8_000)
    try:
        await Runner.run(agent, "Hello", hooks=hooks, session=session, run_config=config)
    except AgentLoopDetected as stopped:
        print(stopped.verdict.reason, stopped.run_data)
    except LoopDetected as stopped:
        print(stopped.verdict.reason)
    print(len(hooks.runs))


async def shaped(agent: Agent[None], model: Model) -> None:
    """Long threads are shaped, their folds are stored, and tools get clean calls."""
    policy = ShaperPolicy.for_context(128_000, reserve_pct=20)
    shaper = ContextShaper(policy=policy, summarizer=model, transclude=True)
    session: Session = ShapedSession(SQLiteSession("user"), shaper=shaper)
    agent = agent.clone(tools=prepare_tools(agent.tools, hygiene=ToolHygiene()))
    config = RunConfig(call_model_input_filter=shaper)
    result = await Runner.run(agent, "Hello", session=session, run_config=config)
    print(expanded_output(result))

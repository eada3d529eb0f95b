"""Guarded agents: the whole guard in `take_step`, alone and inside an `AgentWorkflow`.

`take_step` is the one public method that both `agent.run` and `AgentWorkflow` call with the whole
input, whose exceptions end a run, and whose result decides which tools run, hand-offs included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from llama_index.core.agent.workflow import AgentOutput, FunctionAgent, ReActAgent, ToolCallResult
from llama_index.core.llms import MessageRole
from pydantic import Field
from typing_extensions import override

from loopguard_core import LoopGuard

from ._content import result_of
from ._convert import NeutralThread
from ._drafts import draft_of
from ._llm import GuardedLLM
from ._raw_arguments import with_gated_arguments
from ._reply import watching
from ._state import RunState, after_folding, load_same_step, load_step, save_state
from ._step import AgentStep
from ._tools import GuardedTool, guard_tools
from ._transclusion import Transcluding

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llama_index.core.agent.workflow.agent_context import AgentContext
    from llama_index.core.llms import ChatMessage
    from llama_index.core.memory import BaseMemory
    from llama_index.core.tools import AsyncBaseTool
    from llama_index.core.workflow import Context

    from ._reply import WatchedReply

__all__ = ["GuardedFunctionAgent", "GuardedReActAgent", "LoopGuardMixin"]

_OWN_NAMES: Final = frozenset(
    name for base in FunctionAgent.__mro__ for name in vars(base) if name.startswith("__")
)


class LoopGuardMixin(Transcluding):
    """Keeps an agent from going round; put it before the agent's own class.

        class MyAgent(LoopGuardMixin, FunctionAgent): ...

    Blocks single calls while their siblings run, hand-offs included, tells the model, cuts a
    reply that goes round while it streams, and ends the run in each of the three `on_halt` ways
    with a valid history in memory. What it tells the model is sent, never stored; the output of
    a stopped run has the reason as `output["loopguard"]`.

    State is kept in `ctx.store`, so a context that is saved, also in the middle of a run, goes on
    with the same verdicts. All guarded agents of a workflow share it. A call of `run` with a
    message is a new turn; a resumed run is not. With `on_block="ask"` a blocked call waits for a
    person: the run sends an `InputRequiredEvent`, see `guard_tools`; a hand-off and a tool of a
    retriever are refused instead. Agents that hand off to each other for the same reasons go
    round, unless they pass on new texts of 160 characters or more; with a new reason each time
    they do not, and `max_iterations` ends them.

    Args:
        guard: What to watch for and what to do about it.
        transclude: As in `Transcluding`.
    """

    guard: LoopGuard = Field(default_factory=LoopGuard, exclude=True)

    @override
    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Refuse a class whose own step would hide the guard's.

        Raises:
            TypeError: The mixin stands behind an agent's class, where it would guard nothing.
        """
        super().__init_subclass__(**kwargs)
        for base in cls.__mro__[: cls.__mro__.index(LoopGuardMixin)]:
            if "take_step" in vars(base) and not issubclass(base, LoopGuardMixin):
                raise TypeError(f"{cls.__name__}: put LoopGuardMixin before {base.__name__}")

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - the agent's own
        super().__init__(*args, **kwargs)
        self.llm = GuardedLLM.around(self.llm, self.guard)
        if self.tools and self.guard.policy.on_block == "ask":
            self.tools = [*guard_tools(self.tools, guard=self.guard)]

    @override
    def __dir__(self) -> Iterable[str]:
        """List the members, but not Python's and pydantic's own, such as `__class__`.

        A workflow looks at every member that is listed, five times a step, to find those that are
        steps (llama-index-workflows 2.26). Of an agent's two in five are of this kind, some warn
        when they are looked at, and none is a step.
        """
        return set(super().__dir__()) - _OWN_NAMES

    @override
    async def take_step(
        self,
        ctx: AgentContext,
        llm_input: list[ChatMessage],
        tools: Sequence[AsyncBaseTool],
        memory: BaseMemory,
    ) -> AgentOutput:
        """Make one step under guard; see `AgentStep.take`."""

        async def ask(reply: WatchedReply, offered: Sequence[AsyncBaseTool]) -> AgentOutput:
            if not isinstance(self.llm, GuardedLLM):  # it was exchanged
                self.llm = GuardedLLM.around(self.llm, self.guard)
            with watching(reply):
                output = await super(LoopGuardMixin, self).take_step(
                    ctx, [*llm_input], offered, memory
                )
            return with_gated_arguments(output, offered)

        workflow = cast("Context", ctx)  # what an agent is given in all that it runs in

        async def finalize(output: AgentOutput) -> AgentOutput:
            return await self.finalize(workflow, output, memory)

        state = await _state_of_run(ctx, llm_input, self.guard)
        step = AgentStep(
            name=self.name,
            policy=self.guard.policy,
            state=state,
            draft=draft_of(self, ctx.store),
            ctx=workflow,
            ask=ask,
            finalize=finalize,
            askable=_askable(tools, self.guard),
        )
        try:
            return await step.take(tools)
        finally:
            await save_state(ctx.store, state)

    @override
    async def handle_tool_call_results(
        self, ctx: Context, results: list[ToolCallResult], memory: BaseMemory
    ) -> None:
        """Keep the results for the next step, in the order of their calls."""
        await super().handle_tool_call_results(ctx, results, memory)  # type: ignore[safe-super]  # the agent's
        state = await load_same_step(ctx.store, self.guard)
        if state is None:
            return
        came = [(result.tool_id, result.tool_output) for result in results]
        for call in state.calls:
            place = next((i for i, (call_id, _) in enumerate(came) if call_id == call[0]), None)
            if place is not None:  # taken out, because ids may come twice
                _, output = came.pop(place)
                state.results.append([*call, result_of(output.blocks), output.is_error])
        await save_state(ctx.store, state)


class GuardedFunctionAgent(LoopGuardMixin, FunctionAgent):
    """A `FunctionAgent` with the whole guard; see `LoopGuardMixin`."""


class GuardedReActAgent(LoopGuardMixin, ReActAgent):
    """A `ReActAgent` with the whole guard; see `LoopGuardMixin`.

    Replies that it cannot parse are part of the run: a model that repeats one is told and stopped.
    """


def _askable(tools: Sequence[AsyncBaseTool], guard: LoopGuard) -> frozenset[str]:
    """Return the tools that can ask a person; a hand-off, which is made later, cannot."""
    if guard.policy.on_block != "ask":
        return frozenset()
    return frozenset(tool.metadata.get_name() for tool in tools if isinstance(tool, GuardedTool))


async def _state_of_run(
    ctx: AgentContext, llm_input: Sequence[ChatMessage], guard: LoopGuard
) -> RunState:
    """Return the run's state; a run that has made no step yet begins with a person's turn."""
    known, goes_on = await load_step(ctx.store, guard)
    if known is not None and goes_on:
        return known
    state = RunState(guard) if known is None else known
    thread = [message for message in llm_input if message.role != MessageRole.SYSTEM]
    history = NeutralThread(thread[:-1]) if known is None else ()
    state.begin_turn(history, NeutralThread(thread[-1:]))
    await after_folding(ctx.store, state)
    return state

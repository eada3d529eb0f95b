"""`LoopGuardHooks`: the guard as RunHooks, and the maker of everything that works beside it.

Plugs into `on_llm_start` and `on_llm_end`, which see every reply and, in the input, everything
that came back, and into `on_tool_end`, which sees results before a filter does. State lives beside
the run's usage object, weakly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents import RunHooks
from typing_extensions import override

from loopguard_core import Action, LoopGuard
from loopguard_core.errors import checked, checked_callable

from ._agents import AgentGuard
from ._ending import ToolsEnd
from ._given import tools_in
from ._halt import AgentLoopDetected
from ._model import GuardedModel
from ._returned import Returned
from ._table import RunTable
from ._tools import guarded_tool, is_approved
from ._trim import InputTrimmer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agents import Agent, Model, ModelResponse, RunContextWrapper, Tool, TResponseInputItem
    from agents.run_config import CallModelData, ModelInputData

    from loopguard_core.tokens import Estimator

    from ._ending import ToolUseBehavior
    from ._live import LiveRun

__all__ = ["LoopGuardHooks"]


class LoopGuardHooks(RunHooks[Any]):
    """Watches runs, and stops one that goes round by raising `AgentLoopDetected`.

        hooks = LoopGuardHooks(guard=guard)
        agent = hooks.guard_agent(agent)
        result = await Runner.run(agent, "...", hooks=hooks)

    By themselves hooks can only tell the model and raise. With tools of `guard_tools` single
    calls are blocked; with `guard_model`, or the `tool_use_behavior`, a run ends in the way that
    the policy's `on_halt` says. `guard_agent` does all of it. One object serves any number of
    runs at once.

    Args:
        guard: What to watch for and what to do about it; None is `LoopGuard()`.
        max_tokens: The budget of `trim_input`, at least 1; None trims nothing.
        estimate: Names the tokens of a message; None counts with tiktoken where its vocabulary
            is on the machine, else by characters.
        pinned: Says of an item whether trimming must keep it. It is asked about every item, so
            it costs a look at the whole history.

    Raises:
        InvalidInputError: *guard* is something else than a guard, or *estimate* or *pinned* cannot
            be called.
        pydantic.ValidationError: *max_tokens* cannot be used.
    """

    def __init__(
        self,
        *,
        guard: LoopGuard | None = None,
        max_tokens: int | None = None,
        estimate: Estimator | None = None,
        pinned: Callable[[TResponseInputItem], bool] | None = None,
    ) -> None:
        super().__init__()
        self.guard = checked("guard", guard, LoopGuard)
        checked_callable("estimate", estimate, optional=True)
        checked_callable("pinned", pinned, optional=True)
        self.runs = RunTable(self.guard)
        """The runs under way; what is kept of a run goes with its result."""
        self._models_are_guarded = False
        self._trimmer = (
            None
            if max_tokens is None
            else InputTrimmer(max_tokens=max_tokens, estimate=estimate, pinned=pinned)
        )

    @override
    async def on_llm_start(
        self,
        context: RunContextWrapper[Any],
        agent: Agent[Any],
        system_prompt: str | None,
        input_items: list[TResponseInputItem],
    ) -> None:
        live = self.runs.of(context)
        live.begin(input_items, lambda call: is_approved(context, call))
        live.shown, live.judged = input_items, False
        if self._models_are_guarded or isinstance(agent.model, GuardedModel):
            return  # the model observes and judges, because it can also act
        self._begin_step(live, input_items)
        # The SDK sends this very list and stores another one: what is added is sent, not stored.
        input_items[:] = live.with_notes(input_items)

    @override
    async def on_llm_end(
        self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse
    ) -> None:
        live = self.runs.of(context)
        shown, live.shown = live.shown, ()
        if live.judged:
            return
        self._begin_step(live, shown)
        judged = live.judge(response.output)
        if judged.halt is not None and not ToolsEnd.can_end(agent, response, self.guard.policy):
            raise AgentLoopDetected(judged.halt)

    @override
    async def on_tool_end(
        self, context: RunContextWrapper[Any], agent: Agent[Any], tool: Tool, result: Any
    ) -> None:
        call_id = Returned.call_id(context, tool)
        if call_id is not None:
            self.runs.calling(context, call_id).returned.keep(call_id, result)

    def guard_tools(self, tools: Sequence[Tool]) -> list[Tool]:
        """Return guarded copies of function tools, and all other tools as they are.

        A copy refuses blocked calls. In a run without these hooks it also tells the model, behind
        its results, that nothing new is coming back; it cannot end such a run.
        """
        return [guarded_tool(tool, self.runs) for tool in tools_in(tools)]

    def guard_model(self, model: Model) -> GuardedModel:
        """Return *model* guarded for runs with these hooks; use them with guarded models only."""
        self._models_are_guarded = True
        return GuardedModel(model, runs=self.runs)

    def guard_agent(self, agent: Agent[Any]) -> Agent[Any]:
        """Return a guarded copy of *agent* and of everything that it can hand off to.

        Its function tools, agents that are used as tools, and the tools of its MCP servers are
        guarded, and its model if it is an object and no name. The original is not changed.
        """
        return AgentGuard(self.runs).copy(agent)

    def tool_use_behavior(self, existing: ToolUseBehavior = "run_llm_again") -> ToolsEnd:
        """Return a `tool_use_behavior` that ends a stopped run, and else does what *existing* does.

        For agents whose model is not guarded: with `on_halt="end"` the run then ends after its
        tools, with a final output that says why, where the hooks alone would raise.
        """
        return ToolsEnd(self.runs, existing)

    def trim_input(self, data: CallModelData[Any]) -> ModelInputData:
        """Trim what a model is shown; for `RunConfig.call_model_input_filter`.

        Whole exchanges are left out, nothing that is stored is touched, and an input that only
        continues a conversation that the server keeps is passed on as it is. No more is read than
        what is kept, so a compaction stays where it stands at the head, and elsewhere until its
        turn comes as for any message; `TrimmedSession` finds it, and so does `pinned`.
        """
        return data.model_data if self._trimmer is None else self._trimmer.trim(data)

    def _begin_step(self, live: LiveRun, items: Sequence[object]) -> None:
        verdict = live.begin_step(items)
        if verdict.action is Action.HALT:
            raise AgentLoopDetected(verdict)

"""The shortest ways in: one guarded run, and one guarded agent.

`guarded_run` and its twins put guarded tools, guarded models and the trimming filter around one
run. Everything else that the SDK's runner takes is passed on as it is.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agents import Agent, Model, ModelProvider, RunConfig, Runner, RunState
from agents.run_config import CallModelData, ModelInputData
from typing_extensions import override

from loopguard_core.errors import InvalidInputError, checked

from ._agents import AgentGuard
from ._hooks import LoopGuardHooks

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents import RunResult, RunResultStreaming, TResponseInputItem

    from loopguard_core import LoopGuard

__all__ = ["guard_agent", "guarded_run", "guarded_run_streamed", "guarded_run_sync"]


def guard_agent(agent: Agent[Any], *, guard: LoopGuard | None = None) -> Agent[Any]:
    """Return a guarded copy of *agent* and of everything that it can hand off to.

    The copy is guarded wherever it runs, without hooks of the run. It is the agent to give to
    `RunState.from_json` when a saved run is resumed. A run whose agent has its model as an object
    ends in each of the three `on_halt` ways. Where the model has only a name, `end` works after
    calls of function tools if the output type is text, and everything else raises; `guarded_run`
    and a model that is an object do without that limit.

    An agent that is used as a tool hides its agent: calls of the tool are guarded, and what runs
    inside if it was made from a guarded agent, as in `guard_agent(inner).as_tool(...)`. An agent
    that is guarded already, such as the `last_agent` of a guarded run, is guarded anew, not twice.

    Args:
        agent: The agent; it is not changed.
        guard: What to watch for and what to do about it; None is `LoopGuard()`.

    Raises:
        InvalidInputError: *guard* or *agent* is something else.
    """
    hooks = LoopGuardHooks(guard=guard)
    return AgentGuard(hooks.runs, hooks=hooks).copy(agent)


async def guarded_run(
    agent: Agent[Any],
    input: str | list[TResponseInputItem],  # noqa: A002 - the runner's own name for it
    *,
    guard: LoopGuard | None = None,
    max_tokens: int | None = None,
    run_config: RunConfig | None = None,
    **options: Any,  # noqa: ANN401 - the runner's own
) -> RunResult:
    """Run *agent* guarded: as `Runner.run`, but the run does not go round.

    Args:
        agent: The first agent; neither it nor what it hands off to is changed. One that is
            guarded already, such as the `last_agent` of the run before, is guarded anew.
        input: What to begin with. A saved run is resumed with `guard_agent` and the SDK's runner.
        guard: What to watch for and what to do about it; None is `LoopGuard()`.
        max_tokens: The budget for what a model is shown; None trims nothing.
        run_config: As for the runner.
        **options: Whatever else `Runner.run` takes.

    Returns:
        The runner's result; `halted_by` says whether and why the run was stopped.

    Raises:
        AgentLoopDetected: The policy says `on_halt="raise"`, or the agent's output type is not
            text and its model's last answer is no value of it.
        InvalidInputError: *input* is a saved run, or another argument cannot be used.
    """
    agent, run_config = _guarded(agent, input, guard, max_tokens, run_config)
    return await Runner.run(agent, input, run_config=run_config, **options)


def guarded_run_sync(
    agent: Agent[Any],
    input: str | list[TResponseInputItem],  # noqa: A002 - the runner's own name for it
    *,
    guard: LoopGuard | None = None,
    max_tokens: int | None = None,
    run_config: RunConfig | None = None,
    **options: Any,  # noqa: ANN401 - the runner's own
) -> RunResult:
    """Do what `guarded_run` does, as `Runner.run_sync`."""
    agent, run_config = _guarded(agent, input, guard, max_tokens, run_config)
    return Runner.run_sync(agent, input, run_config=run_config, **options)


def guarded_run_streamed(
    agent: Agent[Any],
    input: str | list[TResponseInputItem],  # noqa: A002 - the runner's own name for it
    *,
    guard: LoopGuard | None = None,
    max_tokens: int | None = None,
    run_config: RunConfig | None = None,
    **options: Any,  # noqa: ANN401 - the runner's own
) -> RunResultStreaming:
    """Do what `guarded_run` does, as `Runner.run_streamed`; what raises, raises while streaming."""
    agent, run_config = _guarded(agent, input, guard, max_tokens, run_config)
    return Runner.run_streamed(agent, input, run_config=run_config, **options)


def _guarded(
    agent: Agent[Any],
    given: object,
    guard: LoopGuard | None,
    max_tokens: int | None,
    run_config: RunConfig | None,
) -> tuple[Agent[Any], RunConfig]:
    if isinstance(given, RunState):
        raise InvalidInputError("input", given, "text or items; resume with guard_agent and Runner")
    hooks = LoopGuardHooks(guard=guard, max_tokens=max_tokens)
    config = checked("run_config", run_config, RunConfig)
    changes: dict[str, Any] = {
        "model_provider": _GuardedProvider(config.model_provider, hooks.guard_model)
    }
    if isinstance(config.model, Model):
        changes["model"] = hooks.guard_model(config.model)
    if max_tokens is not None:
        changes["call_model_input_filter"] = _trimming(config, hooks)
    copied = AgentGuard(hooks.runs, hooks=hooks, all_models=True).copy(agent)
    return copied, replace(config, **changes)


class _GuardedProvider(ModelProvider):
    """Finds models by name, and guards them."""

    def __init__(self, provider: ModelProvider, guard_model: Callable[[Model], Model]) -> None:
        self._provider = provider
        self._guard_model = guard_model

    @override
    def get_model(self, model_name: str | None) -> Model:
        return self._guard_model(self._provider.get_model(model_name))

    @override
    async def aclose(self) -> None:
        await self._provider.aclose()


def _trimming(config: RunConfig, hooks: LoopGuardHooks) -> Any:  # noqa: ANN401 - the SDK's type
    """Return a filter that trims what is left of the input by the filter that *config* has."""
    own = config.call_model_input_filter
    if own is None:
        return hooks.trim_input

    async def filtered(data: CallModelData[Any]) -> ModelInputData:
        given = own(data)
        edited = await given if inspect.isawaitable(given) else given
        return hooks.trim_input(CallModelData(edited, data.agent, data.context))

    return filtered

"""The run that a tool call belongs to, and what that run says before and after the call.

Found through the step that runs: in a workflow the state is in its `ctx.store`, kept by a guarded
agent or, without one, by the tools themselves; elsewhere the tools share one run.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Protocol

from llama_index.core.workflow import Context
from llama_index_instrumentation.dispatcher import active_instrument_tags
from workflows.errors import WorkflowRuntimeError

from loopguard_core import Action, Message, Verdict
from loopguard_core.guard.guidance import nudge_text

from ._asking import ask_person, question_id
from ._content import result_of
from ._log import kept
from ._reply import with_note
from ._state import RunState, after_folding, keeper_in, load_state, save_state

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llama_index.core.tools import ToolOutput
    from workflows.context.state_store import StateStore

    from loopguard_core import LoopGuard

__all__ = ["RunByHand", "ToolRun", "store_underway", "tool_run_underway"]

Arguments = dict[str, Any]


class ToolRun(Protocol):
    """What a run says about one call of a tool."""

    async def refuses(self, name: str, arguments: Arguments) -> str | None:
        """Return what the model is told in the place of a result; None if the call may run."""
        ...

    async def observe(self, name: str, arguments: Arguments, output: ToolOutput) -> ToolOutput:
        """Take the result; return it with what there is to say about it."""
        ...

    async def fail(self, name: str, arguments: Arguments, error: Exception) -> None:
        """Take an error, which goes on to whoever called the tool."""
        ...

    async def wait(self, name: str, arguments: Arguments) -> None:
        """Take note that the tool waits for an event, and will begin anew when it comes."""
        ...


class RunByHand:
    """The run of tools that are called outside a workflow, from any thread."""

    def __init__(self, guard: LoopGuard) -> None:
        self._state = RunState(guard)
        self._lock = threading.Lock()

    def refuses_now(self, name: str, arguments: Arguments) -> str | None:
        """Do what `refuses` does, without a loop."""
        with self._lock:
            verdict = _check(self._state, name, arguments)
        return verdict.guidance if verdict.action >= Action.BLOCK else None

    def observe_now(self, name: str, arguments: Arguments, output: ToolOutput) -> ToolOutput:
        """Do what `observe` does, without a loop."""
        with self._lock:
            return _observed(self._state, name, arguments, output)

    def fail_now(self, name: str, arguments: Arguments, error: Exception) -> None:
        """Do what `fail` does, without a loop."""
        with self._lock:
            _observe(self._state, name, arguments, str(error), is_error=True)

    async def refuses(self, name: str, arguments: Arguments) -> str | None:
        return self.refuses_now(name, arguments)

    async def observe(self, name: str, arguments: Arguments, output: ToolOutput) -> ToolOutput:
        return self.observe_now(name, arguments, output)

    async def fail(self, name: str, arguments: Arguments, error: Exception) -> None:
        self.fail_now(name, arguments, error)

    async def wait(self, name: str, arguments: Arguments) -> None:
        """Do nothing: outside a workflow no tool waits."""


class _RunOfTools:
    """A run of an agent that is not guarded; nobody but the tools judges its calls."""

    def __init__(self, store: StateStore[Any], state: RunState, *, asks: bool) -> None:
        self._store = store
        self._state = state
        self._asks = asks

    async def refuses(self, name: str, arguments: Arguments) -> str | None:
        state, question = self._state, question_id(name, arguments)
        why = state.waiting.pop(question, None)
        if why is None:
            verdict = _check(state, name, arguments)
            if verdict.action is Action.HALT:
                state.halted = verdict
            why = verdict.guidance if verdict.action >= Action.BLOCK else ""
            if why and self._asks and verdict.action is Action.BLOCK:
                state.waiting[question] = why
            await save_state(self._store, state)
        elif why:
            state.waiting[question] = why  # until the person's answer is there
        if question not in state.waiting:
            return why or None
        refused = await ask_person(name, arguments, why)
        del state.waiting[question]
        if refused is None:
            state.run.allow_call(name, arguments)
            state.run.check_call(name, arguments)
        await save_state(self._store, state)
        return refused

    async def observe(self, name: str, arguments: Arguments, output: ToolOutput) -> ToolOutput:
        output = _observed(self._state, name, arguments, output)
        await save_state(self._store, self._state)
        return output

    async def fail(self, name: str, arguments: Arguments, error: Exception) -> None:
        _observe(self._state, name, arguments, str(error), is_error=True)
        await save_state(self._store, self._state)

    async def wait(self, name: str, arguments: Arguments) -> None:
        self._state.waiting[question_id(name, arguments)] = ""
        await save_state(self._store, self._state)


class _RunOfAgent:
    """A run of a guarded agent, which judges everything itself; what is left is to ask."""

    def __init__(self, store: StateStore[Any], state: RunState | None) -> None:
        self._store = store
        self._state = state

    async def refuses(self, name: str, arguments: Arguments) -> str | None:
        state = self._state
        if state is None or not state.blocked:
            return None
        question = question_id(name, arguments)
        if question not in state.blocked or question in state.allowed:
            return None
        if state.free.get(question, 0):
            state.free[question] -= 1
            refused = None
        else:
            refused = await ask_person(name, arguments, state.blocked[question])
            if refused is None:
                state.allowed.append(question)
        await save_state(self._store, state)
        return refused

    async def observe(self, name: str, arguments: Arguments, output: ToolOutput) -> ToolOutput:
        del name, arguments  # the agent sees the result in its own step
        return output

    async def fail(self, name: str, arguments: Arguments, error: Exception) -> None:
        """Leave it to the agent."""

    async def wait(self, name: str, arguments: Arguments) -> None:
        """Leave it to the agent."""


def store_underway() -> StateStore[Any] | None:
    """Return the store of the workflow whose step runs here; None outside of one."""
    try:
        return Context.get_step_context().store
    except WorkflowRuntimeError:
        return None


async def tool_run_underway(by_hand: RunByHand, guard: LoopGuard) -> ToolRun:
    """Return the run that a call here belongs to.

    Args:
        by_hand: The run of calls outside a workflow.
        guard: What is watched for.
    """
    store = store_underway()
    if store is None:
        return by_hand
    asks = guard.policy.on_block == "ask"
    if await keeper_in(store) == "agent":
        state = await load_state(store, guard, keeper="agent") if asks else None
        return _RunOfAgent(store, state)
    return _RunOfTools(store, await _state_of_turn(store, guard), asks=asks)


async def _state_of_turn(store: StateStore[Any], guard: LoopGuard) -> RunState:
    """Return the state that tools keep.

    A person spoke if another run counts its steps from the beginning; a run that was saved and
    resumed counts on.
    """
    state = await load_state(store, guard, keeper="tools")
    run_id = active_instrument_tags.get().get("llamaindex.run_id")
    steps = await store.get("num_iterations", default=0)
    known = state.turn if state is not None else None
    if state is None or known is None:
        state = RunState(guard)
        await after_folding(store, state)
    elif known["run"] != run_id and steps <= known["steps"] and not state.waiting:
        state.begin_turn((), ())
        await after_folding(store, state)
    state.turn = {"run": run_id, "steps": steps}
    await save_state(store, state)
    return state


def _check(state: RunState, name: str, arguments: Mapping[str, Any]) -> Verdict:
    state.log.add(Message.tool_request(name, arguments))
    verdict = state.run.check_call(name, arguments)
    if verdict.action >= Action.BLOCK:
        answer = Message.tool_response(name, arguments, verdict.guidance, is_error=True)
        state.log.add(answer)
    return verdict


def _observe(
    state: RunState, name: str, arguments: Mapping[str, Any], result: object, *, is_error: bool
) -> Verdict:
    state.log.add(Message.tool_response(name, arguments, kept(result), is_error=is_error))
    verdict = state.run.observe_result(name, arguments, result, is_error=is_error)
    if verdict.action is Action.HALT:
        state.halted = verdict
    return verdict


def _observed(
    state: RunState, name: str, arguments: Mapping[str, Any], output: ToolOutput
) -> ToolOutput:
    result = result_of(output.blocks)
    verdict = _observe(state, name, arguments, result, is_error=output.is_error)
    note = verdict.guidance
    if verdict.action is Action.HALT:  # the call ran, so the guidance of a block is wrong here
        note = nudge_text(verdict.findings)
    return output.model_copy(update={"blocks": with_note(output.blocks, note)}) if note else output

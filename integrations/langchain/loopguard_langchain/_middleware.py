"""`LoopGuardMiddleware`: the whole guard for `create_agent`.

Plugs into `wrap_model_call`, which costs no super-step of the user's recursion limit: it sees the
results of the last batch, the thread and the reply, and what it returns can answer calls and end
the run (langchain 1.2.18 to 1.5.2). `before_agent` notices a new turn. State is private graph state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
)
from typing_extensions import override

from loopguard_core import GuardedRun, LoopGuard

from ._asking import AsksAboutBlocks
from ._convert import NeutralThread
from ._state import GuardedState, newest_person, record_in, record_of
from ._step import ModelStep, Said
from ._streaming import CutReply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from langgraph.runtime import Runtime

__all__ = ["LoopGuardMiddleware"]


class LoopGuardMiddleware(AgentMiddleware[GuardedState, Any, Any]):
    """Keeps an agent of `create_agent` from going round.

    Blocks single calls of a batch while their siblings run, tells the model, cuts a reply that
    goes round while it streams (also under `invoke`), and ends the run in each of the three
    `on_halt` ways with every open call answered. What it tells the model is sent, never stored;
    the last message of a stopped run has the reason in `response_metadata["loopguard"]`.

    With a checkpointer, counts go on over an interrupt, a crash or a resumed run; a new message
    of the person is a new turn. `on_block="ask"` interrupts the run and so needs a checkpointer.
    Place it before middleware that edits the history. One agent takes one of it.

    Args:
        guard: What to watch for and what to do about it.
    """

    state_schema = GuardedState

    def __new__(cls, *, guard: LoopGuard = LoopGuard(), **_: object) -> Self:  # noqa: B008 - frozen
        """Add the hook that asks a person only where the policy asks: it costs super-steps."""
        if guard.policy.on_block == "ask" and not issubclass(cls, AsksAboutBlocks):
            cls = type(cls.__name__, (AsksAboutBlocks, cls), {})  # noqa: PLW0642 - see above
        return super().__new__(cls)

    def __init__(self, *, guard: LoopGuard = LoopGuard()) -> None:  # noqa: B008 - frozen
        super().__init__()
        self.guard = guard

    @property
    @override
    def name(self) -> str:
        """One name for every subclass, so that `create_agent` refuses two guards in one agent."""
        return "LoopGuardMiddleware"

    @override
    def before_agent(self, state: GuardedState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        messages = state["messages"]
        record = record_in(state)
        place = newest_person(messages)
        turn = messages[place].id if place is not None else None
        if record is not None and record["turn"] == turn:
            return None  # nobody spoke since: the run goes on
        run = self._run(state)
        run.begin_turn(NeutralThread(messages[:place]))
        return {"loopguard": record_of(run, turn)}

    @override
    async def abefore_agent(
        self, state: GuardedState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        return self.before_agent(state, runtime)

    @override
    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ExtendedModelResponse[Any]:
        steps = self._step(request).steps()
        try:
            asked = next(steps)
            while True:
                try:
                    said: Said = handler(asked)
                except CutReply as cut:
                    said = cut
                asked = steps.send(said)
        except StopIteration as done:
            response: ExtendedModelResponse[Any] = done.value
            return response

    @override
    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ExtendedModelResponse[Any]:
        steps = self._step(request).steps()
        try:
            asked = next(steps)
            while True:
                try:
                    said: Said = await handler(asked)
                except CutReply as cut:
                    said = cut
                asked = steps.send(said)
        except StopIteration as done:
            response: ExtendedModelResponse[Any] = done.value
            return response

    def _step(self, request: ModelRequest[Any]) -> ModelStep:
        record = record_in(request.state)
        turn = record["turn"] if record else None
        return ModelStep(self.guard.policy, self._run(request.state), turn, request)

    def _run(self, state: AgentState[Any]) -> GuardedRun:
        record = record_in(state)
        return self.guard.resume(record["run"]) if record else self.guard.start_run()

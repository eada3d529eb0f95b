"""`LoopGuardMiddleware`: the whole guard for `create_agent`.

Plugs into `wrap_model_call`, which costs no super-step of the user's recursion limit: it sees the
results of the last batch, the thread and the reply, and what it returns can answer calls and end
the run (langchain 1.2.18 to 1.5.2). `before_agent` notices a new turn. State is private graph state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import (
    AgentMiddleware,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
)
from langchain.agents.structured_output import StructuredOutputError
from typing_extensions import override

from loopguard_core import GuardedRun, LoopGuard
from loopguard_core.errors import checked

from ._asking import asking
from ._batch import head_of, newest_person
from ._convert import NeutralThread
from ._state import GuardedState, going_on, record_in
from ._step import ModelStep
from ._streaming import CutReply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from langgraph.runtime import Runtime

    from ._state import GuardRecord

__all__ = ["LoopGuardMiddleware"]


class LoopGuardMiddleware(AgentMiddleware[GuardedState, Any, Any]):
    """Keeps an agent of `create_agent` from going round.

    Blocks single calls of a batch while their siblings run, tells the model, cuts a reply that
    goes round while it streams (also under `invoke`), and ends the run in each of the three
    `on_halt` ways with every open call answered. What it tells the model is sent, never stored;
    the last message of a stopped run has the reason in `response_metadata["loopguard"]`.

    * With a checkpointer, counts go on over an interrupt, a crash or a resumed run; a new message
      of the person is a new turn. Without one, each invocation stands alone.
    * `on_block="ask"` interrupts the run with a request in the form of LangChain's
      `HumanInTheLoopMiddleware`, to be answered by approve or reject. It needs a checkpointer:
      without one, the interrupt is where the run ends.
    * A model streams under `invoke` too, unless its `streaming` or `disable_streaming` says
      otherwise; a reply that does not stream is judged when it is complete. Providers that
      report no token usage for streams then report none.
    * Where something goes on after the guard ended the run, such as a hook of other middleware
      that jumps back to the model, `LoopDetected` is raised, whatever `on_halt` says.

    Put it before middleware that edits the history, retries, or asks a person. An agent takes
    one: `create_agent` refuses a second, also of a subclass, as a duplicate.

    Args:
        guard: What to watch for and what to do about it; None is `LoopGuard()`.
    """

    state_schema = GuardedState

    def __init__(self, *, guard: LoopGuard | None = None) -> None:
        super().__init__()
        self.guard = checked("guard", guard, LoopGuard)
        if self.guard.policy.on_block == "ask":
            # create_agent looks for hooks on the class, and pays for each with a super-step.
            self.__class__ = asking(type(self))

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
        if record is not None and (turn is None or turn == record["turn"]):
            # Nobody spoke. A run that was ended goes on, as whoever started it again wants it to.
            return {"loopguard": going_on(record)} if "halted" in record else None
        run = self._run(record)
        run.begin_turn(NeutralThread(messages[:place]))
        began = {"run": run.snapshot(), "turn": turn, "head": head_of(state)}
        return {"loopguard": began}

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
                    said = handler(asked)
                except (CutReply, StructuredOutputError) as error:
                    asked = steps.throw(error)
                else:
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
                    said = await handler(asked)
                except (CutReply, StructuredOutputError) as error:
                    asked = steps.throw(error)
                else:
                    asked = steps.send(said)
        except StopIteration as done:
            response: ExtendedModelResponse[Any] = done.value
            return response

    def _step(self, request: ModelRequest[Any]) -> ModelStep:
        record = record_in(request.state)
        return ModelStep(self.guard.policy, self._run(record), record, request)

    def _run(self, record: GuardRecord | None) -> GuardedRun:
        return self.guard.resume(record["run"]) if record else self.guard.start_run()

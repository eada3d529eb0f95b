"""`GuardedModel`: any model, whose replies are watched and whose runs can end gracefully.

Plugs into the `Model` interface, which sees every input and every reply of a run, hand-offs and
hosted tools included, in every mode. It keeps nothing of its own.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from agents import ItemHelpers, Model
from typing_extensions import override

from loopguard_core import InvalidInputError, LoopGuard
from loopguard_core.errors import checked

from ._live import LiveRun
from ._request import Request
from ._said import ReplyReader
from ._step import ModelStep
from ._streaming import StreamReader
from ._table import RunTable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from agents import ModelResponse, ModelSettings, ModelTracing, Tool, TResponseInputItem
    from agents.agent_output import AgentOutputSchemaBase
    from agents.handoffs import Handoff
    from agents.items import TResponseStreamEvent
    from agents.retry import ModelRetryAdvice, ModelRetryAdviceRequest
    from openai.types.responses.response_prompt_param import ResponsePromptParam

    from ._final import Final
    from ._step import Steps

__all__ = ["GuardedModel"]

_LAST_ARGUMENTS = ("previous_response_id", "conversation_id", "prompt")


class GuardedModel(Model):
    """A model that does not go round.

    A streamed reply that does (text, reasoning, arguments of a call) is cut, finished as a
    response has to be, and the model is asked again; a reply that does not stream is read when it
    is complete. A run that has to end does so in the way that `on_halt` says, wherever the verdict
    comes from. In two cases `on_halt="end"` does what "answer" does: with an `output_type` other
    than text, because no value can be made up, and where the server keeps the conversation,
    because the server refuses one with open calls. Where the model's last answer is no value of
    the output type, `AgentLoopDetected` is raised.

    By itself it reads the run's state from each input anew, and cannot refuse single calls of
    function tools beside others. Hooks make one that works together with them, see
    `LoopGuardHooks.guard_model`.

    Args:
        model: The model to ask.
        guard: What to watch for and what to do about it; None is `LoopGuard()`.
        runs: The runs that hooks know of; None without hooks.

    Raises:
        InvalidInputError: An argument that cannot be used, by its name.
    """

    def __init__(
        self,
        model: Model,
        *,
        guard: LoopGuard | None = None,
        runs: RunTable | None = None,
    ) -> None:
        if not isinstance(model, Model):
            raise InvalidInputError("model", model, "a Model of the SDK")
        if not (runs is None or isinstance(runs, RunTable)):
            raise InvalidInputError("runs", runs, "the runs of LoopGuardHooks or None")
        self._model = model
        self._runs = RunTable(checked("guard", guard, LoopGuard)) if runs is None else runs

    @staticmethod
    def without(model: Model) -> Model:
        """Return the model that a guarded one asks; any other as it is."""
        return model._model if isinstance(model, GuardedModel) else model  # noqa: SLF001 - its own class

    @override
    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff[Any, Any]],
        tracing: ModelTracing,
        *,
        previous_response_id: str | None,
        conversation_id: str | None,
        prompt: ResponsePromptParam | None,
    ) -> ModelResponse:
        steps = self._steps(
            Request(
                system_instructions,
                _items(input),
                model_settings,
                tools,
                output_schema,
                handoffs,
                tracing,
                previous_response_id,
                conversation_id,
                prompt,
            )
        )
        try:
            asked = next(steps)
            while True:
                said = await self._model.get_response(**asked.request.keywords())
                asked = steps.send(ReplyReader(asked.watch).whole(said))
        except StopIteration as done:
            final: Final = done.value
            return final.response()

    @override
    async def stream_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff[Any, Any]],
        tracing: ModelTracing,
        *,
        previous_response_id: str | None,
        conversation_id: str | None,
        prompt: ResponsePromptParam | None,
    ) -> AsyncIterator[TResponseStreamEvent]:
        steps = self._steps(
            Request(
                system_instructions,
                _items(input),
                model_settings,
                tools,
                output_schema,
                handoffs,
                tracing,
                previous_response_id,
                conversation_id,
                prompt,
            )
        )
        reader = None
        try:
            asked = next(steps)
            while True:
                reader = StreamReader(asked.watch)
                async with aclosing(reader.events(self._stream(asked.request))) as events:
                    async for event in events:
                        yield event
                if reader.said is None:
                    return  # it failed, and the events have said so
                asked = steps.send(reader.said)
        except StopIteration as done:
            final: Final = done.value
            if final.as_it_came and reader is not None and reader.last is not None:
                yield reader.last
                return
            for event in final.events(previous_response_id or ""):
                yield event

    @override
    async def close(self) -> None:
        await self._model.close()

    @override
    def get_retry_advice(self, request: ModelRetryAdviceRequest) -> ModelRetryAdvice | None:
        return self._model.get_retry_advice(request)

    @override
    async def _cleanup_on_run_end(self, owner: object) -> None:
        await self._model._cleanup_on_run_end(owner)  # noqa: SLF001 - part of the interface

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the model has
        """Return what else the model has, such as its name."""
        if name == "_model":  # a copy that is being made has nothing yet
            raise AttributeError(name)
        return getattr(self._model, name)

    def _steps(self, request: Request) -> Steps:
        live = self._runs.shown(request.input)
        if live is None:  # nobody watches this run from outside, so its input is all there is
            live = LiveRun(self._runs.guard)
            live.begin(request.input, lambda _call: False)
        return ModelStep(live, request).steps()

    def _stream(self, request: Request) -> AsyncIterator[TResponseStreamEvent]:
        """Ask the model as the SDK does: its own arguments by position."""
        given = request.keywords()
        last = {name: given.pop(name) for name in _LAST_ARGUMENTS}
        return self._model.stream_response(*given.values(), **last)


def _items(given: str | list[TResponseInputItem]) -> list[TResponseInputItem]:
    return ItemHelpers.input_to_new_input_list(given) if isinstance(given, str) else given

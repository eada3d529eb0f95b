"""`ContextShaper`: what an agent's model is sent of a long thread."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse, ModelRequest
from langchain_core.runnables import Runnable
from typing_extensions import override

from loopguard_core import InvalidInputError
from loopguard_core.agent.budget import CharsByFour
from loopguard_core.agent.thread_shaping import SummaryBreaker, ThreadShaper
from loopguard_core.errors import checked_callable, checked_flag

from ._folds import ShapedState, asummary, summary_of
from ._shaped_call import ShapedCall
from ._slots import expanding

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from langchain.agents.middleware import ModelResponse

    from loopguard_core.agent import ShaperPolicy, TokenEstimator
    from loopguard_core.agent.thread_shaping import FoldRecord

    from ._folds import Summarizer

__all__ = ["ContextShaper"]

_LOGGER: Final = logging.getLogger("loopguard")


class ContextShaper(AgentMiddleware[ShapedState, Any, Any]):
    """Keeps what a model is sent inside its context window, without losing what was said.

        shaper = ContextShaper(policy=ShaperPolicy.for_context(128_000), summarizer=model)
        agent = create_agent(model, tools, middleware=[LoopGuardMiddleware(), shaper])

    For each model call long results before the newest messages are sent as stubs, control tokens in
    results are made harmless, and calls and results are brought together; what is stored stays as
    it is, and what is not cut short is sent as the very same object. Where that is not enough, the
    oldest part is folded: a summary takes its place in the thread for good, and the fold is
    recorded in the state. Pinned messages (`additional_kwargs={"loopguard_pinned": True}`) and the
    newest message of a person are never folded.

    A fold that fails is logged and the call made without it. A thread that cannot be brought into
    its budget is sent as short as it gets, which is logged once. Put it behind
    `LoopGuardMiddleware`, whose detectors then see the whole thread; a fold is told to them as a
    compaction. An agent that is a node of a graph and shares `messages` with it must not fold:
    LangGraph takes nothing out of a parent's thread, where the summary would replace one message.

    Args:
        policy: The limits; see `ShaperPolicy.for_context`.
        summarizer: A chat model or another Runnable that takes messages, or a callable that answers
            a prompt; None never folds. The tokens of a Runnable are not among those that
            `stream_mode="messages"` shows.
        max_result_bytes: Bytes of one result that are sent; the rest is cut out of its middle. 0 is
            no limit.
        transclude: True teaches the model to write `{OUTPUT}` for the newest result of a turn and
            `{name}` for a section of one. `expanded_reply` in the final state is the last message
            with them replaced, whoever wrote it; the stored message keeps them. It costs one
            super-step of a run.
        on_fold: Called with the record of each fold.
        estimate: Prices one text.

    Raises:
        InvalidInputError: An argument that cannot be used, by its name.
    """

    state_schema = ShapedState

    def __init__(  # noqa: PLR0913 - keyword-only options, each with a default
        self,
        *,
        policy: ShaperPolicy,
        summarizer: Summarizer | None = None,
        max_result_bytes: int = 0,
        transclude: bool = False,
        on_fold: Callable[[FoldRecord], None] | None = None,
        estimate: TokenEstimator = CharsByFour.estimate,
    ) -> None:
        super().__init__()
        if not (summarizer is None or isinstance(summarizer, Runnable) or callable(summarizer)):
            raise InvalidInputError("summarizer", summarizer, "a Runnable, a callable or None")
        checked_callable("on_fold", on_fold, optional=True)
        checked_callable("estimate", estimate)
        checked_flag("transclude", transclude)
        self._shaper = ThreadShaper(policy, max_result_bytes=max_result_bytes, estimate=estimate)
        self._summarizer = summarizer
        self._breaker = SummaryBreaker()
        self._transclude = transclude
        self._on_fold = on_fold
        self._estimate = estimate
        if transclude:
            # create_agent looks for hooks on the class, and pays for each with a super-step.
            self.__class__ = expanding(type(self))

    @override
    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Show the model what fits."""
        call = self._call(request)
        if (
            self._summarizer is not None
            and (prompt := call.prompt())
            and self._breaker.lets_through()
        ):
            is_folded = False
            try:
                is_folded = call.fold(summary_of(self._summarizer, prompt))
            except InvalidInputError:
                raise
            except Exception:  # a model raises what it likes, and the call can be made without it
                _LOGGER.exception("a thread was not folded")
            self._breaker.note(failed=not is_folded)
        return call.response(handler(call.request()))

    @override
    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Show the model what fits."""
        call = self._call(request)
        if (
            self._summarizer is not None
            and (prompt := call.prompt())
            and self._breaker.lets_through()
        ):
            is_folded = False
            try:
                is_folded = call.fold(await asummary(self._summarizer, prompt))
            except Exception:  # a model raises what it likes, and the call can be made without it
                _LOGGER.exception("a thread was not folded")
            self._breaker.note(failed=not is_folded)
        return call.response(await handler(call.request()))

    def _call(self, request: ModelRequest[Any]) -> ShapedCall:
        return ShapedCall(
            self._shaper,
            request,
            transclude=self._transclude,
            estimate=self._estimate,
            on_fold=self._on_fold,
        )

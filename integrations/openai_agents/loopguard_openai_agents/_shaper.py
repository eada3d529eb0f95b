"""`ContextShaper`: what a model is sent of a long thread."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from agents import FunctionTool, Model
from agents.run_config import CallModelData, ModelInputData

from loopguard_core import InvalidInputError
from loopguard_core.agent.budget import CharsByFour
from loopguard_core.agent.thread_shaping import ThreadShaper
from loopguard_core.agent.transclusion import with_slot_note
from loopguard_core.errors import checked_callable, checked_flag
from loopguard_core.tokens import written

from ._folding import Folding
from ._trim import continues

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents import Agent, TResponseInputItem

    from loopguard_core.agent import FoldRecord, ShaperPolicy, TokenEstimator

    from ._folding import FoldedThread
    from ._folds import Summarizer

__all__ = ["ContextShaper"]

_LOGGER: Final = logging.getLogger("loopguard")


class ContextShaper:
    """Keeps what a model is sent inside its context window, without losing what was said.

        shaper = ContextShaper(policy=ShaperPolicy.for_context(128_000), summarizer=model)
        config = RunConfig(call_model_input_filter=shaper)
        result = await Runner.run(agent, "...", run_config=config)

    For each model call long results before the newest items are sent as stubs, control tokens in
    results are made harmless, and calls and results are brought together. Items that are not cut
    short are sent as the very same objects; reasoning and whatever a server executed are never
    edited. Where that is not enough, the oldest part is folded: a summary is sent in its place, in
    this call and in all later ones that hold what it took. `ShapedSession` makes a fold last. The
    newest message of a person, what a developer says, and what only the server can read, such as
    compactions and approvals, are never folded.

    A fold that fails is logged and the call made without it. A thread that cannot be brought into
    its budget is sent as short as it gets, which is logged once. In a conversation that the server
    keeps nothing is edited but what is new. Use either this or `trim_input` in one run; to trim
    what is left, call one filter from another, this one first.

    Args:
        policy: The limits; see `ShaperPolicy.for_context`.
        summarizer: A model, or a callable that answers a prompt and may wait; None never folds.
        max_result_bytes: Bytes of one result that are sent; the rest is cut out of its middle. 0 is
            no limit.
        transclude: True teaches the model to write `{OUTPUT}` for the newest result and `{name}`
            for a section of one; `expanded_output` puts them into the final output.
        on_fold: Called with the record of each fold.
        estimate: Prices one text.

    Raises:
        InvalidInputError: An argument that cannot be used, by its name.
    """

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
        if not (summarizer is None or isinstance(summarizer, Model) or callable(summarizer)):
            raise InvalidInputError("summarizer", summarizer, "a Model, a callable or None")
        checked_callable("on_fold", on_fold, optional=True)
        checked_callable("estimate", estimate)
        checked_flag("transclude", transclude)
        self.folding = Folding(
            ThreadShaper(policy, max_result_bytes=max_result_bytes, estimate=estimate),
            summarizer,
            on_fold,
        )
        """Makes the folds; `ShapedSession` stores them."""
        self._transclude = transclude
        self._estimate = estimate
        self._told = False

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """Return the input as it is sent; the SDK's `call_model_input_filter`."""
        given = data.model_data
        instructions = given.instructions
        if self._transclude and data.agent.tools:
            instructions = with_slot_note(instructions or "")
        if continues(given.input):  # the server has the rest
            return ModelInputData(given.input, instructions)
        thread = await self.folding.of(
            given.input,
            beside_tokens=self._beside(instructions, data.agent),
            expandable=self._transclude,
        )
        return ModelInputData(self.sent(thread), instructions)

    async def shaped(self, items: list[TResponseInputItem]) -> list[TResponseInputItem]:
        """Return what is sent of a thread by itself.

        Args:
            items: The whole thread; it is not changed.
        """
        return self.sent(await self.folding.of(items))

    def sent(self, thread: FoldedThread) -> list[TResponseInputItem]:
        """Return what is sent of *thread*; once it is logged that one is over its budget."""
        if thread.shape.over_budget and not self._told:
            self._told = True
            _LOGGER.warning(
                "a thread costs %d tokens of a budget of %d, and cannot be brought into it",
                thread.shape.tokens, thread.shape.budget,
            )  # fmt: skip
        return thread.sent()

    def _beside(self, instructions: str | None, agent: Agent[Any]) -> int:
        tools = [tool for tool in agent.tools if isinstance(tool, FunctionTool)]
        offered = [written([t.name, t.description, t.params_json_schema]) for t in tools]
        return sum(map(self._estimate, [instructions or "", *offered]))

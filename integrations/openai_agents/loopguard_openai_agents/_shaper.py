"""`ContextShaper` and `ShapedSession`: what a model is sent of a long thread."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from agents import FunctionTool, Model
from agents.run_config import CallModelData, ModelInputData

from loopguard_core import InvalidInputError
from loopguard_core.agent.budget import CharsByFour
from loopguard_core.agent.thread_shaping import FoldRecord, ThreadShaper
from loopguard_core.agent.transclusion import with_slot_note
from loopguard_core.tokens import written

from ._folds import Fold, KnownFolds, summary_of
from ._shaping import folded, neutral, sent_items
from ._trim import continues

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents import Agent, TResponseInputItem

    from loopguard_core.agent import ShaperPolicy, TokenEstimator

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
    short are sent as the very same objects; reasoning, compactions and whatever a server executed
    are never edited. Where that is not enough, the oldest part is folded: a summary is sent in its
    place, in this call and in all later ones of the run. `ShapedSession` makes a fold last. The
    newest message of a person is never folded.

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
        self._shaper = ThreadShaper(policy, max_result_bytes=max_result_bytes, estimate=estimate)
        self._summarizer = summarizer
        self._transclude = transclude
        self._on_fold = on_fold
        self._estimate = estimate
        self._known = KnownFolds()
        self._told = False

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """Return the input as it is sent; the SDK's `call_model_input_filter`."""
        given = data.model_data
        instructions = given.instructions
        if self._transclude and data.agent.tools:
            instructions = with_slot_note(instructions or "")
        if continues(given.input):  # the server has the rest
            return ModelInputData(given.input, instructions)
        items = await self.shaped(given.input, beside_tokens=self._beside(instructions, data.agent))
        return ModelInputData(items, instructions)

    async def shaped(
        self, items: list[TResponseInputItem], *, beside_tokens: int = 0
    ) -> list[TResponseInputItem]:
        """Return what is sent of a thread.

        Args:
            items: The whole thread; it is not changed.
            beside_tokens: What the request costs beside it.
        """
        items, records = await self.folded(items, beside_tokens=beside_tokens)
        messages = neutral(items)
        shape = self._shaper.shape(
            messages,
            beside_tokens=beside_tokens,
            folds=records,
            expandable=self._transclude,
            may_fold=False,
        )
        if shape.over_budget and not self._told:
            self._told = True
            _LOGGER.warning(
                "a thread costs %d tokens of a budget of %d, and cannot be brought into it",
                shape.tokens, shape.budget,
            )  # fmt: skip
        return sent_items(items, messages, shape)

    async def folded(
        self, items: list[TResponseInputItem], *, beside_tokens: int = 0
    ) -> tuple[list[TResponseInputItem], list[FoldRecord]]:
        """Return a thread with a summary in the place of its oldest part, if it has to be.

        Args:
            items: The whole thread; it is not changed. Comes back as it is if it fits.
            beside_tokens: As in `shaped`.

        Returns:
            The thread, and the records of the folds that were made of it.
        """
        items, records = self._known.apply(items)
        messages = neutral(items)
        shape = self._shaper.shape(messages, beside_tokens=beside_tokens, folds=records)
        if not shape.fold or self._summarizer is None:
            return items, records
        try:
            prompt = self._shaper.summary_prompt(messages, shape)
            summary = await summary_of(self._summarizer, prompt)
        except Exception:  # a model raises what it likes, and the call can be made without it
            _LOGGER.exception("a thread was not folded")
            return items, records
        if not summary.strip():
            _LOGGER.warning("a thread was not folded: its summary is empty")
            return items, records
        text = self._shaper.summary_text(summary)
        left = folded(items, shape.fold, text)
        after = self._shaper.shape(neutral(left), beside_tokens=beside_tokens)
        record = FoldRecord(
            summary=summary,
            messages=len(shape.fold),
            tokens_before=shape.tokens,
            tokens_after=after.tokens,
        )
        taken = tuple(items[at] for at in shape.fold)
        self._known.add(Fold(shape.fold, taken, text, record))
        if self._on_fold is not None:
            self._on_fold(record)
        return left, [*records, record]

    def _beside(self, instructions: str | None, agent: Agent[Any]) -> int:
        tools = [tool for tool in agent.tools if isinstance(tool, FunctionTool)]
        offered = [written([t.name, t.description, t.params_json_schema]) for t in tools]
        return sum(map(self._estimate, [instructions or "", *offered]))

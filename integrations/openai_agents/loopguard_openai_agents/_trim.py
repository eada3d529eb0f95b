"""Items brought into a token budget, by whole exchanges: what both kinds of trimming share.

An exchange goes with its results, and reasoning with what it led to, so that a provider accepts
what is left. Items come back as the very same objects; only an oversized result in the newest
exchange is cut in its middle, on a copy.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any, Final, cast

from agents import FunctionTool
from agents.run_config import CallModelData, ModelInputData

from loopguard_core import Message
from loopguard_core.errors import checked_callable
from loopguard_core.message import activity_of
from loopguard_core.thread import Trimmer
from loopguard_core.tokens import default_estimator, written

from ._convert import NeutralThread
from ._items import call_in, field, is_output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from agents import Agent, TResponseInputItem

    from loopguard_core.thread import TrimPlan
    from loopguard_core.tokens import Estimator

__all__ = ["InputTrimmer", "continues"]

_LOGGER: Final = logging.getLogger("loopguard")


class InputTrimmer:
    """Trims lists of items.

    Args:
        max_tokens: The budget, at least 1.
        estimate: Names the tokens of a message; None is the core's default.
        pinned: Says of an item whether it must stay; None pins nothing.

    Raises:
        pydantic.ValidationError: *max_tokens* cannot be used.
        InvalidInputError: *estimate* or *pinned* cannot be called.
    """

    def __init__(
        self,
        *,
        max_tokens: int,
        estimate: Estimator | None = None,
        pinned: Callable[[TResponseInputItem], bool] | None = None,
    ) -> None:
        checked_callable("estimate", estimate, optional=True)
        checked_callable("pinned", pinned, optional=True)
        self._estimate = estimate or default_estimator()
        self._trimmer = Trimmer(max_tokens=max_tokens, estimate=self._estimate)
        self._pinned = pinned

    def plan(
        self, items: Sequence[TResponseInputItem], *, reserved: int = 0, kept: Iterable[int] = ()
    ) -> TrimPlan:
        """Say what would be kept, by position.

        Args:
            items: The items, oldest first.
            reserved: The tokens of the budget that are needed for other things.
            kept: Positions that stay as if they were pinned.
        """
        room = max(1, self._trimmer.max_tokens - reserved)
        trimmer = self._trimmer.model_copy(update={"max_tokens": room})
        pins = () if self._pinned is None else (i for i, x in enumerate(items) if self._pinned(x))
        return trimmer.plan(NeutralThread(items, as_sent=True), pinned=(*pins, *kept))

    def fitting(
        self, items: list[TResponseInputItem], *, reserved: int = 0, kept: Iterable[int] = ()
    ) -> list[TResponseInputItem]:
        """Return those of *items* that fit, in a new list; the arguments are those of `plan`."""
        plan = self.plan(items, reserved=reserved, kept=kept)
        if plan.over_budget:
            _LOGGER.warning("the newest items need %d tokens, more than the budget", plan.tokens)
        return [
            _cut(items[position], plan.replaced.get(position))
            for positions in plan.kept
            for position in positions
        ]

    def trim(self, data: CallModelData[Any]) -> ModelInputData:
        """Trim a model's input; its instructions and function tools count against the budget."""
        given = data.model_data
        if continues(given.input):
            return (
                given  # the server has the rest, and items of such an input must stay as they are
            )
        reserved = self._reserve(given.instructions, data.agent)
        return ModelInputData(self.fitting(given.input, reserved=reserved), given.instructions)

    def _reserve(self, instructions: str | None, agent: Agent[Any]) -> int:
        tools = [tool for tool in agent.tools if isinstance(tool, FunctionTool)]
        offered = [written([t.name, t.description, t.params_json_schema]) for t in tools]
        texts = [instructions or "", *offered]
        return math.ceil(sum(self._estimate(Message.system(text)) for text in texts if text))


def continues(items: Sequence[object]) -> bool:
    """Return True if *items* begins with an answer to a call that is not in it."""
    first = next((item for item in items if is_output(item) or call_in(item) is not None), None)
    return first is not None and is_output(first)


def _cut(item: TResponseInputItem, replaced: Mapping[str, object] | None) -> TResponseInputItem:
    activity = activity_of(replaced) if replaced is not None else None
    if activity is None or not isinstance(field(item, "output"), str):
        return item
    edited = dict(cast("dict[str, object]", item))
    edited["output"] = activity.result
    return cast("TResponseInputItem", edited)

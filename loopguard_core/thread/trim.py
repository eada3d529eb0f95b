"""A thread brought into a token budget by leaving out what is oldest.

Source: design, section 5. Whole exchanges are left out, so a call and its results stay or go
together, and where the cut falls changes seldom, so that a provider's prompt cache keeps working.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from loopguard_core.message import Message, as_messages, type_of
from loopguard_core.tokens import Estimator, default_estimator

from .build import price_of
from .history import History
from .shorten import Price, shortened_results

if TYPE_CHECKING:
    from .exchange import Exchange

__all__ = ["TrimPlan", "Trimmer"]


@dataclass(frozen=True, slots=True)
class TrimPlan:
    """What a `Trimmer` would keep of a thread.

    Args:
        kept: The positions that stay, as ascending ranges with gaps between them.
        replaced: What stands for a kept message whose oversized result was cut, by position.
        tokens: What is kept costs that much.
        over_budget: True if that is more than the budget, because what must stay is.
        cut: The position where the cut falls: what starts before it is left out unless it is
            protected. 0 if everything fits.
    """

    kept: tuple[range, ...] = ()
    replaced: Mapping[int, Message] = field(default_factory=dict)
    tokens: int = 0
    over_budget: bool = False
    cut: int = 0


class Trimmer(BaseModel):
    """Brings threads into a token budget; frozen, so that any number of runs can share it.

    These stay whatever they cost, and are protected: system messages at the head, exchanges with
    a message whose top-level key `pinned` is True, and the unit of the newest message. The newest
    message of a person stays too unless that breaks the budget, so that a long row of tool calls
    never loses its task. Of the rest the newest units stay, as many as fit.

    The cut falls on the first unit that starts at or after a multiple of `step_messages`, counted
    from the start of the history, so it stays where it is while the history grows by that many
    messages. A step that is longer than what fits is halved until it is not.

    Results in the newest unit are cut in their middle if the protected units alone exceed the
    budget; a unit with a pinned message is kept as it is. Results whose call is missing are always
    left out. Trimming a trimmed thread changes nothing.

    Args:
        max_tokens: The budget, at least 1.
        estimate: Names the tokens of a message that carries no `usage["tokens"]` of its own;
            fractions are rounded up. None is `tokens.default_estimator()`.
        step_messages: How far the cut moves at a time, at least 1. A larger step moves it less
            often and leaves out more; it should be well below the number of messages that fit.
        keep_task: False gives the newest message of a person no protection.

    Raises:
        pydantic.ValidationError: An argument cannot be used; the error names it and its value.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_tokens: Annotated[StrictInt, Field(ge=1)]
    estimate: Estimator | None = None
    # Half a dozen model calls between two moves: most prompts then begin like the one before.
    step_messages: Annotated[StrictInt, Field(ge=1)] = 16
    keep_task: StrictBool = True

    def trim(
        self, messages: Sequence[Mapping[str, object]], *, pinned: Iterable[int] | None = None
    ) -> list[Mapping[str, object]]:
        """Return what `plan` keeps: the very same objects, but for results that were cut."""
        plan = self.plan(messages, pinned=pinned)
        positions = itertools.chain.from_iterable(plan.kept)
        return [plan.replaced.get(position, messages[position]) for position in positions]

    def plan(
        self, messages: Sequence[Mapping[str, object]], *, pinned: Iterable[int] | None = None
    ) -> TrimPlan:
        """Decide what is kept of *messages*, without changing them.

        Only what is kept, and the unit that does not fit any more, is checked and priced.

        Args:
            messages: The whole history, oldest first.
            pinned: The positions of pinned messages, if the caller knows them. None looks for the
                key `pinned`, which is a short look at every message, however long the history.

        Raises:
            InvalidInputError: *messages* is no sequence, or a message that was reached no mapping.
        """
        history = History(as_messages(messages), self._price)
        newest = history.newest()
        if newest is None:
            return TrimPlan()
        pins = set(_pins(messages) if pinned is None else pinned)
        must = history.units_at({*_head(messages), *pins}) | {newest.start: newest}
        task = history.units_at(_task(messages)) if self.keep_task else {}
        cuttable = newest if pins.isdisjoint(newest.positions) else None
        protected = must | task
        replaced, spent = self._cuts(history, protected, cuttable)
        if spent > self.max_tokens:
            protected = must
            replaced, spent = self._cuts(history, protected, cuttable)
        fits, straddling = history.fitting(self.max_tokens - spent, beside=protected)
        cut = self._cut(fits, straddling, len(messages))
        chosen = protected | {unit.start: unit for unit in fits if unit.start >= cut}
        tokens = spent + sum(history.tokens(chosen[s]) for s in chosen.keys() - protected.keys())
        return TrimPlan(
            kept=_ranges(chosen.values()),
            replaced=replaced,
            tokens=tokens,
            over_budget=tokens > self.max_tokens,
            cut=cut,
        )

    def _cuts(
        self, history: History, protected: Mapping[int, Exchange], cuttable: Exchange | None
    ) -> tuple[dict[int, Message], int]:
        """Return the cuts in *cuttable* that *protected* needs to fit, and what it then costs."""
        spent = sum(map(history.tokens, protected.values()))
        if spent <= self.max_tokens or cuttable is None:
            return {}, spent
        rest = spent - history.tokens(cuttable)
        cuts, tokens = shortened_results(cuttable, room=self.max_tokens - rest, price=self._price)
        return cuts, rest + tokens

    def _cut(self, fits: list[Exchange], straddling: Exchange | None, end: int) -> int:
        """Return where the cut falls if *fits*, newest first, is all that fits before *end*."""
        if straddling is None:
            return 0
        if not fits:
            return end
        oldest = fits[-1].start
        starts = [straddling.start, *(unit.start for unit in reversed(fits))]
        step = self.step_messages
        while step > end - oldest:
            step //= 2
        while step > 1:
            for before, start in itertools.pairwise(starts):
                if start // step > before // step:
                    return start
            step //= 2  # the newest unit is so long that no unit starts behind a multiple
        return oldest

    @cached_property
    def _price(self) -> Price:
        estimate = self.estimate or default_estimator()
        return lambda message: math.ceil(price_of(message, estimate, 0))


def _head(messages: Sequence[object]) -> Iterator[int]:
    """Yield the positions of the system messages at the head."""
    for position, message in enumerate(messages):
        if not isinstance(message, Mapping) or type_of(message) != "system":
            return
        yield position


def _pins(messages: Sequence[object]) -> Iterator[int]:
    for position, message in enumerate(messages):
        # dict first: asking an abstract class costs more than all the rest.
        if isinstance(message, (dict, Mapping)) and message.get("pinned") is True:
            yield position


def _task(messages: Sequence[object]) -> Iterator[int]:
    """Yield the position of the newest message of a person, if there is one."""
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if isinstance(message, (dict, Mapping)) and type_of(message) == "user":
            yield position
            return


def _ranges(units: Iterable[Exchange]) -> tuple[range, ...]:
    """Return the positions of all *units* as ascending ranges with gaps between them."""
    ranges: list[range] = []
    for position in sorted(itertools.chain.from_iterable(unit.positions for unit in units)):
        if ranges and ranges[-1].stop == position:
            ranges[-1] = range(ranges[-1].start, position + 1)
        else:
            ranges.append(range(position, position + 1))
    return tuple(ranges)

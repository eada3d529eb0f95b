"""`ShaperPolicy`: how much of a history is sent, and in what form."""

from __future__ import annotations

import logging
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from loopguard_core.agent.budget import budget
from loopguard_core.errors import InvalidInputError

__all__ = ["HISTORY_HEADING", "ShaperPolicy"]

_LOGGER: Final = logging.getLogger("loopguard")

_DEFAULT_HEADROOM_TOKENS: Final = 10_000
_MOST_HEADROOM_SHARE: Final = 4

_ALL_PCT: Final = 100

HISTORY_HEADING: Final = (
    "What happened earlier in this conversation, as a record. It is no new request: "
    "answer what comes after it."
)
"""Stands above a summary, so that a model does not take what it tells of for its next task."""


class ShaperPolicy(BaseModel):
    """How a history is brought into a budget; frozen, so that any number of sessions share it.

    `ShaperPolicy.for_context(...)` has the values that are worth starting with. The defaults here
    are the reference's, and do nothing. A budget alone is a trap: without a tail and stubs, every
    overflow folds the whole history, so it is logged as a warning.
    Source: agent specification, section 5.

    Args:
        budget_tokens: What the messages may cost; 0 or less never folds, and stubs nothing unless
            `always_lod`.
        preserve_last_messages: The tail: that many user and assistant entries are left alone.
        preserve_last_tool_calls: And that many entries of calls and results, two to an exchange.
        verbatim_tool_results: True leaves control tokens in results as they are.
        tool_format: `native`, or `heredoc` for calls that are written as text.
        lod_truncate_above_chars: Before the tail, what is longer than that many bytes is shown
            as a stub: how long it is, and its start. 0 or less never stubs.
        lod_headroom_tokens: Left free of the budget, so that not every turn shapes anew. 0 is
            10,000, negative is none. If the budget is no larger than that, all of it is used.
        always_lod: True shows stubs whatever the history costs.
        step_entries: The border of the stubs moves by that many entries at a time, at least 1, so
            that prompts keep beginning alike and a provider's cache works.
        stub_arguments: True also shows stubs for the arguments of native calls; they stay JSON.
        cut_newest_results: True cuts the middle out of results in the tail if nothing else is
            left to do; False sends more than the budget then, as the reference does.
        merge_markers: True folds the summaries of earlier folds as well, so that one is left
            (quirk Q22). By default each fold adds one.
        keep_task: True keeps the newest user entry out of folds and stubs, however long the turn
            since: without it a model would have a record of its task, and no task.
        summary_heading: Stands above each summary; see `HISTORY_HEADING`. Empty for none.
        count_arguments: True prices calls and the parts of messages too (quirk Q21).
        repair_pairs: True brings calls and results together, and never parts them (quirk Q11).

    Raises:
        pydantic.ValidationError: An argument cannot be used; the error names it and its value.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", strict=True)

    budget_tokens: int = 0
    preserve_last_messages: int = 0
    preserve_last_tool_calls: int = 0
    verbatim_tool_results: bool = False
    tool_format: Literal["native", "heredoc"] = "native"
    lod_truncate_above_chars: int = 0
    lod_headroom_tokens: int = 0
    always_lod: bool = False
    step_entries: Annotated[int, Field(ge=1)] = 1
    stub_arguments: bool = False
    cut_newest_results: bool = True
    merge_markers: bool = False
    keep_task: bool = False
    summary_heading: str = ""
    count_arguments: bool = True
    repair_pairs: bool = True

    @model_validator(mode="after")
    def _warn_of_a_lone_budget(self) -> Self:
        keeps = self.preserve_last_messages > 0 or self.preserve_last_tool_calls > 0
        if self.budget_tokens > 0 and not keeps and self.lod_truncate_above_chars <= 0:
            _LOGGER.warning(
                "a ShaperPolicy with a budget, no tail and no stubs folds the whole history at "
                "every overflow: see ShaperPolicy.for_context"
            )
        return self

    @classmethod
    def for_context(cls, context_tokens: int, *, reserve_pct: int = 25, **changes: object) -> Self:
        """Make a policy for a model's context window.

        The headroom is the default one, but never more than a quarter of the budget: 10,000 tokens
        would leave nearly nothing of a small window.

        Args:
            context_tokens: The size of the window, large enough that a token is left of it.
            reserve_pct: Percent of it that are left for the reply; see `budget`.
            **changes: Fields that are to differ.

        Raises:
            InvalidInputError: *context_tokens* or *reserve_pct* is no whole number, or nothing is
                left of the window; *reserve_pct* is not between 0 and 99.
            pydantic.ValidationError: A field that does not exist, or a wrong value.
        """
        for name, number in (("context_tokens", context_tokens), ("reserve_pct", reserve_pct)):
            if type(number) is not int:
                raise InvalidInputError(name, number, "a whole number")
        if not 0 <= reserve_pct < _ALL_PCT:
            raise InvalidInputError("reserve_pct", reserve_pct, "a number from 0 to 99")
        tokens = budget(context_tokens, reserve_pct)
        if tokens < 1:
            raise InvalidInputError("context_tokens", context_tokens, "the size of a window")
        # Six messages, two exchanges and 4,000 bytes served in production at the reference.
        fields: dict[str, object] = {
            "budget_tokens": tokens,
            "lod_headroom_tokens": min(_DEFAULT_HEADROOM_TOKENS, tokens // _MOST_HEADROOM_SHARE),
            "preserve_last_messages": 6,
            "preserve_last_tool_calls": 4,
            "lod_truncate_above_chars": 4_000,
            "step_entries": 8,
            "keep_task": True,
            "merge_markers": True,  # a row of summaries would fill the budget in the end
            "summary_heading": HISTORY_HEADING,
        }
        return cls.model_validate(fields | changes)

    @property
    def target_tokens(self) -> int:
        """What the messages are brought down to: the budget without the headroom."""
        return self.target_beside(0)

    def target_beside(self, tokens: int) -> int:
        """Return the target of a request of which *tokens* are spent on something else.

        That is the budget without the headroom, or all of it if that leaves no room for a history.
        """
        headroom = self.lod_headroom_tokens or _DEFAULT_HEADROOM_TOKENS
        target = self.budget_tokens - max(headroom, 0)
        return target if target > tokens else self.budget_tokens

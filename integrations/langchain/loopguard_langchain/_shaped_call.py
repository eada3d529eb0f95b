"""One model call of a shaped agent: the request, the fold before it, and what is left behind."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from langchain.agents.middleware import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.messages import RemoveMessage
from langgraph.types import Command

from loopguard_core.agent.thread_shaping import FoldRecord, ThreadShaper

from ._beside import tool_texts
from ._convert import NeutralThread
from ._folds import context_in, folds_in
from ._shaping import folded, natives_of, sent_messages, summary_message
from ._slots import noted, with_folded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from langchain_core.messages import AnyMessage, BaseMessage

    from loopguard_core.agent import TokenEstimator
    from loopguard_core.agent.thread_shaping import ThreadShape

    from ._folds import ContextRecord

__all__ = ["ShapedCall"]

_LOGGER: Final = logging.getLogger("loopguard")


class ShapedCall:
    """What happens around one model call; nothing of it outlives the call.

    Args:
        shaper: Decides what is sent.
        request: The request as it came.
        transclude: True teaches placeholders, and keeps what they stand for.
        estimate: Prices what the request holds beside the thread.
        on_fold: Called with the record of a fold.
    """

    def __init__(
        self,
        shaper: ThreadShaper,
        request: ModelRequest[Any],
        *,
        transclude: bool,
        estimate: TokenEstimator,
        on_fold: Callable[[FoldRecord], None] | None,
    ) -> None:
        self._shaper = shaper
        self._request = request
        self._transclude = transclude
        self._on_fold = on_fold
        self._messages: Sequence[AnyMessage] = request.messages
        self._record = context_in(request.state)
        self._records = folds_in(request.state)
        self._slots = self._record.get("slots") if self._record else None
        self._beside = sum(map(estimate, _texts_beside(request)))
        self._is_folded = False
        self._update: list[BaseMessage] = []
        self._shape_again()

    def prompt(self) -> str:
        """Return what a summariser is to be asked; empty where nothing is to be folded."""
        return self._shaper.summary_prompt(self._thread, self._shape) if self._shape.fold else ""

    def fold(self, summary: str) -> bool:
        """Put a summary in the place of what is folded, here and in the state.

        Returns:
            False for an empty summary, which is none: nothing is folded then.
        """
        summary = self._shaper.bounded_summary(summary)
        if not summary:
            _LOGGER.warning("a thread was not folded: its summary is empty")
            return False
        fold, before = natives_of(self._thread, self._shape), self._shape.tokens
        stored = {message.id for message in self._request.state["messages"]}
        # Other middleware may show messages that are not in the state.
        ids = [id_ for index in fold if (id_ := self._messages[index].id) and id_ in stored]
        text, place = self._shaper.summary_text(summary), next(iter(ids), None)
        marker = summary_message(text, place, len(self._records) + 1)
        if ids:
            self._update = [marker, *(RemoveMessage(id=id_) for id_ in ids if id_ != place)]
        if self._transclude:
            self._slots = with_folded(self._messages, self._slots, fold)
        self._messages, count = folded(self._messages, fold, marker), len(self._shape.fold)
        self._is_folded = True
        self._shape_again()
        record = FoldRecord(
            summary=summary,
            messages=count,
            tokens_before=before,
            tokens_after=self._shape.tokens,
        )
        self._records.append(record)
        if self._on_fold is not None:
            self._on_fold(record)
        return True

    def request(self) -> ModelRequest[Any]:
        """Return the request as it is sent."""
        if self._shape.fold:  # nobody has summarised it
            self._shape_again(may_fold=False)
        sent = sent_messages(self._messages, self._thread, self._shape)
        if not self._teaches:
            return self._request.override(messages=sent)
        return self._request.override(
            messages=sent, system_message=noted(self._request.system_message)
        )

    def response(self, said: ModelResponse[Any]) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Return what the model said, with what the state is to keep."""
        update: dict[str, Any] = {}
        told = self._record is not None and self._record["told"]
        if self._shape.over_budget and not told:
            _LOGGER.warning(
                "a thread costs %d tokens of a budget of %d, and cannot be brought into it",
                self._shape.tokens, self._shape.budget,
            )  # fmt: skip
        if self._is_folded or (self._shape.over_budget and not told):
            update["loopguard_context"] = self._context(told=told or self._shape.over_budget)
        if self._update:
            update["messages"] = self._update
        if self._request.state.get("expanded_reply"):
            update["expanded_reply"] = ""  # that of an earlier turn
        return ExtendedModelResponse(said, Command(update=update)) if update else said

    @property
    def _teaches(self) -> bool:
        """True if the model can be shown results: without tools there are none."""
        return self._transclude and bool(self._request.tools)

    def _context(self, *, told: bool) -> ContextRecord:
        folds = [record.model_dump(mode="json") for record in self._records]
        context: ContextRecord = {"folds": folds, "told": told}
        if self._slots is not None:
            context["slots"] = self._slots
        return context

    def _shape_again(self, *, may_fold: bool = True) -> None:
        self._thread = NeutralThread(self._messages, as_sent=True)
        self._shape: ThreadShape = self._shaper.shape(
            self._thread,
            beside_tokens=self._beside,
            folds=self._records,
            expandable=self._teaches,
            may_fold=may_fold,
        )


def _texts_beside(request: ModelRequest[Any]) -> list[str]:
    """Return what a request holds beside its thread."""
    system = request.system_message
    return tool_texts(request) if system is None else [*tool_texts(request), system.text]

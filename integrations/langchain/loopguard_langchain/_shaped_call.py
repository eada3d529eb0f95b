"""One model call of a shaped agent: the request, the fold before it, and what is left behind."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from langchain.agents.middleware import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, RemoveMessage, SystemMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.types import Command

from loopguard_core.agent.thread_shaping import FoldRecord, ThreadShaper
from loopguard_core.agent.transclusion import with_slot_note
from loopguard_core.tokens import written

from ._convert import NeutralThread
from ._folds import folds_in, was_told
from ._shaping import folded, natives_of, sent_messages, slots_of_turn, summary_message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from langchain_core.messages import AnyMessage, BaseMessage

    from loopguard_core.agent import TokenEstimator
    from loopguard_core.agent.thread_shaping import ThreadShape

__all__ = ["ShapedCall"]

_LOGGER: Final = logging.getLogger("loopguard")


class ShapedCall:
    """What happens around one model call; nothing of it outlives the call.

    Args:
        shaper: Decides what is sent.
        request: The request as it came.
        transclude: True teaches placeholders and expands the reply.
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
        self._transclude = transclude and bool(request.tools)
        self._on_fold = on_fold
        self._messages: Sequence[AnyMessage] = request.messages
        self._records = folds_in(request.state)
        self._beside = sum(map(estimate, _texts_beside(request)))
        self._update: list[BaseMessage] = []
        self._shape_again()

    def prompt(self) -> str:
        """Return what a summariser is to be asked; empty where nothing is to be folded."""
        return self._shaper.summary_prompt(self._thread, self._shape) if self._shape.fold else ""

    def fold(self, summary: str) -> None:
        """Put a summary in the place of what is folded, here and in the state.

        An empty summary is none: nothing is folded then.
        """
        if not summary.strip():
            _LOGGER.warning("a thread was not folded: its summary is empty")
            return
        fold, before = natives_of(self._thread, self._shape), self._shape.tokens
        first = self._messages[fold[0]]
        text = self._shaper.summary_text(summary)
        marker = summary_message(text, first, len(self._records) + 1)
        stored = {message.id for message in self._request.state["messages"]}
        gone = [self._messages[index].id for index in fold[1:]]
        self._update = [marker, *(RemoveMessage(id=id_) for id_ in gone if id_ and id_ in stored)]
        messages, count = folded(self._messages, fold, marker), len(self._shape.fold)
        self._messages = messages
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

    def request(self) -> ModelRequest[Any]:
        """Return the request as it is sent."""
        if self._shape.fold:  # nobody has summarised it
            self._shape_again(may_fold=False)
        sent = sent_messages(self._messages, self._thread, self._shape)
        if not self._transclude:
            return self._request.override(messages=sent)
        system = self._request.system_message
        text = with_slot_note("" if system is None else system.text)
        return self._request.override(messages=sent, system_message=SystemMessage(text))

    def response(self, said: ModelResponse[Any]) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Return what the model said, with what the state is to keep."""
        update: dict[str, Any] = {}
        told = was_told(self._request.state)
        if self._shape.over_budget and not told:
            _LOGGER.warning(
                "a thread costs %d tokens of a budget of %d, and cannot be brought into it",
                self._shape.tokens, self._shape.budget,
            )  # fmt: skip
        if self._update or (self._shape.over_budget and not told):
            folds = [record.model_dump(mode="json") for record in self._records]
            update["loopguard_context"] = {
                "folds": folds,
                "told": told or self._shape.over_budget,
            }
        if self._update:
            update["messages"] = self._update
        if self._transclude and (reply := _final_text(said)):
            update["expanded_reply"] = slots_of_turn(self._messages).expand(reply)
        return ExtendedModelResponse(said, Command(update=update)) if update else said

    def _shape_again(self, *, may_fold: bool = True) -> None:
        self._thread = NeutralThread(self._messages, as_sent=True)
        self._shape: ThreadShape = self._shaper.shape(
            self._thread,
            beside_tokens=self._beside,
            folds=self._records,
            expandable=self._transclude,
            may_fold=may_fold,
        )


def _texts_beside(request: ModelRequest[Any]) -> list[str]:
    """Return what a request holds beside its thread."""
    texts = [written(convert_to_openai_tool(tool)) for tool in request.tools]
    return texts if request.system_message is None else [*texts, request.system_message.text]


def _final_text(said: ModelResponse[Any]) -> str:
    """Return the text of a reply that ends the run; empty for one that calls tools."""
    newest = said.result[-1] if said.result else None
    return newest.text if isinstance(newest, AIMessage) and not newest.tool_calls else ""

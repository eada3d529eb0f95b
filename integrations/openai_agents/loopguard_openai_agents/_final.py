"""What a guarded model answers: one response, however often the model was asked."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agents import ModelResponse, Usage
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseOutputItemAddedEvent,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseTextDeltaEvent,
    ResponseUsage,
)

from ._items import content_of

if TYPE_CHECKING:
    from agents.items import TResponseStreamEvent

__all__ = ["Final", "finished"]


@dataclass(frozen=True, slots=True)
class Final:
    """The answer to one model call.

    Args:
        output: Its items.
        natives: The complete replies of the model that it was made of, oldest first.
        unheard: The last item, if it is ours and so was not streamed by anyone.
        as_it_came: True if it is the last native reply, unchanged.
    """

    output: Sequence[Any]
    natives: Sequence[Any]
    unheard: ResponseOutputMessage | None = None
    as_it_came: bool = False

    def response(self) -> ModelResponse:
        """Return it as a plain call answers; what was used is the sum of all replies."""
        if self.as_it_came and isinstance(self.natives[-1], ModelResponse):
            return self.natives[-1]
        usage = Usage()
        last = ModelResponse([], usage, None)
        for native in self.natives:
            usage.add(native.usage)
            last = native
        return replace(last, output=list(self.output), usage=usage)

    def events(self, response_id: str) -> Iterator[TResponseStreamEvent]:
        """Yield what is still to be streamed.

        Args:
            response_id: Names a response that the model had no part in.
        """
        if self.unheard is not None:
            yield from _heard(self.unheard, len(self.output) - 1)
        last = self.natives[-1] if self.natives else _empty(response_id)
        update = {"output": list(self.output), "usage": _sum([n.usage for n in self.natives])}
        yield ResponseCompletedEvent(
            response=last.model_copy(update=update), sequence_number=0, type="response.completed"
        )


def _heard(said: ResponseOutputMessage, index: int) -> Iterator[TResponseStreamEvent]:
    """Stream a whole message, for whoever shows a reply piece by piece."""
    empty = said.model_copy(update={"content": [], "status": "in_progress"})
    yield ResponseOutputItemAddedEvent(
        item=empty, output_index=index, sequence_number=0, type="response.output_item.added"
    )
    yield ResponseTextDeltaEvent(
        content_index=0,
        delta=content_of(said.content).text,
        item_id=said.id,
        logprobs=[],
        output_index=index,
        sequence_number=0,
        type="response.output_text.delta",
    )
    yield finished(said, index)


def finished(said: ResponseOutputMessage, index: int) -> TResponseStreamEvent:
    """Return the event that finishes a message."""
    return ResponseOutputItemDoneEvent(
        item=said, output_index=index, sequence_number=0, type="response.output_item.done"
    )


def _empty(response_id: str) -> Response:
    return Response(
        id=response_id,
        created_at=time.time(),
        model="loopguard",
        object="response",
        output=[],
        parallel_tool_calls=False,
        tool_choice="none",
        tools=[],
    )


def _sum(usages: Sequence[ResponseUsage | None]) -> ResponseUsage | None:
    """Add up what several replies used; the details are those of the last."""
    given = [usage for usage in usages if usage is not None]
    if not given:
        return None
    return ResponseUsage(  # and no copy of one: the SDK attaches what it counted to its own
        input_tokens=sum(usage.input_tokens for usage in given),
        input_tokens_details=given[-1].input_tokens_details,
        output_tokens=sum(usage.output_tokens for usage in given),
        output_tokens_details=given[-1].output_tokens_details,
        total_tokens=sum(usage.total_tokens for usage in given),
    )

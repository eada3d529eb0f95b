"""A reply of a model, read while it streams or when it is complete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agents import ModelResponse
from agents.items import TResponseOutputItem
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
)

from loopguard_core import Action

from ._halt import message
from ._items import call_in, is_hosted, spoken

if TYPE_CHECKING:
    from agents.items import TResponseStreamEvent

    from loopguard_core import GuardedReply

__all__ = ["ReplyReader", "Said"]

# A reply that comes in one piece is fed in pieces of that size, so that what is kept of it ends
# where it was cut; the verdict does not depend on it.
_PIECE_CHARS: Final = 32
_CHANNELS: Final = {
    "response.output_text.delta": "content",
    "response.refusal.delta": "content",
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning_summary_text.delta": "reasoning",
}
_ARGUMENTS: Final = frozenset(
    {
        "response.function_call_arguments.delta",
        "response.custom_tool_call_input.delta",
        "response.mcp_call_arguments.delta",
        "response.code_interpreter_call_code.delta",
    }
)


@dataclass(frozen=True, slots=True)
class Said:
    """What a model said when it was asked once.

    Args:
        native: The whole reply as it came: `ModelResponse`, or `Response` where it streamed; None
            if it was cut.
        output: Its items.
        kept: Of a reply that was cut, a message with what is worth keeping, if anything is.
        cut: True if it went round.
    """

    native: ModelResponse | Response | None
    output: tuple[TResponseOutputItem, ...]
    kept: ResponseOutputMessage | None = None
    cut: bool = False


class ReplyReader:
    """Feeds one reply to its watch.

    Args:
        watch: The watch of this reply.
    """

    def __init__(self, watch: GuardedReply) -> None:
        self._watch = watch
        self._kept: list[str] = []
        self._items: list[TResponseOutputItem] = []
        self._halted = False

    def whole(self, response: ModelResponse) -> Said:
        """Read a reply that came in one piece."""
        for index, item in enumerate(response.output):
            channel, text = spoken(item, index)
            self._feed(text, channel)
            self._finished(item)
            if self._halted:
                return self.cut()
        return Said(response, tuple(response.output))

    def takes(self, event: TResponseStreamEvent) -> Said | None:
        """Read one event; return the reply if it is over, complete or cut."""
        if isinstance(event, ResponseCompletedEvent):
            # Some providers send the items one by one and leave the last event empty.
            return Said(event.response, tuple(event.response.output or self._items))
        if isinstance(event, ResponseOutputItemDoneEvent):
            self._items.append(event.item)
            self._finished(event.item)
        elif (channel := _channel(event)) is not None:
            self._feed(str(getattr(event, "delta", "")), channel)
        return self.cut() if self._halted else None

    def cut(self) -> Said:
        """Return what is left of a reply that was cut."""
        kept = "".join(self._kept)[: self._watch.keep_chars]
        return Said(None, (), message(kept) if kept.strip() else None, cut=True)

    def _feed(self, text: str, channel: str) -> None:
        for start in range(0, len(text), _PIECE_CHARS):
            piece = text[start : start + _PIECE_CHARS]
            if channel == "content":
                self._kept.append(piece)
            if self._watch.feed(piece, channel).action is Action.HALT:
                self._halted = True
                return

    def _finished(self, item: object) -> None:
        """Take a complete item: of calls that the provider makes, a reply can hold any number."""
        call = call_in(item) if is_hosted(item) else None
        if call is not None and not self._halted:
            verdict = self._watch.feed_call(call.name, call.arguments)
            self._halted = verdict.action is Action.HALT


def _channel(event: TResponseStreamEvent) -> str | None:
    if event.type in _ARGUMENTS:
        return f"tool:{getattr(event, 'output_index', '')}"
    return _CHANNELS.get(event.type)

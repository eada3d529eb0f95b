"""What the model is sent in one step: the request, and what the guard adds to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from ._results import with_note

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from langchain.agents.middleware import ModelRequest
    from langchain_core.messages import AnyMessage

__all__ = ["Sent"]


class Sent:
    """The request of a step as it grows; the native messages in it are never changed.

    Args:
        request: The request as it came.

    Attributes:
        request: The request as it is to be sent.
        stored: What the step adds to the thread, oldest first; all of it is sent too.
    """

    def __init__(self, request: ModelRequest[Any]) -> None:
        self.request = request
        self.stored: list[BaseMessage] = []
        self._given: Sequence[BaseMessage] = request.messages

    def add(self, *messages: BaseMessage) -> None:
        """Put messages behind what is sent, and into the thread."""
        self.stored += messages
        self._send([*self.request.messages, *messages])

    def tell(self, guidance: str, behind: ToolMessage | None = None) -> None:
        """Let the model read *guidance*, which is sent and not stored.

        Args:
            guidance: Text for the model; nothing happens if it is empty.
            behind: The answer that it is written behind; a message of its own without one, or
                where other middleware took that answer out of the request.
        """
        if not guidance:
            return
        messages: list[BaseMessage] = list(self.request.messages)
        for place in reversed(range(len(messages))):
            answer = messages[place]
            if behind is None or not isinstance(answer, ToolMessage):
                continue
            if answer.tool_call_id == behind.tool_call_id:
                content = with_note(answer.content, guidance)
                messages[place] = answer.model_copy(update={"content": content})
                break
        else:
            messages.append(HumanMessage(guidance))
        self._send(messages)

    def leave_out(self, messages: Collection[BaseMessage]) -> None:
        """Do not send *messages* of the request, which the thread is about to lose."""
        left_out = {message.id for message in messages}
        self._given = [message for message in self._given if message.id not in left_out]
        self.forget_told()

    def forget_told(self) -> None:
        """Send no more what the model was told: it made something of it, or did not."""
        self._send([*self._given, *self.stored])

    def _send(self, messages: list[BaseMessage]) -> None:
        self.request = self.request.override(messages=cast("list[AnyMessage]", messages))

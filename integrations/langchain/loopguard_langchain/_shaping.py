"""What is sent of a thread, as LangChain's messages: the same objects, or copies cut short."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from loopguard_core.message import Message, activity_of, text_of

from ._convert import COMPACTED, NeutralThread
from ._results import with_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard_core.agent.thread_shaping import ThreadShape

__all__ = ["folded", "natives_of", "sent_messages", "summary_message"]


def sent_messages(
    messages: Sequence[AnyMessage], thread: NeutralThread, shape: ThreadShape
) -> list[AnyMessage]:
    """Return what is sent of *messages*; what is not cut short is the very same object."""
    sent: list[AnyMessage] = []
    for piece in shape.natives(thread.native_at):
        if isinstance(piece, Message):
            sent.append(_made(piece))
        elif piece.texts:
            sent.append(_shortened(messages[piece.index], list(piece.texts.values())))
        else:
            sent.append(messages[piece.index])
    return sent


def natives_of(thread: NeutralThread, shape: ThreadShape) -> list[int]:
    """Return the indices of the messages that the fold of *shape* takes."""
    return sorted({thread.native_at(position) for position in shape.fold})


def summary_message(text: str, replaced: str | None, folds: int) -> HumanMessage:
    """Return the message that stands for a fold.

    It takes the id of the first folded message that is stored, so that LangGraph puts it in that
    one's place; under an id that is not stored it would come to stand at the end.
    """
    return HumanMessage(text, id=replaced, additional_kwargs={COMPACTED: folds})


def folded(
    messages: Sequence[AnyMessage], fold: Sequence[int], summary: AnyMessage
) -> list[AnyMessage]:
    """Return *messages* with *summary* in the place of those at the indices of *fold*."""
    gone = set(fold)
    return [
        summary if index == fold[0] else message
        for index, message in enumerate(messages)
        if index == fold[0] or index not in gone
    ]


def _shortened(native: AnyMessage, texts: list[str]) -> AnyMessage:
    """Return a copy of *native* with a shorter text.

    Arguments of calls stay: a call is more than the text that LangChain keeps of it.
    """
    if isinstance(native, AIMessage) and not native.text:
        return native
    return with_text(native, texts[0])


def _made(message: Message) -> AnyMessage:
    """Make the message that answers a call without a result, or stands for a result without one."""
    activity = activity_of(message)
    if activity is None:
        return HumanMessage(text_of(message))
    return ToolMessage(
        str(activity.result),
        tool_call_id=str(message.get("call_id", "")),
        name=activity.name,
        status="error",
    )

"""What is sent of a thread, as LangChain's messages: the same objects, or copies cut short."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from loopguard_core.agent.transclusion import Slots
from loopguard_core.message import Message, activity_of, text_of

from ._batch import newest_person
from ._content import read_content
from ._convert import COMPACTED, NeutralThread
from ._results import with_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from loopguard_core.agent.thread_shaping import ThreadShape

__all__ = ["RAW", "folded", "natives_of", "sent_messages", "slots_of_turn", "summary_message"]

RAW: Final = "loopguard_raw"
"""In a result's `additional_kwargs`: what the tool returned, where that was rewritten."""


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


def summary_message(text: str, replaced: AnyMessage, folds: int) -> HumanMessage:
    """Return the message that stands for a fold, in the place of the first folded one.

    It takes that message's id, so that LangGraph replaces it where it stands.
    """
    return HumanMessage(text, id=replaced.id, additional_kwargs={COMPACTED: folds})


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


def slots_of_turn(messages: Sequence[AnyMessage]) -> Slots:
    """Capture the results since the newest message of a person, as their tools returned them."""
    start = newest_person(messages)
    slots = Slots()
    for text in _raw_results(messages[0 if start is None else start :]):
        slots.capture(text)
    return slots


def _raw_results(messages: Sequence[AnyMessage]) -> Iterator[str]:
    for message in messages:
        if isinstance(message, ToolMessage):
            raw = message.additional_kwargs.get(RAW)
            yield raw if isinstance(raw, str) else read_content(message.content).text


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

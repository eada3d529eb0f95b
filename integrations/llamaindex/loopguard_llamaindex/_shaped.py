"""What is sent in the place of LlamaIndex messages: copies with shorter texts, and repairs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock

from loopguard_core import Message
from loopguard_core.message import activity_of, text_of
from loopguard_core.tokens import written

from ._pairs import is_made_up

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llama_index.core.base.llms.types import ContentBlock

    from loopguard_core.agent.thread_shaping import ThreadShape

    from ._convert import NeutralThread

__all__ = ["shaped_natives", "text_in_place", "with_text"]


def shaped_natives(
    thread: NeutralThread, neutral: Sequence[Message], shape: ThreadShape
) -> list[ChatMessage]:
    """Return what is sent of a thread: the very messages, but for those that are shortened.

    Args:
        thread: The thread.
        neutral: Its messages, converted.
        shape: What is to be sent of it.
    """
    return [
        _native_of(piece)
        if isinstance(piece, Message)
        else _shortened(thread.natives[piece.index], piece.texts, neutral)
        for piece in shape.natives(thread.native_at)
    ]


def with_text(native: ChatMessage, text: str) -> ChatMessage:
    """Return a copy of *native* with *text* in the place of its texts; its other blocks stay."""
    return native.model_copy(update={"blocks": text_in_place(native.blocks, text)})


def text_in_place(blocks: Sequence[ContentBlock], text: str) -> list[ContentBlock]:
    """Return *blocks* with *text* where their first text is, and no other text."""
    texts = [at for at, block in enumerate(blocks) if isinstance(block, TextBlock)]
    first = texts[0] if texts else len(blocks)
    rest = (block for block in blocks[first:] if not isinstance(block, TextBlock))
    return [*blocks[:first], TextBlock(text=text), *rest]


def _native_of(message: Message) -> ChatMessage:
    """Return a message that stands for a result without a call, or for a missing result."""
    activity = activity_of(message)
    if activity is None:
        return ChatMessage(role=MessageRole.USER, content=text_of(message))
    call_id = message["call_id"]
    # an integration without ids goes by the tool's name
    told = {"tool_call_id": activity.name if is_made_up(call_id) else call_id}
    text = written(activity.result)
    return ChatMessage(role=MessageRole.TOOL, content=text, additional_kwargs=told)


def _shortened(
    native: ChatMessage, texts: Mapping[int, str], neutral: Sequence[Message]
) -> ChatMessage:
    for position, text in texts.items():
        activity = activity_of(neutral[position])
        if activity is not None and activity.type == "request":
            native = _with_arguments(native, _calls_before(neutral, position), text)
        else:
            native = with_text(native, text)
    return native


def _calls_before(neutral: Sequence[Message], position: int) -> int:
    """Count the calls that the same native message makes before the one at *position*."""
    group, count = neutral[position]["group"], 0
    while position and neutral[position - 1]["group"] == group:
        position -= 1
        activity = activity_of(neutral[position])
        count += activity is not None and activity.type == "request"
    return count


def _with_arguments(native: ChatMessage, number: int, arguments: str) -> ChatMessage:
    """Return a copy with other arguments; calls that stand in no block stay as they are."""
    calls = [at for at, block in enumerate(native.blocks) if isinstance(block, ToolCallBlock)]
    if number >= len(calls):
        return native
    blocks = list(native.blocks)
    call = blocks[calls[number]]
    kwargs = (
        arguments if isinstance(getattr(call, "tool_kwargs", ""), str) else json.loads(arguments)
    )
    blocks[calls[number]] = call.model_copy(update={"tool_kwargs": kwargs})
    return native.model_copy(update={"blocks": blocks})

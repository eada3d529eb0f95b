"""What a model is shown of long results."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from loopguard_core.agent.result_cut import cut_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard_core.agent.chat import ChatMessage, ToolCall

__all__ = ["with_results_cut"]


def with_results_cut(
    messages: Sequence[ChatMessage], limit_bytes: int, newest: ToolCall | None
) -> list[ChatMessage]:
    """Cut the middle out of every long tool message, those of earlier turns too.

    Args:
        messages: As they were built.
        limit_bytes: At 0 or below nothing is cut.
        newest: The call whose result `{OUTPUT}` stands for; None before the turn has any. The
            hint to write it stands in that result alone, elsewhere it would be wrong (quirk Q31).
    """
    if limit_bytes <= 0:
        return list(messages)
    last = max((at for at, one in enumerate(messages) if one.role == "tool"), default=-1)
    return [
        _cut(message, limit_bytes, is_newest=at == last and _answers(message, newest))
        if message.role == "tool"
        else message
        for at, message in enumerate(messages)
    ]


def _answers(message: ChatMessage, call: ToolCall | None) -> bool:
    """Return True if *message* is the result of *call*; heredoc results carry no id."""
    return call is not None and message.tool_call_id in {"", call.id}


def _cut(message: ChatMessage, limit_bytes: int, *, is_newest: bool) -> ChatMessage:
    content = cut_result(message.content, limit_bytes, expandable=is_newest)
    return message if content == message.content else replace(message, content=content)

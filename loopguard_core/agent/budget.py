"""What text and messages cost, and how much of a context window may be filled.

Source: agent specification, section 2. Here an estimator reads a text and not a message: the
same one prices stubs, summaries and messages. Lengths are bytes of UTF-8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from loopguard_core.tokens import BLOCK_TOKENS

from .chat import ChatMessage, TextPart

__all__ = ["CharsByFour", "TokenEstimator", "budget", "byte_length", "message_tokens", "tokens_of"]

TokenEstimator: TypeAlias = Callable[[str], int]
"""Names the tokens of a text."""

_BYTES_PER_TOKEN: Final = 4
_MAX_RESERVE_PCT: Final = 99


def byte_length(text: str) -> int:
    """Return the bytes of *text* in UTF-8, a lone surrogate as three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


class CharsByFour:
    """The default estimator: a quarter of the bytes, rounded up; 0 for the empty text."""

    @staticmethod
    def estimate(text: str) -> int:
        """Return the tokens of *text*."""
        return -(-byte_length(text) // _BYTES_PER_TOKEN)


def budget(context_tokens: int, reserve_pct: int) -> int:
    """Return the tokens of a context window that a history may fill.

    Args:
        context_tokens: The size of the window; 0 or less has no budget.
        reserve_pct: Percent that are left for the reply; below 0 is 0, above 99 is 99.
    """
    if context_tokens <= 0:
        return 0
    reserved = min(max(reserve_pct, 0), _MAX_RESERVE_PCT)
    return context_tokens * (100 - reserved) // 100


def message_tokens(
    message: ChatMessage,
    estimate: TokenEstimator = CharsByFour.estimate,
    *,
    count_arguments: bool = True,
) -> int:
    """Return what one message costs: its content, role and name, each rounded up alone.

    Args:
        message: The message.
        estimate: Prices one text.
        count_arguments: True also prices the names and arguments of calls, the text of parts,
            and `BLOCK_TOKENS` for an image. False leaves them out as the reference does, and so
            lets a history of large calls overflow (quirk Q21).
    """
    texts = [message.content, message.role, message.name]
    images = 0
    if count_arguments:
        texts += [text for call in message.tool_calls for text in (call.name, call.arguments)]
        texts += [part.text for part in message.parts if isinstance(part, TextPart)]
        images = sum(not isinstance(part, TextPart) for part in message.parts)
    return sum(map(estimate, filter(None, texts))) + images * BLOCK_TOKENS


def tokens_of(
    messages: Iterable[ChatMessage],
    estimate: TokenEstimator = CharsByFour.estimate,
    *,
    count_arguments: bool = True,
) -> int:
    """Return what a list of messages costs; see `message_tokens`."""
    return sum(
        message_tokens(message, estimate, count_arguments=count_arguments) for message in messages
    )

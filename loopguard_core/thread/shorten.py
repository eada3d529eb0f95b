"""Oversized tool results, cut in their middle so that their exchange fits.

Source: design, section 5. Head and tail stay, because files say what they are at the top and
logs say what went wrong at the end; a marker between them says how much is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from loopguard_core.message import ABSENT, Message, activity_of
from loopguard_core.tokens import written

if TYPE_CHECKING:
    from .exchange import Exchange

__all__ = ["SMALLEST_CHARS", "Price", "has_left_out", "shortened_results"]

Price: TypeAlias = Callable[[Mapping[str, object]], int]
"""Names the tokens of a message, whole ones."""

SMALLEST_CHARS: Final = 100
"""A result of at most that many characters is never cut; a marker alone is always shorter."""

_ATTEMPTS: Final = 9
_HALVE_EACH: Final = 3
_CLOSE: Final = 0.98  # enough of the room is used; a closer look would price large texts again
_MARKER: Final = "[... {} characters left out ...]"
_MARKED: Final = re.compile(r"^\[\.\.\. \d+ characters left out \.\.\.\]$", re.MULTILINE)


def shortened_results(
    exchange: Exchange, *, room: int, price: Price
) -> tuple[dict[int, Message], int]:
    """Cut the largest results of *exchange* so that all of it costs at most *room* tokens.

    The results share what the rest leaves: small ones stay whole, and the others get equal
    parts. If even markers alone are too much, that is what is left of every result that can be
    cut. A result that is no string is cut as the JSON text that is sent.

    Args:
        exchange: A unit that has to stay; its messages are not changed.
        room: What it may cost; also negative.
        price: Names the tokens of a message.

    Returns:
        The results that were cut, by position, and what the exchange then costs. A copy has every
        key of its message but `usage`, which counted what is no longer there.
    """
    tokens = dict(zip(exchange.positions, map(price, exchange.messages), strict=True))
    messages = zip(exchange.positions, exchange.messages, strict=True)
    results = [result for at, m in messages if (result := _result(at, m, tokens[at], price))]
    spares = [result.tokens - result.least for result in results]
    level = _level(spares, room - sum(tokens.values()) + sum(spares))
    cuts: dict[int, Message] = {}
    for result, spare in zip(results, spares, strict=True):
        if spare > level:
            cut, tokens[result.position] = _fitting(result, result.least + level, price)
            cuts[result.position] = cut
    return cuts, sum(tokens.values())


def has_left_out(text: str) -> bool:
    """Return True if *text* bears the mark of `shortened_results`."""
    return _MARKED.search(text) is not None


@dataclass(frozen=True, slots=True)
class _Result:
    """A result that can be cut: what it costs, and the least that it can be brought down to."""

    position: int
    message: Mapping[str, object]
    text: str
    tokens: int
    least: int


def _result(
    position: int, message: Mapping[str, object], tokens: int, price: Price
) -> _Result | None:
    """Return the message as a result that can be cut; None if there is nothing to gain."""
    activity = activity_of(message)
    if activity is None or activity.type != "response" or activity.result is ABSENT:
        return None
    result = activity.result
    text = written(result)
    if len(text) <= SMALLEST_CHARS:
        return None
    least = price(_cut(message, text, 0))
    return _Result(position, message, text, tokens, least) if least < tokens else None


def _level(spares: list[int], room: int) -> int:
    """Return how much of each spare may stay, so that no more than *room* stays of all."""
    left = max(room, 0)
    for position, spare in enumerate(sorted(spares)):
        sharing = len(spares) - position
        if spare * sharing > left:
            return left // sharing
        left -= spare
    return max(spares, default=0)


def _fitting(result: _Result, target: int, price: Price) -> tuple[Message, int]:
    """Cut *result* to about the longest text that costs at most *target* tokens; name its price.

    A price grows about evenly with the text, so a rule of three between a text that is known to
    fit and one that does not comes close at once; halving now and then helps where it does not.
    """
    low, low_tokens, best = 0, result.least, _cut(result.message, result.text, 0)
    high, high_tokens = len(result.text), result.tokens
    for attempt in range(1, _ATTEMPTS + 1):
        share = (target - low_tokens) / (high_tokens - low_tokens)
        keep = low + int((high - low) * (share if attempt % _HALVE_EACH else 0.5))
        cut = _cut(result.message, result.text, keep)
        tokens = price(cut)
        if tokens > target:
            high, high_tokens = keep, tokens
            continue
        low, low_tokens, best = keep, tokens, cut
        if tokens >= target * _CLOSE:
            break
    return best, low_tokens


def _cut(message: Mapping[str, object], text: str, keep: int) -> Message:
    """Copy *message* with a result of which *keep* characters are left, half of them its tail."""
    head, tail = text[: keep - keep // 2], text[len(text) - keep // 2 :]
    marker = _MARKER.format(len(text) - keep)
    shortened = "\n".join(part for part in (head, marker, tail) if part)
    cut = message.clone() if isinstance(message, Message) else Message(message)
    cut.pop("usage", None)
    cut["meta"] = _replaced(cut.meta, ("activity", "function", "result"), shortened)
    return cut


def _replaced(value: object, path: tuple[str, ...], leaf: object) -> object:
    """Copy nested mappings with another value at the end of *path*."""
    if not path:
        return leaf
    inner = value if isinstance(value, Mapping) else {}
    return {**inner, path[0]: _replaced(inner.get(path[0]), path[1:], leaf)}

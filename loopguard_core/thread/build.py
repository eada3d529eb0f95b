"""The newest messages that fit a token budget.

Source: thread specification, section 3. Messages are priced, copied and checked from the newest
to the oldest and only as far as the walk goes, so a long thread costs what is kept of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Literal, TypeAlias

from loopguard_core.errors import InvalidInputError, MissingEstimatorError
from loopguard_core.message import Message, as_message, as_messages

if TYPE_CHECKING:
    from loopguard_core.tokens import Estimator

__all__ = ["BuildResult", "Inclusive", "build_thread", "price_of"]

Inclusive: TypeAlias = (
    Literal["all"] | Callable[[Message, float], Mapping[str, object] | None] | None
)
"""What becomes of the message that straddles the budget, see `build_thread`."""


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What `build_thread` kept.

    Args:
        messages: Oldest first, as copies whose `usage` is `{"tokens": price}`.
        usage: `{"tokens": total}`, the sum of the prices.
    """

    messages: list[Message]
    usage: dict[str, float]


def build_thread(
    messages: Sequence[Mapping[str, object]],
    *,
    max_tokens: float,
    estimate: Estimator | None = None,
    min_messages: int | None = 0,
    inclusive: Inclusive = None,
) -> BuildResult:
    """Keep copies of the newest messages that cost at most *max_tokens*, and name what they cost.

    A message's price is what `price_of` says. The walk stops at the first message that does not
    fit, and once the budget is used up exactly unless *inclusive* is given.

    Args:
        messages: The thread, oldest first. Nothing in it is changed.
        max_tokens: The budget. Infinity keeps everything; with a negative one only protected
            and included messages are kept.
        estimate: Names the tokens of a message; may be None if every message reached carries
            usage. What it raises comes through unchanged.
        min_messages: That many of the newest messages are kept whatever they cost. The absolute
            value counts; None is 0.
        inclusive: What becomes of the first message that does not fit. None drops it, `"all"`
            keeps it whole. A callable gets its copy and the room that is left, and returns what
            to keep instead (its `usage` is clamped to the room) or None; without any room it is
            not asked, and the message is kept whole.

    Raises:
        MissingEstimatorError: A message without usage was reached, and there is no *estimate*.
        InvalidInputError: An argument, or a message that was reached, cannot be used.
    """
    thread = as_messages(messages)
    _check(max_tokens, estimate, inclusive)
    protected = _protected_count(min_messages)
    kept: list[Message] = []
    total: float = 0
    for position in range(len(thread) - 1, -1, -1):
        message, price = _working_copy(thread[position], estimate, position)
        is_protected = len(thread) - position <= protected
        if total + price > max_tokens and not is_protected:
            included, price = _straddling(message, price, max_tokens - total, inclusive)
            kept += included
            total += price
            break
        kept.append(message)
        total += price
        if total >= max_tokens and not is_protected and inclusive is None:
            break
    kept.reverse()
    return BuildResult(kept, {"tokens": total})


def price_of(message: Mapping[str, object], estimate: Estimator | None, position: int) -> float:
    """Return the tokens of *message*: its recorded usage, else what *estimate* says.

    Usage is recorded if `usage["tokens"]` is a number of at least 0, not a bool and not NaN. A
    price that is no finite number of at least 0 counts as 0. Source: thread specification, section 3.1.

    Args:
        message: Any message; it is not changed.
        estimate: Asked only if *message* carries no usage that counts.
        position: Where the message stands, for the error.

    Returns:
        A finite number of at least 0.

    Raises:
        MissingEstimatorError: *estimate* is needed and None.
    """
    usage = message.get("usage")
    recorded = usage.get("tokens") if usage is not None and isinstance(usage, Mapping) else None
    if recorded is not None and _double(recorded) >= 0:
        return _normalised(recorded)
    if estimate is None:
        raise MissingEstimatorError(position)
    return _normalised(estimate(message))


def _working_copy(
    message: Mapping[str, object], estimate: Estimator | None, position: int
) -> tuple[Message, float]:
    """Copy *message* with exactly its price as its usage; a subclass of Message stays one."""
    as_message(message, field=f"messages[{position}]")
    price = price_of(message, estimate, position)
    copy = message.clone() if isinstance(message, Message) else Message(message)
    copy["usage"] = {"tokens": price}
    return copy, price


def _straddling(
    message: Message, price: float, room: float, inclusive: Inclusive
) -> tuple[list[Message], float]:
    """Decide what is kept of the first message that does not fit, and at what price."""
    if inclusive is None:
        return [], 0
    if inclusive == "all" or room <= 0:
        return [message], price
    answer = inclusive(message, room)
    if answer is None:
        return [], 0
    as_message(answer, field="inclusive(message, room)")
    kept = answer if isinstance(answer, Message) else Message(answer)
    usage = kept.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    price = _normalised(usage.get("tokens"))
    if price <= room:
        return [kept], price
    clamped = kept.clone()
    clamped["usage"] = {**usage, "tokens": room}
    return [clamped], room


def _double(value: object) -> float:
    """Return *value* as a double; NaN if it is no number, infinite if it is beyond a double."""
    # int and float first: asking an abstract class costs more than all the rest.
    if isinstance(value, bool) or not isinstance(value, (int, float, Real)):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return -math.inf if value < 0 else math.inf


def _normalised(value: object) -> float:
    """Return *value* if it is a finite number of at least 0, else 0."""
    number = _double(value)
    if not 0 <= number < math.inf:
        return 0
    return value if isinstance(value, (int, float)) else number


def _check(max_tokens: float, estimate: Estimator | None, inclusive: Inclusive) -> None:
    """Refuse arguments that no walk can use, before it starts."""
    if math.isnan(_double(max_tokens)):
        raise InvalidInputError("max_tokens", max_tokens, "a number of tokens that is not NaN")
    if estimate is not None and not callable(estimate):
        raise InvalidInputError("estimate", estimate, "a callable or None")
    if inclusive not in (None, "all") and not callable(inclusive):
        raise InvalidInputError("inclusive", inclusive, "None, 'all' or a callable")


def _protected_count(min_messages: int | None) -> int:
    if min_messages is None:
        return 0
    if isinstance(min_messages, bool) or not isinstance(min_messages, int):
        raise InvalidInputError("min_messages", min_messages, "an integer or None")
    return abs(min_messages)

"""Which answers of an endpoint are worth another try, and after how long.

The rules are those of the `openai` package, which applies them to every 5xx; here a tool call
that was cut is told apart first, and that needs a loop of our own. Checked against openai 3.57.
"""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["backoff_s", "wait_s"]

_LONGEST_WAIT_S: Final = 120
_FIRST_BACKOFF_S: Final = 0.5
_LONGEST_BACKOFF_S: Final = 8.0
_JITTER: Final = 0.25

_TRANSIENT: Final = frozenset({408, 409, 429})  # timeout, conflict, rate limit
_SERVER_ERROR: Final = 500


def wait_s(status: int, headers: Mapping[str, str], attempt: int) -> float | None:
    """Return the seconds to wait before the same request may succeed; None if it will not soon.

    What the endpoint asks for is done (`retry-after-ms`, and `retry-after` in seconds or as a
    date), unless it is more than two minutes; whether to try again at all is for it to say too
    (`x-should-retry`).

    Args:
        status: The HTTP status.
        headers: The headers, read without regard to case.
        attempt: The number of the try that failed, from 0.
    """
    asked = _asked_s(headers)
    if asked is not None and asked > _LONGEST_WAIT_S:
        return None
    said = headers.get("x-should-retry")
    again = said == "true" if said in {"true", "false"} else _is_transient(status)
    if not again:
        return None
    return backoff_s(attempt) if asked is None else asked


def backoff_s(attempt: int) -> float:
    """Return the seconds to wait where nobody says how long: doubled with every try, up to 8.

    Up to a quarter less, by chance, so that many clients do not come back at one time.
    """
    wait = min(math.ldexp(_FIRST_BACKOFF_S, min(attempt, 10)), _LONGEST_BACKOFF_S)
    return wait * (1 - _JITTER * random.random())  # noqa: S311 - chance, no secret


def _is_transient(status: int) -> bool:
    return status in _TRANSIENT or status >= _SERVER_ERROR


def _asked_s(headers: Mapping[str, str]) -> float | None:
    after = headers.get("retry-after", "")
    asked = _number(headers.get("retry-after-ms", ""), per_second=1000)
    if asked is None:
        asked = _number(after)
    if asked is None:
        asked = _until(after)
    return asked if asked is not None and asked > 0 else None


def _number(text: str, per_second: int = 1) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value / per_second if math.isfinite(value) else None


def _until(date: str) -> float | None:
    try:
        then = parsedate_to_datetime(date)
    except (ValueError, TypeError, OverflowError):
        return None
    return (then.replace(tzinfo=then.tzinfo or UTC) - datetime.now(UTC)).total_seconds()

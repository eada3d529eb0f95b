"""What is tried again, and when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from loopguard_core.agent.runner.retries import backoff_s, wait_s


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_what_passes(status: int) -> None:
    """Rate limits, conflicts, timeouts and a server's own errors."""
    assert wait_s(status, {}, 0) is not None


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_what_does_not(status: int) -> None:
    """A refused request is refused again."""
    assert wait_s(status, {"retry-after": "1"}, 0) is None


def test_the_endpoint_knows_better() -> None:
    """It may say so about any status."""
    assert wait_s(400, {"x-should-retry": "true"}, 0) is not None
    assert wait_s(500, {"x-should-retry": "false"}, 0) is None
    assert wait_s(500, {"x-should-retry": "?"}, 0) is not None


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "120"}, 120),
        ({"retry-after": "121"}, None),
    ],
)
def test_the_endpoint_says_when(headers: dict[str, str], expected: float | None) -> None:
    """Up to two minutes; whoever asks for more is not waited for."""
    assert wait_s(429, headers, 0) == expected


def test_a_date_to_wait_for() -> None:
    """With a zone, or without one, which is UTC."""
    then = datetime.now(UTC) + timedelta(seconds=30)
    for text in (format_datetime(then, usegmt=True), then.strftime("%d %b %Y %H:%M:%S")):
        wait = wait_s(429, {"retry-after": text}, 0)
        assert wait is not None
        assert 25 < wait <= 30


@pytest.mark.parametrize(
    "text", ["", "soon", "0", "-5", "nan", "inf", "Thu, 01 Jan 1970 00:00:00 GMT", "99 Foo 1"]
)
def test_what_says_nothing_is_passed_over(text: str) -> None:
    """Then the wait is our own."""
    wait = wait_s(429, {"retry-after": text}, 0)
    assert wait is not None
    assert 0.375 <= wait <= 0.5


@pytest.mark.parametrize(
    ("attempt", "longest"), [(0, 0.5), (1, 1), (3, 4), (4, 8), (5, 8), (9999, 8)]
)
def test_waits_double(attempt: int, longest: float) -> None:
    """Up to eight seconds, a quarter less by chance."""
    assert 0.75 * longest <= backoff_s(attempt) <= longest

"""What a session asks of a tracer.

Source: agent specification, section 17.
"""

from __future__ import annotations

from typing import Protocol, Self

__all__ = ["Span", "Tracer"]


class Span(Protocol):
    """One stretch of work; exactly one of `end` and `end_error` closes it."""

    def set(self, key: str, value: str | int) -> Self:
        """Add an attribute; returns the span, so that calls can be chained."""
        ...

    def end(self) -> None:
        """Close the span of work that succeeded."""
        ...

    def end_error(self, error: BaseException) -> None:
        """Close the span of work that failed."""
        ...


class Tracer(Protocol):
    """Starts spans. The current span is the parent of what is started within its task."""

    def start(self, name: str) -> Span:
        """Start a span; it is current until it ends."""
        ...

"""A span of OpenTelemetry as a session uses it; importing this needs the extra `otel`."""

from __future__ import annotations

from typing import Final, Self

from opentelemetry import context, trace
from opentelemetry.trace import Status, StatusCode

__all__ = ["OpenTelemetrySpan", "default_tracer"]

_SCOPE: Final = "loopguard_core.agent"


def default_tracer() -> trace.Tracer:
    """Return the tracer that the global provider has for sessions."""
    return trace.get_tracer(_SCOPE)


class OpenTelemetrySpan:
    """A `Span` that is the current one until it ends.

    Args:
        span: The span, just started.
    """

    def __init__(self, span: trace.Span) -> None:
        self._span = span
        self._token = context.attach(trace.set_span_in_context(span))

    def set(self, key: str, value: str | int) -> Self:
        """Add an attribute; returns the span."""
        self._span.set_attribute(key, value)
        return self

    def end(self) -> None:
        """Close the span of work that succeeded."""
        context.detach(self._token)
        self._span.end()

    def end_error(self, error: BaseException) -> None:
        """Close the span of work that failed; the error becomes an event of it."""
        self._span.record_exception(error)
        self._span.set_status(Status(StatusCode.ERROR, str(error)))
        self.end()

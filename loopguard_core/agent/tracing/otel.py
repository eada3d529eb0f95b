"""`OpenTelemetryTracer`: the spans of a session in OpenTelemetry; needs the extra `otel`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_core.errors import checked_methods, missing_extra

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from .otel_span import OpenTelemetrySpan

__all__ = ["OpenTelemetryTracer"]


class OpenTelemetryTracer:
    """A `Tracer` that hands every span on to OpenTelemetry.

    A span is current until it ends, so that what tools and clients trace hangs below it.

    Args:
        tracer: Where spans are started; None takes the global provider's.

    Raises:
        ImportError: `opentelemetry-api` is missing; the text names the extra.
    """

    def __init__(self, tracer: Tracer | None = None) -> None:
        try:  # here and not above, so that the package can be imported without the extra
            from .otel_span import OpenTelemetrySpan, default_tracer  # noqa: PLC0415
        except ImportError as error:
            raise missing_extra(error, package="opentelemetry", extra="otel") from error
        self._span = OpenTelemetrySpan
        if tracer is not None:
            checked_methods("tracer", tracer, "an OpenTelemetry tracer", "start_span")
        self._tracer = default_tracer() if tracer is None else tracer

    def start(self, name: str) -> OpenTelemetrySpan:
        """Start a span below the current one; it is current until it ends."""
        return self._span(self._tracer.start_span(name))

"""Spans of turns, chats and builds: the protocol, and a bridge to OpenTelemetry."""

from __future__ import annotations

from .otel import OpenTelemetryTracer
from .protocol import Span, Tracer
from .spans import span

__all__ = ["OpenTelemetryTracer", "Span", "Tracer", "span"]

"""Spans of turns, chats and builds: the protocol, and a bridge to OpenTelemetry."""

from __future__ import annotations

from .protocol import Span, Tracer

__all__ = ["Span", "Tracer"]

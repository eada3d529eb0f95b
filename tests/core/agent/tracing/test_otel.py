"""The bridge to OpenTelemetry, with the SDK's own exporter."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from loopguard_core.agent.tracing import OpenTelemetryTracer, span

sdk = pytest.importorskip("opentelemetry.sdk.trace")
export = pytest.importorskip("opentelemetry.sdk.trace.export")
in_memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")


def exported() -> tuple[OpenTelemetryTracer, Any]:
    """Return a tracer, and the exporter that has its finished spans."""
    exporter = in_memory.InMemorySpanExporter()
    provider = sdk.TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    return OpenTelemetryTracer(provider.get_tracer("test")), exporter


def test_spans_hang_below_each_other() -> None:
    """A span is the parent of what is started while it is current."""
    tracer, exporter = exported()
    with span(tracer, "outer", thread_id="t", n_messages=2):
        with span(tracer, "first"):
            pass
        with span(tracer, "second"):
            pass
    with span(tracer, "later"):
        pass
    spans = {s.name: s for s in exporter.get_finished_spans()}
    outer = spans["outer"]
    assert dict(outer.attributes or {}) == {"thread_id": "t", "n_messages": 2}
    assert spans["first"].parent == spans["second"].parent == outer.get_span_context()
    assert outer.parent is None
    assert spans["later"].parent is None


def test_an_error_is_recorded() -> None:
    """A span that failed has the status and the exception."""
    tracer, exporter = exported()
    with pytest.raises(ValueError, match="broken"), span(tracer, "work"):
        raise ValueError("broken")
    [failed] = exporter.get_finished_spans()
    assert failed.status.is_ok is False
    assert failed.status.description == "broken"
    assert [event.name for event in failed.events] == ["exception"]


def test_without_a_tracer_the_global_one_is_used() -> None:
    """Nobody has to make a provider: spans then go nowhere."""
    with span(OpenTelemetryTracer(), "work", a=1) as started:
        assert started.set("b", 2) is started


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package the error says how to get it."""
    for name in [name for name in sys.modules if name.startswith("opentelemetry")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "loopguard_core.agent.tracing.otel_span", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ImportError, match=r"loopguard-core\[otel\]"):
        OpenTelemetryTracer()

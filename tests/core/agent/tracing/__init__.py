"""Tests of spans and their bridge to OpenTelemetry."""

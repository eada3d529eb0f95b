"""A compact form for tool results that are JSON."""

from __future__ import annotations

from .encode import MAX_DEPTH, encode_tight_c

__all__ = ["MAX_DEPTH", "encode_tight_c"]

"""How a session asks a model: the protocol, and a client of OpenAI-compatible endpoints."""

from __future__ import annotations

from .protocol import ChatOptions, Chunk, LLMRunner, TokenReport

__all__ = ["ChatOptions", "Chunk", "LLMRunner", "TokenReport"]

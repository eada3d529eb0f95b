"""How a session asks a model: the protocol, and a client of OpenAI-compatible endpoints."""

from __future__ import annotations

from .config import OpenAIRunnerConfig
from .decoder import StreamDecoder
from .errors import (
    EndpointError,
    InputTooLargeError,
    RunnerError,
    StreamIncompleteError,
    ToolCallCutError,
    tells_cut_call,
    tells_large_input,
)
from .events import normalize_arguments
from .openai_runner import OpenAIRunner
from .protocol import REPETITION, ChatOptions, Chunk, LLMRunner, TokenReport
from .repetition import finding_text

__all__ = [
    "REPETITION",
    "ChatOptions",
    "Chunk",
    "EndpointError",
    "InputTooLargeError",
    "LLMRunner",
    "OpenAIRunner",
    "OpenAIRunnerConfig",
    "RunnerError",
    "StreamDecoder",
    "StreamIncompleteError",
    "TokenReport",
    "ToolCallCutError",
    "finding_text",
    "normalize_arguments",
    "tells_cut_call",
    "tells_large_input",
]

"""How a model call fails, told apart as far as a caller can act on it.

    RunnerError
    +-- StreamIncompleteError  the stream ended, or broke off, before the reply was complete
    +-- EndpointError          the endpoint says that it failed
        +-- ToolCallCutError     the model's tool call was cut, and the endpoint could not read it
        +-- InputTooLargeError   the request is larger than the model's context

Everything else that fails before a stream begins is raised as the `openai` package raises it.
Source: agent specification, section 18.
"""

from __future__ import annotations

from typing import Final

from loopguard_core.errors import LoopguardError

__all__ = [
    "EndpointError",
    "InputTooLargeError",
    "RunnerError",
    "StreamIncompleteError",
    "ToolCallCutError",
    "tells_cut_call",
    "tells_large_input",
    "told_apart",
]

_SHOWN_CHARS: Final = 500
_SERVER_ERROR: Final = 500

_TOOL_CALL: Final = ("tool call", "tool_call")
_CUT: Final = ("unexpected end", "missing closing quote", "parse_error", "invalid string")
_LARGE: Final = (
    "too large to process",
    "physical batch size",
    "exceeds the available context",
    "exceed_context_size",
    # OpenAI's code, and what it and others say in words
    "context_length_exceeded",
    "maximum context length",
    "prompt is too long",
)


class RunnerError(LoopguardError):
    """The base of what a runner finds wrong with a model call."""


class StreamIncompleteError(RunnerError):
    """The stream ended before the reply did; `__cause__` is what broke it, if something did."""

    def __init__(self, why: str) -> None:
        super().__init__(f"incomplete stream: {why}")


class EndpointError(RunnerError):
    """The endpoint answered with an error.

    Args:
        body: What it said; the text of the error shows the start alone.
        status: The HTTP status; 0 for an error that came within a stream.
    """

    def __init__(self, body: str, status: int = 0) -> None:
        self.body = body
        self.status = status
        where = f"status {status}" if status else "in the stream"
        super().__init__(f"the endpoint failed ({where}): {body[:_SHOWN_CHARS]}")


class ToolCallCutError(EndpointError):
    """The model's tool call was cut off; asking for the same again costs as much and helps not.

    A smaller call helps, so this is for the model to hear.
    """


class InputTooLargeError(EndpointError):
    """The request does not fit the model's context; a smaller one may."""


def told_apart(body: str, status: int = 0) -> EndpointError | None:
    """Return the error that *body* tells of, if asking for the same again cannot help.

    Args:
        body: What the endpoint said.
        status: The HTTP status; 0 for an error that came within a stream.
    """
    # A request that was refused (4xx) was never given to the model, so no call of its was cut.
    is_server_error = not status or status >= _SERVER_ERROR
    if is_server_error and tells_cut_call(body):
        return ToolCallCutError(body, status)
    return InputTooLargeError(body, status) if tells_large_input(body) else None


def tells_cut_call(body: str) -> bool:
    """Return True if the body of a server error tells of a tool call that was cut off."""
    said = body.lower()
    return "parse" in said and _mentions(said, _TOOL_CALL) and _mentions(said, _CUT)


def tells_large_input(body: str) -> bool:
    """Return True if the body of an error tells of a request that is too large for the model."""
    return _mentions(body.lower(), _LARGE)


def _mentions(said: str, words: tuple[str, ...]) -> bool:
    return any(word in said for word in words)

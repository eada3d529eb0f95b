"""Calls that cannot be run as they came: mended where that is safe, else refused."""

from __future__ import annotations

import json
import uuid
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from langchain.agents.middleware import ModelResponse
from langchain_core.messages import AIMessage, InvalidToolCall, ToolCall

from loopguard_core.agent import ToolHygiene, stand_in
from loopguard_core.agent.arguments import refusal_cut, refusal_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["mending", "readable"]

# What OpenAI and Google, Anthropic, Bedrock and Ollama say of a reply that reached its limit of
# tokens; OpenAI's Responses say it one level deeper.
_STOP_KEYS: Final = ("finish_reason", "stop_reason", "stopReason", "done_reason")
_INCOMPLETE: Final = "incomplete_details"
_CUT: Final = frozenset({"length", "max_tokens", "max_output_tokens"})

_UNDERWAY: Final[ContextVar[ToolHygiene | None]] = ContextVar("loopguard_mending", default=None)


@contextmanager
def mending(hygiene: ToolHygiene) -> Iterator[None]:
    """Let whoever is nearer to the model see the calls of its replies as they will be.

    A guard inside judges calls before they get here, and could not tell the one that is run for
    the one that it saw.
    """
    token = _UNDERWAY.set(hygiene)
    try:
        yield
    finally:
        _UNDERWAY.reset(token)


def readable(said: ModelResponse[Any], hygiene: ToolHygiene | None = None) -> ModelResponse[Any]:
    """Return a reply whose calls can all be run or refused; the same one if they can.

    Args:
        said: The reply.
        hygiene: Mends it; None takes that of the middleware around, and does nothing without one.
    """
    hygiene = hygiene or _UNDERWAY.get()
    if hygiene is None:
        return said
    result = [
        _mended(some, hygiene) if isinstance(some, AIMessage) else some for some in said.result
    ]
    if all(mended is some for mended, some in zip(result, said.result, strict=True)):
        return said
    return ModelResponse(result, said.structured_response)


def _mended(message: AIMessage, hygiene: ToolHygiene) -> AIMessage:
    """Return *message*, or a copy with its unreadable calls among the others."""
    calls = list(message.tool_calls)
    if message.invalid_tool_calls:
        calls += [_call(call, hygiene) for call in message.invalid_tool_calls]
    elif calls and _is_cut(message.response_metadata) and not refusal_in(calls[-1]["args"]):
        # LangChain closes the brackets of a streamed call that was cut off (langchain-core 1.8),
        # so it looks whole, and half a file would be written.
        calls[-1] = _refused(calls[-1])
    else:
        return message
    return message.model_copy(update={"tool_calls": calls, "invalid_tool_calls": []})


def _is_cut(metadata: Mapping[str, Any]) -> bool:
    """Return True if the provider says that the reply reached its limit of tokens."""
    details = metadata.get(_INCOMPLETE)
    said = [metadata.get(key) for key in _STOP_KEYS]
    said.append(details.get("reason") if isinstance(details, dict) else None)
    return any(isinstance(reason, str) and reason.lower() in _CUT for reason in said)


def _refused(call: ToolCall) -> ToolCall:
    text = json.dumps(call["args"], ensure_ascii=False)
    args = json.loads(stand_in(text, refusal_cut(len(text))))
    return ToolCall(name=call["name"], args=args, id=call["id"], type="tool_call")


def _call(call: InvalidToolCall, hygiene: ToolHygiene) -> ToolCall:
    """Return an unreadable call with mended arguments, or with what stands in for them."""
    name, text = call["name"] or "", call["args"] or ""
    checked = hygiene.checks(())(name, text)
    args = json.loads(stand_in(text, checked.refusal) if checked.refusal else checked.text or "{}")
    # LangGraph runs no call without an id, and nothing could answer it.
    call_id = call["id"] or f"call_{uuid.uuid4().hex}"
    return ToolCall(name=name, args=args, id=call_id, type="tool_call")

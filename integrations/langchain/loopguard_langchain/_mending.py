"""Calls that cannot be run as they came: mended where that is safe, else refused."""

from __future__ import annotations

import json
import uuid
from contextlib import contextmanager
from contextvars import ContextVar
from operator import is_
from typing import TYPE_CHECKING, Any, Final

from langchain.agents.middleware import ModelResponse
from langchain.agents.structured_output import AutoStrategy, ToolStrategy
from langchain_core.messages import AIMessage, InvalidToolCall, ToolCall, ToolMessage

from loopguard_core.agent import stand_in
from loopguard_core.agent.arguments import refusal_cut, refusal_in, refusal_syntax

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from langchain.agents.middleware import ModelRequest
    from langchain_core.messages import BaseMessage

    from loopguard_core.agent import ToolHygiene

__all__ = ["Mending", "readable"]

# What OpenAI and Google, Anthropic, Bedrock and Ollama say of a reply that reached its limit of
# tokens; OpenAI's Responses say it one level deeper.
_STOP_KEYS: Final = ("finish_reason", "stop_reason", "stopReason", "done_reason")
_INCOMPLETE: Final = "incomplete_details"
_CUT: Final = frozenset({"length", "max_tokens", "max_output_tokens"})

_UNDERWAY: Final[ContextVar[Mending | None]] = ContextVar("loopguard_mending", default=None)


class Mending:
    """Mends the replies to one request.

    Args:
        hygiene: Checks arguments.
        request: What the model is asked.
    """

    def __init__(self, hygiene: ToolHygiene, request: ModelRequest[Any]) -> None:
        self._hygiene = hygiene
        # Calls in which a model fills in a form are no calls of tools: LangChain reads them before
        # anybody else sees the reply (langchain 1.5), and nothing would run or answer a mended one.
        self._forms = _form_names(request.response_format)

    @contextmanager
    def underway(self) -> Iterator[None]:
        """Let whoever is nearer to the model see the calls of its replies as they will be.

        A guard inside judges calls before they get here, and could not tell the one that is run
        for the one that it saw.
        """
        token = _UNDERWAY.set(self)
        try:
            yield
        finally:
            _UNDERWAY.reset(token)

    def readable(self, said: ModelResponse[Any]) -> ModelResponse[Any]:
        """Return a reply whose calls can all be run or refused; the same one if they can."""
        result: list[BaseMessage] = []
        for some in said.result:
            result += self._mended(some) if isinstance(some, AIMessage) else [some]
        if len(result) == len(said.result) and all(map(is_, result, said.result)):
            return said
        return ModelResponse(result, said.structured_response)

    def _mended(self, message: AIMessage) -> list[BaseMessage]:
        """Return *message*, or a copy with its unreadable calls among the others.

        Behind it stand the answers to forms that cannot be read, so that the model fills them in
        again, as LangChain answers those that it can read and that are wrong.
        """
        calls = list(message.tool_calls)
        answers: list[BaseMessage] = []
        if message.invalid_tool_calls:
            mended = [self._call(call) for call in message.invalid_tool_calls]
            calls += mended
            answers += [_refused_form(call) for call in mended if call["name"] in self._forms]
        elif calls and _is_cut(message.response_metadata) and self._runs(calls[-1]):
            # LangChain closes the brackets of a streamed call that was cut off (langchain-core
            # 1.8), so it looks whole, and half a file would be written.
            calls[-1] = _refused(calls[-1])
        else:
            return [message]
        update = {"tool_calls": calls, "invalid_tool_calls": []}
        return [message.model_copy(update=update), *answers]

    def _runs(self, call: ToolCall) -> bool:
        return call["name"] not in self._forms and not refusal_in(call["args"])

    def _call(self, call: InvalidToolCall) -> ToolCall:
        """Return an unreadable call with mended arguments, or with what stands in for them."""
        name, text = call["name"] or "", call["args"] or ""
        checked = self._hygiene.checks(())(name, text)
        refusal = checked.refusal
        if not refusal and name in self._forms:
            refusal = refusal_syntax("its arguments are no JSON")
        args = json.loads(stand_in(text, refusal) if refusal else checked.text or "{}")
        # LangGraph runs no call without an id, and nothing could answer it.
        call_id = call["id"] or f"call_{uuid.uuid4().hex}"
        return ToolCall(name=name, args=args, id=call_id, type="tool_call")


def readable(said: ModelResponse[Any]) -> ModelResponse[Any]:
    """Return a reply as the middleware around mends it; as it is without one."""
    underway = _UNDERWAY.get()
    return said if underway is None else underway.readable(said)


def _form_names(response_format: object) -> frozenset[str]:
    """Return the names that the forms of an agent have among its tools."""
    if isinstance(response_format, AutoStrategy):
        response_format = ToolStrategy(response_format.schema)
    if not isinstance(response_format, ToolStrategy):
        return frozenset()
    return frozenset(spec.name for spec in response_format.schema_specs)


def _refused_form(call: ToolCall) -> ToolMessage:
    # Without a name: by that of a form langchain 1.2.18 knows a run that is over, beside calls.
    return ToolMessage(refusal_in(call["args"]), tool_call_id=call["id"] or "", status="error")


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

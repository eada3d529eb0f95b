"""`ToolHygieneMiddleware`: arguments are checked in front of tools, results encoded behind them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, InvalidToolCall, ToolCall, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from typing_extensions import override

from loopguard_core.agent import ToolDefinition, ToolHygiene, stand_in
from loopguard_core.agent.arguments import refusal_cut, refusal_in
from loopguard_core.errors import checked

from ._shaping import RAW

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from langchain.agents.middleware.types import ToolCallRequest
    from langgraph.types import Command

__all__ = ["ToolHygieneMiddleware"]

# What OpenAI, Anthropic and Google say of a reply that reached its limit of tokens.
_STOP_KEYS: Final = ("finish_reason", "stop_reason")
_CUT: Final = frozenset({"length", "max_tokens"})


class ToolHygieneMiddleware(AgentMiddleware[Any, Any, Any]):
    """Refuses calls whose arguments cannot be used, and writes results in fewer tokens.

        agent = create_agent(model, tools, middleware=[ToolHygieneMiddleware()])

    A refused call does not run; its answer says what is wrong and has the status `error`. Calls
    that LangChain could not parse, on which a run otherwise ends without a word, are mended where
    that is safe, and refused otherwise; so is the last call of a reply that reached its limit of
    tokens. A result that is text is encoded; what the tool returned
    stays in `additional_kwargs["loopguard_raw"]` where that differs, and artifacts are not
    touched. Tools of a provider never come here.

    Args:
        hygiene: What is checked and how results are written; None is `ToolHygiene()`.

    Raises:
        InvalidInputError: *hygiene* is something else.
    """

    def __init__(self, *, hygiene: ToolHygiene | None = None) -> None:
        super().__init__()
        self._hygiene = checked("hygiene", hygiene, ToolHygiene)

    @override
    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Mend or refuse the calls that could not be parsed."""
        return _readable(handler(request), self._hygiene)

    @override
    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Mend or refuse the calls that could not be parsed."""
        return _readable(await handler(request), self._hygiene)

    @override
    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """Run a call whose arguments are fit."""
        return self._refused(request) or self._encoded(handler(request))

    @override
    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Run a call whose arguments are fit."""
        return self._refused(request) or self._encoded(await handler(request))

    def _refused(self, request: ToolCallRequest) -> ToolMessage | None:
        call, tool = request.tool_call, request.tool
        refusal = refusal_in(call["args"])
        if not refusal and tool is not None:
            function = convert_to_openai_tool(tool)["function"]
            defined = ToolDefinition(name=call["name"], parameters=function.get("parameters"))
            refusal = self._hygiene.checks([defined])(call["name"], call["args"]).refusal
        if not refusal:
            return None
        return ToolMessage(
            refusal, name=call["name"], tool_call_id=call["id"] or "", status="error"
        )

    def _encoded(self, answer: ToolMessage | Command[Any]) -> ToolMessage | Command[Any]:
        if not isinstance(answer, ToolMessage) or not isinstance(answer.content, str):
            return answer
        encoded = self._hygiene.encoded(answer.content)
        if encoded == answer.content:
            return answer
        extra = {**answer.additional_kwargs, RAW: answer.content}
        return answer.model_copy(update={"content": encoded, "additional_kwargs": extra})


def _readable(said: ModelResponse[Any], hygiene: ToolHygiene) -> ModelResponse[Any]:
    """Return a reply whose calls can all be run or refused."""
    result = [
        _mended(some, hygiene) if isinstance(some, AIMessage) else some for some in said.result
    ]
    if all(mended is some for mended, some in zip(result, said.result, strict=True)):
        return said
    return ModelResponse(result, said.structured_response)


def _mended(message: AIMessage, hygiene: ToolHygiene) -> AIMessage:
    """Return *message*, or a copy with its unreadable calls among the others."""
    calls = list(message.tool_calls)
    if calls and not message.invalid_tool_calls and _is_cut(message):
        # LangChain closes the brackets of a streamed call that was cut off (langchain-core 1.8),
        # so it looks whole, and half a file would be written.
        calls[-1] = _refused_call(calls[-1], refusal_cut(len(json.dumps(calls[-1]["args"]))))
    elif not message.invalid_tool_calls:
        return message
    calls += [_call(call, hygiene) for call in message.invalid_tool_calls]
    return message.model_copy(update={"tool_calls": calls, "invalid_tool_calls": []})


def _is_cut(message: AIMessage) -> bool:
    """Return True if the provider says that the reply reached its limit of tokens."""
    said = (message.response_metadata.get(key) for key in _STOP_KEYS)
    return any(isinstance(reason, str) and reason.lower() in _CUT for reason in said)


def _refused_call(call: ToolCall, refusal: str) -> ToolCall:
    args = json.loads(stand_in(json.dumps(call["args"], ensure_ascii=False), refusal))
    return ToolCall(name=call["name"], args=args, id=call["id"], type="tool_call")


def _call(call: InvalidToolCall, hygiene: ToolHygiene) -> ToolCall:
    """Return an unreadable call with mended arguments, or with what stands in for them."""
    name, text = call["name"] or "", call["args"] or ""
    checked_arguments = hygiene.checks(())(name, text)
    refusal = checked_arguments.refusal
    args = json.loads(stand_in(text, refusal) if refusal else checked_arguments.text or "{}")
    return ToolCall(name=name, args=args, id=call["id"], type="tool_call")

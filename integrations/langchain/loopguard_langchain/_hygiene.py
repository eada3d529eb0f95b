"""`ToolHygieneMiddleware`: arguments are checked in front of tools, results encoded behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from typing_extensions import override

from loopguard_core.agent import ToolDefinition, ToolHygiene
from loopguard_core.agent.arguments import refusal_in
from loopguard_core.errors import checked

from ._content import read_content
from ._mending import Mending
from ._slots import RAW

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from langchain.agents.middleware.types import ToolCallRequest
    from langgraph.types import Command

__all__ = ["ToolHygieneMiddleware"]

Content: TypeAlias = str | list[str | dict[Any, Any]]


class ToolHygieneMiddleware(AgentMiddleware[Any, Any, Any]):
    """Refuses calls whose arguments cannot be used, and writes results in fewer tokens.

        agent = create_agent(model, tools, middleware=[ToolHygieneMiddleware()])

    A refused call does not run; its answer says what is wrong and has the status `error`. Calls
    that LangChain could not parse, on which a run otherwise ends without a word, are mended where
    that is safe, and refused otherwise; so is the last call of a reply that reached its limit of
    tokens. A form of `response_format` that could not be parsed is refused, and the model fills it
    in again. The text of a result is encoded; what the tool returned stays in
    `additional_kwargs["loopguard_raw"]` where that differs. Artifacts, what a tool puts into the
    state by a `Command`, and the result of a tool with `return_direct`, which a person reads, are
    not touched. A refused call of such a tool ends the run all the same, as LangChain's own refusal
    does. Tools of a provider never come here.

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
        mending = Mending(self._hygiene, request)
        with mending.underway():
            said = handler(request)
        return mending.readable(said)

    @override
    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Mend or refuse the calls that could not be parsed."""
        mending = Mending(self._hygiene, request)
        with mending.underway():
            said = await handler(request)
        return mending.readable(said)

    @override
    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """Run a call whose arguments are fit."""
        return self._refused(request) or self._encoded(request, handler(request))

    @override
    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Run a call whose arguments are fit."""
        return self._refused(request) or self._encoded(request, await handler(request))

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

    def _encoded(
        self, request: ToolCallRequest, answer: ToolMessage | Command[Any]
    ) -> ToolMessage | Command[Any]:
        is_final = request.tool is not None and request.tool.return_direct
        if is_final or not isinstance(answer, ToolMessage):
            return answer
        encoded = _encoded_content(answer.content, self._hygiene)
        if encoded == answer.content:
            return answer
        extra = {**answer.additional_kwargs, RAW: read_content(answer.content).text}
        return answer.model_copy(update={"content": encoded, "additional_kwargs": extra})


def _encoded_content(content: Content, hygiene: ToolHygiene) -> Content:
    """Return the content of an answer with its text encoded, each block for itself."""
    if isinstance(content, str):
        return hygiene.encoded(content)
    return [_encoded_block(block, hygiene) for block in content]


def _encoded_block(block: str | dict[Any, Any], hygiene: ToolHygiene) -> str | dict[Any, Any]:
    if isinstance(block, str):
        return hygiene.encoded(block)
    text = block.get("text") if block.get("type") == "text" else None
    return {**block, "text": hygiene.encoded(text)} if isinstance(text, str) else block

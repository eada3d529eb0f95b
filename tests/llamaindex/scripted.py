"""One scripted model for every LlamaIndex test: what it says is a list, what it saw is too.

    model = ScriptedModel(script=[reply("", call("search", q="x")), reply("Done.")])
    agent = GuardedFunctionAgent(tools=tools, llm=model)
    ...
    model.inputs[-1]     # the messages of its last call, system message included
    model.tools[-1]      # the names of the tools it was offered, None without any

The last step of the script is repeated for ever. A step may also be a callable of the messages,
or an exception to raise. Streamed replies come in pieces.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from typing import Any, TypeAlias

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from pydantic import Field, PrivateAttr
from typing_extensions import override

Step: TypeAlias = ChatMessage | Exception | Callable[[list[ChatMessage]], ChatMessage]


def call(name: str, call_id: str | None = None, /, **arguments: Any) -> ToolCallBlock:
    """Return a call for `reply`; without an id the model gives it a new one on each use."""
    return ToolCallBlock(tool_call_id=call_id, tool_name=name, tool_kwargs=arguments)


def reply(text: str = "", *calls: ToolCallBlock, thinking: str = "") -> ChatMessage:
    """Return a message of the model: thinking, text and calls, as blocks."""
    blocks: list[Any] = [ThinkingBlock(content=thinking)] if thinking else []
    blocks += [TextBlock(text=text)] if text else []
    return ChatMessage(role="assistant", blocks=[*blocks, *calls])


def action(name: str, thought: str = "", /, **arguments: Any) -> ChatMessage:
    """Return a call in ReAct's text protocol."""
    text = f"Thought: {thought}\nAction: {name}\nAction Input: {json.dumps(arguments)}"
    return reply(text)


def answer(text: str) -> ChatMessage:
    """Return an answer in ReAct's text protocol."""
    return reply(f"Thought: I can answer.\nAnswer: {text}")


class ScriptedModel(FunctionCallingLLM):
    """A model that follows a script."""

    script: list[Any]
    """The steps; typed loosely because pydantic would try to validate, and copy, messages."""
    piece_chars: int = 4
    """How many characters one streamed chunk adds."""
    inputs: list[list[ChatMessage]] = Field(default_factory=list)
    tools: list[list[str] | None] = Field(default_factory=list)
    choices: list[Any] = Field(default_factory=list)
    """For each call, the tool choice that was asked for."""
    streamed: list[int] = Field(default_factory=list)
    """For each streamed reply, how many chunks were taken from it."""
    _ids: Any = PrivateAttr(default_factory=itertools.count)

    @property
    @override
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True, context_window=100_000)

    def _next(self, messages: Sequence[ChatMessage], kwargs: dict[str, Any]) -> ChatMessage:
        step = self.script[min(len(self.inputs), len(self.script) - 1)]
        self.inputs.append(list(messages))
        self.tools.append(kwargs.get("tools"))
        self.choices.append(kwargs.get("tool_choice"))
        if isinstance(step, Exception):
            raise step
        message: ChatMessage = step(list(messages)) if callable(step) else step
        blocks = [self._with_id(block) for block in message.blocks]
        return message.model_copy(update={"blocks": blocks})

    def _with_id(self, block: Any) -> Any:
        if isinstance(block, ToolCallBlock) and block.tool_call_id is None:
            return block.model_copy(update={"tool_call_id": f"call-{next(self._ids)}"})
        return block

    @override
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return ChatResponse(message=self._next(messages, kwargs))

    @override
    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return self.chat(messages, **kwargs)

    @override
    def stream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: Any
    ) -> Generator[ChatResponse, None, None]:
        message = self._next(messages, kwargs)
        self.streamed.append(0)
        for chunk in self._chunks(message):
            self.streamed[-1] += 1
            yield chunk

    @override
    async def astream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: Any
    ) -> AsyncGenerator[ChatResponse, None]:
        chunks = self.stream_chat(messages, **kwargs)

        async def stream() -> AsyncGenerator[ChatResponse, None]:
            for chunk in chunks:
                yield chunk

        return stream()

    def _chunks(self, message: ChatMessage) -> Generator[ChatResponse, None, None]:
        """Give thinking, text and calls piece by piece; each chunk holds all that came so far."""
        done: list[Any] = []
        for block in message.blocks:
            if isinstance(block, ToolCallBlock):
                done.append(block)
                yield self._chunk(done, "")
                continue
            kind, whole = _text_of(block)
            for start in range(0, len(whole), self.piece_chars):
                piece = whole[start : start + self.piece_chars]
                partial = kind(whole[: start + len(piece)])
                if isinstance(block, ThinkingBlock):
                    yield self._chunk([*done, partial], "", thinking_delta=piece)
                else:
                    yield self._chunk([*done, partial], piece)
            done.append(block)
        if not message.blocks:
            yield self._chunk([], "")

    def _chunk(self, blocks: list[Any], delta: str, **beside: Any) -> ChatResponse:
        message = ChatMessage(role="assistant", blocks=list(blocks))
        return ChatResponse(message=message, delta=delta, additional_kwargs=beside)

    @override
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        message = self._next([ChatMessage(content=prompt)], kwargs)
        return CompletionResponse(text=message.content or "")

    @override
    async def acomplete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        return self.complete(prompt, formatted, **kwargs)

    @override
    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> Generator[CompletionResponse, None, None]:
        text = self.complete(prompt, formatted, **kwargs).text
        for start in range(0, len(text), self.piece_chars):
            piece = text[start : start + self.piece_chars]
            yield CompletionResponse(text=text[: start + len(piece)], delta=piece)

    @override
    async def astream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> AsyncGenerator[CompletionResponse, None]:
        chunks = self.stream_complete(prompt, formatted, **kwargs)

        async def stream() -> AsyncGenerator[CompletionResponse, None]:
            for chunk in chunks:
                yield chunk

        return stream()

    @override
    def _prepare_chat_with_tools(
        self, tools: Sequence[Any], chat_history: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        names = [tool.metadata.get_name() for tool in tools]
        choice = kwargs.get("tool_choice")
        return {"messages": list(chat_history or []), "tools": names, "tool_choice": choice}

    @override
    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> list[ToolSelection]:
        return [
            ToolSelection(
                tool_id=block.tool_call_id or "",
                tool_name=block.tool_name,
                tool_kwargs=block.tool_kwargs,
            )
            for block in response.message.blocks
            if isinstance(block, ToolCallBlock)
        ]


def _text_of(block: Any) -> tuple[Callable[[str], Any], str]:
    if isinstance(block, ThinkingBlock):
        return (lambda text: ThinkingBlock(content=text)), block.content or ""
    return (lambda text: TextBlock(text=text)), block.text

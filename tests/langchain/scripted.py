"""One scripted chat model for every LangChain test: what it says is a list, what it saw is too.

    model = ScriptedModel(script=[reply("", tool_call("search", {"q": "x"})), reply("Done.")])
    agent = create_agent(model, tools)
    ...
    model.inputs[-1]     # the messages of its last call, system message included
    model.tools[-1]      # what it was offered in its last call, None without bound tools

The last step of the script is repeated for ever. A step may also be a callable of the messages,
or an exception to raise. Streamed replies come in pieces, tool calls as chunks.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolCall
from langchain_core.messages.tool import ToolCallChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field, PrivateAttr
from typing_extensions import override

if TYPE_CHECKING:
    from langchain_core.callbacks import CallbackManagerForLLMRun
    from langchain_core.messages import InvalidToolCall
    from langchain_core.runnables import Runnable

Step: TypeAlias = AIMessage | Exception | Callable[[list[BaseMessage]], AIMessage]


def tool_call(
    name: str, arguments: dict[str, Any] | None = None, call_id: str | None = None
) -> ToolCall:
    """Return a call for `reply`; without an id the model gives it a new one on each use."""
    return ToolCall(name=name, args=arguments or {}, id=call_id, type="tool_call")


def reply(text: str = "", *calls: ToolCall, reasoning: str = "") -> AIMessage:
    """Return a message of the model: text, tool calls, and reasoning as OpenAI-likes carry it."""
    extra = {"reasoning_content": reasoning} if reasoning else {}
    return AIMessage(content=text, tool_calls=list(calls), additional_kwargs=extra)


class ScriptedModel(BaseChatModel):
    """A chat model that follows a script; shared by the copies that binding makes."""

    script: list[Any]
    """The steps; typed loosely because pydantic would try to validate, and copy, messages."""
    piece_chars: int = 4
    """How many characters of text, reasoning or arguments one streamed chunk carries."""
    inputs: list[list[BaseMessage]] = Field(default_factory=list)
    tools: list[Sequence[Any] | None] = Field(default_factory=list)
    streamed: list[int] = Field(default_factory=list)
    """For each streamed reply, how many chunks were taken from it."""
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)
    _ids: Iterator[int] = PrivateAttr(default_factory=itertools.count)

    @property
    def calls(self) -> int:
        """How often the model was asked."""
        return len(self.inputs)

    @override
    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        return self.bind(tools=tools, **kwargs)

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        message = self._next(messages, kwargs.get("tools"))
        return ChatResult(generations=[ChatGeneration(message=message)])

    @override
    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        message = self._next(messages, kwargs.get("tools"))
        with self._lock:
            slot = len(self.streamed)
            self.streamed.append(0)
        for chunk in _chunks(message, self.piece_chars):
            self.streamed[slot] += 1
            yield ChatGenerationChunk(message=chunk)

    def _next(self, messages: list[BaseMessage], tools: Sequence[Any] | None) -> AIMessage:
        with self._lock:
            step: Step = self.script[min(len(self.inputs), len(self.script) - 1)]
            self.inputs.append(list(messages))
            self.tools.append(tools)
        if isinstance(step, Exception):
            raise step
        message = step if isinstance(step, AIMessage) else step(messages)
        calls = [
            {**call, "id": call["id"] or f"call_{next(self._ids)}"} for call in message.tool_calls
        ]
        # A copy: LangChain writes an id on what it gets, and a repeated id replaces a message.
        return message.model_copy(update={"tool_calls": calls}, deep=True)

    @property
    @override
    def _llm_type(self) -> str:
        return "scripted"


def _chunks(message: AIMessage, size: int) -> Iterator[AIMessageChunk]:
    """Cut *message* as a provider would: reasoning, content, calls, and an empty last chunk."""
    for piece in _pieces(message.additional_kwargs.get("reasoning_content", ""), size):
        yield AIMessageChunk(content="", additional_kwargs={"reasoning_content": piece})
    if isinstance(message.content, str):
        for piece in _pieces(message.content, size):
            yield AIMessageChunk(content=piece)
    else:
        for index, block in enumerate(message.content):
            yield from _block_chunks(block, index, size)
    for index, call in enumerate([*message.tool_calls, *message.invalid_tool_calls]):
        yield from _call_chunks(call, index, size)
    yield AIMessageChunk(
        content="",
        chunk_position="last",
        usage_metadata=message.usage_metadata,
        response_metadata=message.response_metadata,
    )


def _block_chunks(block: str | dict[str, Any], index: int, size: int) -> Iterator[AIMessageChunk]:
    """Cut the text of a content block that has one; any other block comes whole."""
    key = next((k for k in ("text", "reasoning", "thinking") if k in block), None)
    if isinstance(block, str) or key is None:
        yield AIMessageChunk(content=[block])
        return
    for piece in _pieces(block[key], size):
        yield AIMessageChunk(content=[{**block, key: piece, "index": index}])


def _call_chunks(
    call: ToolCall | InvalidToolCall, index: int, size: int
) -> Iterator[AIMessageChunk]:
    """Name and id first, then the arguments as pieces of JSON, or as the broken text they are."""
    first = ToolCallChunk(name=call["name"], args="", id=call["id"], index=index)
    yield AIMessageChunk(content="", tool_call_chunks=[first])
    written = call["args"] if isinstance(call["args"], str) else json.dumps(call["args"])
    for piece in _pieces(written, size):
        chunk = ToolCallChunk(name=None, args=piece, id=None, index=index)
        yield AIMessageChunk(content="", tool_call_chunks=[chunk])


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))

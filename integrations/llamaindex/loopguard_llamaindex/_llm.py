"""`GuardedLLM`: any model of LlamaIndex, with its replies watched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import LLM, ToolSelection
from pydantic import Field, SerializeAsAny
from typing_extensions import override

from loopguard_core import LoopGuard

from ._reply import WatchedReply, reply_underway
from ._shaper import ContextShaper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.base.llms.types import (
        ChatMessage,
        ChatResponse,
        ChatResponseAsyncGen,
        ChatResponseGen,
        CompletionResponse,
        CompletionResponseAsyncGen,
        CompletionResponseGen,
        LLMMetadata,
    )
    from llama_index.core.tools import BaseTool

__all__ = ["GuardedLLM"]


class GuardedLLM(FunctionCallingLLM):
    """A model whose replies are cut where they start to go round, in text and in thinking.

        llm = GuardedLLM(llm=OpenAI(...))

    A reply that streams ends there, one that comes at once is shortened; either way whoever asked
    goes on with what was said. Guarded agents wrap their model by themselves: there a cut reply
    is tried again, and the run ends at one cut too many.

    Args:
        llm: The model that is asked; every endpoint is passed on to it.
        guard: What to watch for. Of the policy, only `on_cut` and `disabled_detectors` count.
        shaper: Shortens the messages that are sent, also those of a run that goes on; None sends
            them as they are. A guarded agent whose model is a `GuardedLLM` uses it likewise.
    """

    llm: SerializeAsAny[LLM]
    guard: LoopGuard = Field(default_factory=LoopGuard, exclude=True)
    shaper: ContextShaper | None = Field(default=None, exclude=True)

    @classmethod
    def around(cls, llm: LLM, guard: LoopGuard) -> GuardedLLM:
        """Return *llm* itself if it is guarded, else a guarded model around it."""
        return llm if isinstance(llm, cls) else cls(llm=llm, guard=guard)

    @classmethod
    @override
    def class_name(cls) -> str:
        """Return the name that is saved with it."""
        return "GuardedLLM"

    @property
    @override
    def metadata(self) -> LLMMetadata:
        """What the model inside says about itself."""
        return self.llm.metadata

    @override
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Ask the model inside; its reply is shortened if it goes round."""
        reply = self._reply()
        return reply.whole(self.llm.chat(reply.sent(messages), **kwargs))

    @override
    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Ask the model inside; its reply is shortened if it goes round."""
        reply = self._reply()
        return reply.whole(await self.llm.achat(reply.sent(messages), **kwargs))

    @override
    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        """Ask the model inside; its reply ends where it goes round."""
        reply = self._reply()
        return reply.stream(self.llm.stream_chat(reply.sent(messages), **kwargs))

    @override
    async def astream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: Any
    ) -> ChatResponseAsyncGen:
        """Ask the model inside; its reply ends where it goes round."""
        reply = self._reply()
        return reply.astream(await self.llm.astream_chat(reply.sent(messages), **kwargs))

    @override
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Ask the model inside; its text is shortened if it goes round."""
        return self._reply().whole(self.llm.complete(prompt, formatted, **kwargs))

    @override
    async def acomplete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        """Ask the model inside; its text is shortened if it goes round."""
        return self._reply().whole(await self.llm.acomplete(prompt, formatted, **kwargs))

    @override
    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseGen:
        """Ask the model inside; its text ends where it goes round."""
        return self._reply().stream(self.llm.stream_complete(prompt, formatted, **kwargs))

    @override
    async def astream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseAsyncGen:
        """Ask the model inside; its text ends where it goes round."""
        chunks = await self.llm.astream_complete(prompt, formatted, **kwargs)
        return self._reply().astream(chunks)

    @override
    def chat_with_tools(self, tools: Sequence[BaseTool], *args: Any, **kwargs: Any) -> ChatResponse:
        """Ask the model inside; its reply is shortened if it goes round."""
        reply = self._reply()
        given = _with_history(reply, kwargs)
        return reply.whole(self._calling.chat_with_tools(tools, *args, **given))

    @override
    async def achat_with_tools(
        self, tools: Sequence[BaseTool], *args: Any, **kwargs: Any
    ) -> ChatResponse:
        """Ask the model inside; its reply is shortened if it goes round."""
        reply = self._reply()
        given = _with_history(reply, kwargs)
        return reply.whole(await self._calling.achat_with_tools(tools, *args, **given))

    @override
    def stream_chat_with_tools(
        self, tools: Sequence[BaseTool], *args: Any, **kwargs: Any
    ) -> ChatResponseGen:
        """Ask the model inside; its reply ends where it goes round."""
        reply = self._reply()
        given = _with_history(reply, kwargs)
        return reply.stream(self._calling.stream_chat_with_tools(tools, *args, **given))

    @override
    async def astream_chat_with_tools(
        self, tools: Sequence[BaseTool], *args: Any, **kwargs: Any
    ) -> ChatResponseAsyncGen:
        """Ask the model inside; its reply ends where it goes round."""
        reply = self._reply()
        given = _with_history(reply, kwargs)
        return reply.astream(await self._calling.astream_chat_with_tools(tools, *args, **given))

    @override
    def get_tool_calls_from_response(
        self, response: ChatResponse, *args: Any, **kwargs: Any
    ) -> list[ToolSelection]:
        """Read the calls as the model inside spells them."""
        return self._calling.get_tool_calls_from_response(response, *args, **kwargs)

    @override
    def structured_predict(self, *args: Any, **kwargs: Any) -> Any:
        """Ask the model inside, which may have a way of its own; not watched."""
        return self.llm.structured_predict(*args, **kwargs)

    @override
    async def astructured_predict(self, *args: Any, **kwargs: Any) -> Any:
        """Ask the model inside, which may have a way of its own; not watched."""
        return await self.llm.astructured_predict(*args, **kwargs)

    @override
    def stream_structured_predict(self, *args: Any, **kwargs: Any) -> Any:
        """Ask the model inside, which may have a way of its own; not watched."""
        return self.llm.stream_structured_predict(*args, **kwargs)

    @override
    async def astream_structured_predict(self, *args: Any, **kwargs: Any) -> Any:
        """Ask the model inside, which may have a way of its own; not watched."""
        return await self.llm.astream_structured_predict(*args, **kwargs)

    @override
    def _prepare_chat_with_tools(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        raise NotImplementedError("the model inside prepares its own requests")

    @property
    def _calling(self) -> FunctionCallingLLM:
        return cast("FunctionCallingLLM", self.llm)  # else its own error says what is missing

    def _reply(self) -> WatchedReply:
        """Return the watch of the agent that asks, or a new one."""
        reply = reply_underway() or WatchedReply(self.guard.start_run().watch_reply())
        reply.shaper = self.shaper
        return reply


def _with_history(reply: WatchedReply, given: dict[str, Any]) -> dict[str, Any]:
    history = given.get("chat_history")
    return {**given, "chat_history": reply.sent(history)} if history else given

"""A reply watched while the model streams it: a callback on a copy of the request's model.

Public seams of langchain-core 1.8: `BaseChatModel.callbacks`, `on_llm_new_token`, and the call
setting `stream`, which makes `invoke` stream where the model can and its maker did not forbid it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.callbacks.base import BaseCallbackManager
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from typing_extensions import override

from loopguard_core import Action, GuardedReply

from ._content import read_content, reasoning_beside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from langchain.agents.middleware import ModelRequest
    from langchain_core.outputs import ChatGenerationChunk, GenerationChunk

__all__ = ["CutReply", "ReplyWatcher"]


class CutReply(Exception):  # noqa: N818 - control flow, caught by the middleware
    """Ends the provider's stream from inside the callback.

    An Exception and no BaseException: langchain-core 1.8 cannot gather those in `agenerate`. It
    logs what a callback raises, so the text says that nothing failed.
    """

    def __init__(self) -> None:
        super().__init__("loopguard cut a reply that goes round in circles; nothing failed")


class ReplyWatcher(BaseCallbackHandler):
    """Feeds one reply to its watch, and raises `CutReply` when the watch says so.

    Args:
        watch: The watch of this reply.
    """

    raise_error = True
    run_inline = True

    def __init__(self, watch: GuardedReply) -> None:
        self._watch = watch
        self._kept: list[str] = []
        self._streamed = False
        self._cut = False

    def watched(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """Return *request* with this watcher on its model; streamed where that is possible."""
        model = request.model
        if not isinstance(model, BaseChatModel):
            return request  # a configurable model, whose reply is judged when it is complete
        watched = model.model_copy(update={"callbacks": self._beside(model)})
        settings = {"stream": True, **request.model_settings}
        return request.override(model=watched, model_settings=settings)

    def _beside(self, model: BaseChatModel) -> list[BaseCallbackHandler] | BaseCallbackManager:
        present = model.callbacks
        if isinstance(present, BaseCallbackManager):
            manager = present.copy()
            manager.add_handler(self, inherit=False)
            return manager
        return [*(present or ()), self]

    @override
    def on_llm_new_token(
        self,
        token: str | list[str | dict[str, Any]],
        *,
        chunk: GenerationChunk | ChatGenerationChunk | None = None,
        **kwargs: Any,
    ) -> None:
        self._streamed = True
        message = getattr(chunk, "message", None)
        if isinstance(message, BaseMessage):
            pieces = _pieces(message)
        else:
            pieces = iter([("content", str(token))])
        if self._feed(pieces):
            raise CutReply

    def was_cut(self, messages: Sequence[BaseMessage]) -> bool:
        """Return True if the reply went round; one that did not stream is read as a whole here.

        A reply can have been cut although *messages* came back: retry middleware between this
        watcher and the model takes `CutReply` for a failure, and may put words in its place.
        """
        if not self._streamed:
            for message in messages:
                if isinstance(message, AIMessage) and self._feed(_pieces(message)):
                    break
        return self._cut

    def kept_text(self) -> str:
        """Return what is worth keeping of the text of a reply that was cut."""
        return "".join(self._kept)[: self._watch.keep_chars]

    def _feed(self, pieces: Iterable[tuple[str, str]]) -> bool:
        for channel, text in pieces:
            if channel == "content":
                self._kept.append(text)
            if self._watch.feed(text, channel).action is Action.HALT:
                self._cut = True
                break
        return self._cut


def _pieces(message: BaseMessage) -> Iterator[tuple[str, str]]:
    """Give the channel and the text of everything that *message* says."""
    if isinstance(message.content, str):
        reasoning, text = reasoning_beside(message.additional_kwargs), message.content
    else:
        content = read_content(message.content)
        reasoning = content.reasoning or reasoning_beside(message.additional_kwargs)
        text = content.text
    if reasoning:
        yield "reasoning", reasoning
    if text:
        yield "content", text
    if isinstance(message, AIMessageChunk):
        for call in message.tool_call_chunks:
            if arguments := call.get("args"):
                yield f"tool:{call.get('index')}", arguments

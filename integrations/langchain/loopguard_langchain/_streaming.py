"""A reply watched while the model streams it: a callback on a copy of the request's model.

Public seams of langchain-core: `BaseChatModel.callbacks`, `on_llm_new_token`, and the attribute
`streaming`, which makes `invoke` stream where the model can. It is set on the copy: as a call
setting it would reach the provider, and some refuse what they do not know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.callbacks.base import BaseCallbackManager
from langchain_core.language_models import BaseChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langgraph.errors import GraphBubbleUp
from typing_extensions import override

from loopguard_core import Action, GuardedReply, Verdict

from ._content import reply_pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from langchain.agents.middleware import ModelRequest
    from langchain_core.outputs import ChatGenerationChunk, GenerationChunk
    from langchain_protocol.protocol import ContentBlockDeltaData, MessagesData

__all__ = ["CutReply", "ReplyWatcher"]


class CutReply(GraphBubbleUp):
    """Ends the provider's stream from inside the callback; the middleware catches it.

    LangChain's retry and fallback middleware let a `GraphBubbleUp` through (since 1.4): a reply
    that is cut is no failure. langchain-core logs whatever a callback raises, so the text says
    that nothing failed.
    """

    def __init__(self) -> None:
        super().__init__("loopguard cut a reply that goes round in circles; nothing failed")


class ReplyWatcher(BaseCallbackHandler):
    """Feeds one reply to a watch, and raises `CutReply` when the watch says so.

    A model that is asked once more for the same reply, as retry middleware does, is watched anew:
    what a failed attempt said is no part of the reply.

    Args:
        new_watch: Makes the watch of one attempt.
        streams: False leaves it to others whether the model streams, as where nothing is cut.
    """

    raise_error = True
    run_inline = True

    def __init__(self, new_watch: Callable[[], GuardedReply], *, streams: bool) -> None:
        self._new_watch = new_watch
        self._streams = streams
        self._begin()

    def _begin(self) -> None:
        self._watch: GuardedReply | None = None
        self._said: list[str] = []
        self._message_id: str | None = None
        self._streamed = False
        self._verdict = Verdict()

    def watched(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """Return *request* with this watcher on its model; streamed where that is possible."""
        model = request.model
        if not isinstance(model, BaseChatModel):
            return request  # a configurable model, whose reply is judged when it is complete
        changes: dict[str, object] = {"callbacks": self._beside(model)}
        if self._streams and _may_stream(model):
            changes["streaming"] = True
        return request.override(model=model.model_copy(update=changes))

    def was_cut(self, messages: Sequence[BaseMessage]) -> bool:
        """Take the complete reply; return True if it went round.

        A reply can have been cut although *messages* came back: before 1.4, retry middleware
        between this watcher and the model takes `CutReply` for a failure, and may put words in
        its place.
        """
        if not self._streamed:
            for message in messages:
                if isinstance(message, AIMessage):
                    self._read(message)
        return self._is_cut

    def kept(self) -> list[AIMessage]:
        """Return what is worth keeping of the reply that was cut; nothing if that is blank.

        It has the id of the chunks that were streamed, so that it is the same message to whoever
        saw them.
        """
        text = "".join(self._said)[: self._watch.keep_chars if self._watch else None]
        return [AIMessage(text, id=self._message_id)] if text.strip() else []

    @override
    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        self._begin()

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
        self._read(message if isinstance(message, BaseMessage) else AIMessageChunk(content=token))
        if self._is_cut:
            raise CutReply

    @override
    def on_stream_event(self, event: MessagesData, **kwargs: Any) -> None:
        """Take what version 3 of LangChain's event streaming reports instead of tokens."""
        self._streamed = True
        if event["event"] == "message-start":
            self._message_id = event["id"]
        elif event["event"] == "content-block-delta":
            self._feed(_delta_pieces(event))
        if self._is_cut:
            raise CutReply

    @override
    def on_llm_error(self, error: BaseException, **kwargs: Any) -> None:
        if not isinstance(error, CutReply):
            self._begin()  # whatever comes back instead is another reply

    @property
    def _is_cut(self) -> bool:
        return self._verdict.action is Action.HALT

    def _read(self, message: BaseMessage) -> None:
        self._message_id = self._message_id or message.id
        self._feed(reply_pieces(message))

    def _feed(self, pieces: Iterable[tuple[str, str]]) -> None:
        for channel, text in pieces:
            if self._watch is None:
                self._watch = self._new_watch()
            if channel == "content":
                self._said.append(text)
            self._verdict = self._watch.feed(text, channel)

    def _beside(self, model: BaseChatModel) -> list[BaseCallbackHandler] | BaseCallbackManager:
        present = model.callbacks
        if isinstance(present, BaseCallbackManager):
            manager = present.copy()
            manager.add_handler(self, inherit=False)
            return manager
        return [*(present or ()), self]


def _delta_pieces(event: ContentBlockDeltaData) -> Iterator[tuple[str, str]]:
    delta = event["delta"]
    if delta["type"] == "text-delta":
        yield "content", delta["text"]
    elif delta["type"] == "reasoning-delta":
        yield "reasoning", delta["reasoning"]
    elif delta["type"] == "tool-call-delta":
        yield f"tool:{event['index']}", delta["args"]


def _may_stream(model: BaseChatModel) -> bool:
    """Return True if nobody forbade *model* to stream, and it streams all that it says.

    LangChain's own fake model streams the text of a message and leaves out its calls, and fails
    on an empty text (langchain-core 1.8); it is what many people test their agents with.
    """
    forbidden = model.disable_streaming or "streaming" in model.model_fields_set
    return not forbidden and not isinstance(model, GenericFakeChatModel)

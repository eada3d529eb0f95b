"""One reply of a model, watched while it streams, and what is sent to get it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, TypeVar

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    ContentBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)

from loopguard_core import Action, GuardedReply
from loopguard_core.guard.guidance import append_guidance

from ._content import read_message
from ._shaper import ContextShaper

__all__ = ["CutReply", "WatchedReply", "reply_underway", "watching", "with_note"]

R = TypeVar("R", ChatResponse, CompletionResponse)

_PIECE_CHARS: Final = 256

_UNDERWAY: ContextVar[WatchedReply | None] = ContextVar("loopguard_reply", default=None)


class CutReply(Exception):  # noqa: N818 - control flow between a guarded agent and its model
    """A guarded agent's reply went round; `WatchedReply.kept_text` has what it said until then."""


@dataclass(slots=True, eq=False)
class WatchedReply:
    """What a guarded model does about one reply.

    Args:
        watch: The guard's watch.
        raises: True raises `CutReply` at a cut, for an agent that tries again; False ends the
            reply there.
        behind: Notes that are sent behind the results of the calls with these ids.
        extra: What is sent behind all other messages.
        shaper: Shortens what is sent; None sends it as it is.
    """

    watch: GuardedReply
    raises: bool = False
    behind: Mapping[str, str] = field(default_factory=dict)
    extra: Sequence[ChatMessage] = ()
    shaper: ContextShaper | None = None
    thought: str = ""
    _said: str = ""
    _where: str = ""
    _arguments: dict[int, str] = field(default_factory=dict)

    @property
    def kept_text(self) -> str:
        """What is worth keeping of the text that was read; empty if that is blank."""
        text = self._said[: self.watch.keep_chars]
        return text if text.strip() else ""

    def sent(self, messages: Sequence[ChatMessage]) -> list[ChatMessage]:
        """Return what the model is sent; *messages* and what they hold are not changed."""
        sent = list(messages) if self.shaper is None else self.shaper.sent(messages)
        for call_id, note in self.behind.items():
            place = _place_of(call_id, sent)
            if place is None:  # a protocol whose results have no ids
                sent.append(ChatMessage(role=MessageRole.USER, content=note))
            else:
                native = sent[place]
                blocks = with_note(native.blocks, note)
                sent[place] = native.model_copy(update={"blocks": blocks})
        return [*sent, *self.extra]

    def whole(self, response: R) -> R:
        """Read a reply that came at once; return it, or its beginning if it goes round."""
        if not self._read(response):
            return response
        if self.raises:
            raise CutReply
        return self._beginning(response)

    def stream(self, chunks: Generator[R, None, None]) -> Generator[R, None, None]:
        """Pass on a reply that streams, until it goes round."""
        for chunk in chunks:
            if self._read(chunk):
                chunks.close()
                if self.raises:
                    raise CutReply
                yield self._beginning(chunk)
                return
            yield chunk

    async def astream(self, chunks: AsyncGenerator[R, None]) -> AsyncGenerator[R, None]:
        """Pass on a reply that streams, until it goes round."""
        async for chunk in chunks:
            if self._read(chunk):
                await chunks.aclose()
                if self.raises:
                    raise CutReply
                yield self._beginning(chunk)
                return
            yield chunk

    def _read(self, chunk: ChatResponse | CompletionResponse) -> bool:
        """Watch what *chunk* adds; return True if the reply is to be cut."""
        if isinstance(chunk, ChatResponse) and _is_text(chunk):  # as nearly all chunks are
            return self._goes_round("content", chunk.delta or "")
        return any(self._goes_round(channel, text) for channel, text in self._added(chunk))

    def _goes_round(self, channel: str, text: str) -> bool:
        """Watch the next text of a channel; what comes at once is read piece by piece."""
        if len(text) > _PIECE_CHARS:
            starts = range(0, len(text), _PIECE_CHARS)
            return any(self._goes_round(channel, text[at : at + _PIECE_CHARS]) for at in starts)
        if channel == "content":
            self._said += text
        elif channel == "reasoning":
            self.thought += text
        if self.watch.feed(text, channel).action is not Action.HALT:
            return False
        self._where = channel
        return True

    def _added(self, chunk: ChatResponse | CompletionResponse) -> Iterator[tuple[str, str]]:
        """Yield the channel and the text of what is new in *chunk*.

        A chunk holds all that was said so far, and what it adds; integrations leave out either.
        """
        if isinstance(chunk, CompletionResponse):
            yield "content", _delta(chunk.delta, chunk.text, self._said)
            return
        thought = chunk.additional_kwargs.get("thinking_delta")
        content = read_message(chunk.message)
        yield "reasoning", _delta(thought, content.reasoning, self.thought)
        yield "content", _delta(chunk.delta, content.text, self._said)
        for index, block in enumerate(chunk.message.blocks):
            if isinstance(block, ToolCallBlock) and isinstance(block.tool_kwargs, str):
                known = self._arguments.get(index, "")
                self._arguments[index] = block.tool_kwargs
                yield f"tool:{index}", block.tool_kwargs[len(known) :]

    def _beginning(self, response: R) -> R:
        """Return a copy of *response* without what goes round.

        After thinking that went round an answer may follow, which is kept with its calls: only
        thinking is shortened then, and left out where it is signed.
        """
        if self._where == "reasoning" and isinstance(response, ChatResponse):
            return _with_thought(response, self.thought)
        return _beginning(response, self.kept_text)


def _with_thought(response: ChatResponse, thought: str) -> ChatResponse:
    blocks: list[ContentBlock] = []
    for block in response.message.blocks:
        if not isinstance(block, ThinkingBlock):
            blocks.append(block)
        elif not block.additional_information and thought:
            blocks.append(ThinkingBlock(content=thought))
            thought = ""
    kept = response.message.model_copy(update={"blocks": blocks})
    return response.model_copy(update={"message": kept})


def _is_text(chunk: ChatResponse) -> bool:
    """Return True if *chunk* says what it adds, and that is text."""
    blocks = chunk.message.blocks
    only = len(blocks) == 1 and isinstance(blocks[0], TextBlock)
    return bool(chunk.delta) and only and not chunk.additional_kwargs.get("thinking_delta")


def _delta(delta: str | None, whole: str, known: str) -> str:
    """Return what is new: the integration's own delta, or else what *whole* adds to *known*."""
    return delta or whole[len(known) :]


class watching:  # noqa: N801 - used like a function, as the standard library's are
    """Let a guarded model watch *reply* if it is asked within this block, and in this task."""

    __slots__ = ("_reply", "_token")

    def __init__(self, reply: WatchedReply) -> None:
        self._reply = reply

    def __enter__(self) -> None:
        self._token = _UNDERWAY.set(self._reply)

    def __exit__(self, *_: object) -> None:
        _UNDERWAY.reset(self._token)


def reply_underway() -> WatchedReply | None:
    """Return the reply that an agent expects here, or None."""
    return _UNDERWAY.get()


def _place_of(call_id: str, messages: Sequence[ChatMessage]) -> int | None:
    """Return the index of the newest result of a call."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if (
            message.role == MessageRole.TOOL
            and message.additional_kwargs.get("tool_call_id") == call_id
        ):
            return index
    return None


def with_note(blocks: Sequence[ContentBlock], note: str) -> list[ContentBlock]:
    """Return *blocks* with *note* behind their text, which `result_of` leaves out."""
    *before, last = blocks or [TextBlock(text="")]
    if isinstance(last, TextBlock):
        return [*before, TextBlock(text=append_guidance(last.text, note))]
    return [*before, last, TextBlock(text=append_guidance("", note))]


def _beginning(response: R, text: str) -> R:
    """Return a copy of *response* that says *text* and calls nothing."""
    if isinstance(response, CompletionResponse):
        return response.model_copy(update={"text": text})
    message = response.message
    said: list[object] = []
    for block in message.blocks:
        if isinstance(block, TextBlock):
            if text:
                said.append(TextBlock(text=text))
            text = ""
        elif not isinstance(block, ToolCallBlock):
            said.append(block)
    others = {k: v for k, v in message.additional_kwargs.items() if k != "tool_calls"}
    kept = message.model_copy(update={"blocks": said, "additional_kwargs": others})
    return response.model_copy(update={"message": kept})

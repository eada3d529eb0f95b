"""What the content of a LangChain message says: a string, or blocks in any provider's spelling.

Read from the blocks themselves and not through `content_blocks`: that asks the provider's
translator, which is made for well-formed messages, and costs as much as the whole guard.
A block that is not known here is kept as one that differs where its content differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from langchain_core.messages import AIMessageChunk

from loopguard_core.fingerprint import digest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langchain_core.messages import BaseMessage

__all__ = [
    "Content",
    "HostedCall",
    "HostedResult",
    "read_content",
    "reasoning_beside",
    "reply_pieces",
]

Block = Mapping[object, object]

_REASONING: Final = frozenset({"reasoning", "thinking", "redacted_thinking", "reasoning_content"})
_HOSTED_CALLS: Final = frozenset(
    {"server_tool_call", "server_tool_call_chunk", "server_tool_use", "mcp_tool_use"}
)
_HOSTED_RESULT_ENDING: Final = "_tool_result"
# The same calls stand in `tool_calls` or `invalid_tool_calls`, where they are read.
_CALLS: Final = frozenset(
    {
        "tool_call",
        "tool_call_chunk",
        "invalid_tool_call",
        "tool_use",
        "function_call",
        "input_json_delta",
    }
)
_THOUGHT_KEYS: Final = ("reasoning", "thinking", "reasoning_content", "summary", "text")
_THOUGHT_DEPTH: Final = 4
# Ids are made anew for equal content, and an index says where in a stream the block stood.
_NO_IDENTITY: Final = frozenset({"id", "index", "tool_use_id", "tool_call_id"})


@dataclass(frozen=True, slots=True)
class HostedCall:
    """A call that the provider executes itself."""

    name: str
    arguments: object
    call_id: str | None


@dataclass(frozen=True, slots=True)
class HostedResult:
    """The answer to a `HostedCall`, with the call's name and arguments."""

    name: str
    arguments: object
    result: object
    call_id: str | None
    is_error: bool


@dataclass(slots=True)
class Content:
    """A message's content, sorted by what it is.

    Args:
        text: The text blocks joined without anything between them, as LangChain joins them.
        reasoning: The model's thinking, likewise.
        refused: True if a part of the text is a refusal.
        hosted: Calls and answers of tools that the provider executes, in their order.
        blocks: Everything else, such as images.
    """

    text: str = ""
    reasoning: str = ""
    refused: bool = False
    hosted: list[HostedCall | HostedResult] = field(default_factory=list)
    blocks: list[object] = field(default_factory=list)

    @property
    def kinds(self) -> list[str]:
        """The type names of `blocks`."""
        return [_type(block) for block in self.blocks]

    @property
    def identity(self) -> list[dict[str, str]]:
        """What makes `blocks` the same: for each its type, and a digest instead of the data."""
        return [{"type": _type(block), "digest": _digest(block)} for block in self.blocks]

    def add(self, block: object) -> None:
        """Sort one block in."""
        if isinstance(block, str):
            self.text += block
            return
        kind = _type(block)
        if not isinstance(block, dict):
            self.blocks.append(block)
        elif kind == "text":
            self.text += _string(block.get("text"))
        elif kind == "refusal":
            self.refused = True
            self.text += _string(block.get("refusal"))
        elif kind in _REASONING:
            self.reasoning += _thought(block)
        elif kind in _HOSTED_CALLS:
            self.hosted.append(_hosted_call(block))
        elif kind.endswith(_HOSTED_RESULT_ENDING):
            self.hosted.append(self._hosted_result(block))
        elif kind not in _CALLS:
            self.blocks.append(block)

    def _hosted_result(self, block: Block) -> HostedResult:
        call_id = _call_id(block, "tool_call_id", "tool_use_id")
        calls = (call for call in self.hosted if isinstance(call, HostedCall))
        call = next((call for call in calls if call.call_id == call_id), None)
        return HostedResult(
            name=call.name if call else _type(block),
            arguments=call.arguments if call else None,
            result=block.get("output", block.get("content")),
            call_id=call_id,
            is_error=block.get("status") == "error" or block.get("is_error") is True,
        )


def read_content(content: object) -> Content:
    """Sort the content of a message by what it is; anything but text and blocks is nothing."""
    read = Content()
    if isinstance(content, str):
        read.text = content
    elif isinstance(content, Iterable):
        for block in content:
            read.add(block)
    return read


def reasoning_beside(extra: Mapping[object, object]) -> str:
    """Return reasoning that stands in `additional_kwargs`, where some providers put it."""
    return _thought(extra.get("reasoning_content")) or _thought(extra.get("reasoning"))


def reply_pieces(message: BaseMessage) -> Iterator[tuple[str, str]]:
    """Yield the channel and the text of everything that a reply, or a chunk of one, says."""
    content = read_content(message.content)
    if reasoning := content.reasoning or reasoning_beside(message.additional_kwargs):
        yield "reasoning", reasoning
    if content.text:
        yield "content", content.text
    if isinstance(message, AIMessageChunk):
        for call in message.tool_call_chunks:
            if written := call.get("args"):
                yield f"tool:{call.get('index')}", written


def _hosted_call(block: Block) -> HostedCall:
    return HostedCall(
        name=_string(block.get("name")),
        arguments=block.get("args", block.get("input")),
        call_id=_call_id(block, "id"),
    )


def _thought(value: object, depth: int = _THOUGHT_DEPTH) -> str:
    """Collect the text of a reasoning block, however its provider nests it."""
    if isinstance(value, str):
        return value
    if not depth:
        return ""
    if isinstance(value, dict):
        return "".join(_thought(value[key], depth - 1) for key in _THOUGHT_KEYS if key in value)
    if isinstance(value, list):
        return "".join(_thought(item, depth - 1) for item in value)
    return ""


def _digest(block: object) -> str:
    if isinstance(block, dict):
        return digest({key: value for key, value in block.items() if key not in _NO_IDENTITY})
    return digest(block)


def _call_id(block: Block, *keys: str) -> str | None:
    return next((value for key in keys if isinstance(value := block.get(key), str)), None)


def _type(block: object) -> str:
    kind = block.get("type") if isinstance(block, dict) else None
    return kind if isinstance(kind, str) else "unknown"


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""

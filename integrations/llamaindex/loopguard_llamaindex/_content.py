"""What the blocks of a LlamaIndex message or tool output say; nothing here raises.

Calls stand in blocks, or in `additional_kwargs["tool_calls"]` in as many spellings as there are
integrations. A block that is not text is kept as one that differs where its content differs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from llama_index.core.base.llms.types import CachePoint, TextBlock, ThinkingBlock, ToolCallBlock
from pydantic import BaseModel

from loopguard_core.fingerprint import digest
from loopguard_core.guard.guidance import without_guidance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.llms import ChatMessage

__all__ = ["Content", "Requested", "read_blocks", "read_message", "result_of"]

_CALLS: Final = "tool_calls"
_ID_KEYS: Final = ("id", "tool_id", "tool_call_id")
_NAME_KEYS: Final = ("name", "tool_name")
_ARGUMENT_KEYS: Final = ("arguments", "args", "tool_kwargs", "input")


class Requested(NamedTuple):
    """A call as a message asks for it."""

    call_id: str | None
    name: str
    arguments: object


@dataclass(slots=True)
class Content:
    """Blocks, sorted by what they are.

    Args:
        text: The text blocks, joined by line breaks as LlamaIndex joins them.
        reasoning: The model's thinking, likewise.
        calls: The calls that are asked for.
        others: Everything else, such as images.
    """

    text: str = ""
    reasoning: str = ""
    calls: list[Requested] = field(default_factory=list)
    others: list[BaseModel] = field(default_factory=list)

    @property
    def kinds(self) -> list[str]:
        """The types of `others`."""
        return [str(getattr(block, "block_type", "unknown")) for block in self.others]

    @property
    def identity(self) -> list[dict[str, str]]:
        """What makes `others` the same: for each its type, and a digest instead of the data."""
        dumps = (digest(block.model_dump()) for block in self.others)
        return [{"type": k, "digest": d} for k, d in zip(self.kinds, dumps, strict=True)]


def read_blocks(blocks: Iterable[Any]) -> Content:
    """Sort *blocks* by what they are."""
    content, texts, thoughts = Content(), [], []
    for block in blocks:
        match block:
            case TextBlock():
                texts.append(block.text)
            case ThinkingBlock():
                thoughts.append(block.content or "")
            case ToolCallBlock():
                arguments = _parsed(block.tool_kwargs)
                content.calls.append(Requested(block.tool_call_id, block.tool_name, arguments))
            case CachePoint():  # a mark for the provider, which says nothing
                pass
            case _:
                content.others.append(block)
    content.text, content.reasoning = "\n".join(texts), "\n".join(filter(None, thoughts))
    return content


def read_message(message: ChatMessage) -> Content:
    """Read a message; its calls come from `additional_kwargs` if no block holds one."""
    content = read_blocks(message.blocks)
    listed = message.additional_kwargs.get(_CALLS)
    if not content.calls and isinstance(listed, (list, tuple)):
        content.calls = [_requested(call) for call in listed]
    return content


def result_of(blocks: Sequence[Any]) -> object:
    """Return what a tool answered, without the notes that a guard appended to it.

    Text comes back as a string; an answer with other blocks as a list of its text and of short
    stand-ins, which differ where the content differs.
    """
    content = read_blocks(blocks)
    text = without_guidance(content.text) or content.text  # a refusal is a note and nothing else
    return [text, *content.identity] if content.others else text


def _requested(call: object) -> Requested:
    """Read a call in its integration's own spelling: OpenAI's, Google's, LlamaIndex's."""
    function = _first(call, ("function",)) or call
    call_id = _first(call, _ID_KEYS)
    return Requested(
        call_id if isinstance(call_id, str) else None,
        str(_first(function, _NAME_KEYS) or ""),
        _parsed(_first(function, _ARGUMENT_KEYS)),
    )


def _first(value: object, keys: tuple[str, ...]) -> object:
    """Return the first of *keys* that *value* has, as an entry or as an attribute."""
    for key in keys:
        found = value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)
        if found is not None:
            return found
    return None


def _parsed(arguments: object) -> object:
    """Return arguments as values: the same call is written as a dict or as JSON text."""
    if not isinstance(arguments, str):
        return arguments
    try:
        parsed: object = json.loads(arguments)
    except ValueError:
        return arguments
    return parsed

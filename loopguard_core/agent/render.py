"""Stored entries as the messages of a model call.

An assistant's text and the calls behind it are one message; everything else is one of its own.
Source: agent specification, section 3.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from .chat import ChatMessage, ToolCall
from .entries import Entry, EntryKind, in_order
from .heredoc import render_call
from .neutral import neutralize_special_tokens
from .pairing import repair_pairs as repaired

if TYPE_CHECKING:
    from .store import Store

__all__ = [
    "ContextBuilder",
    "EntryGroup",
    "RenderFormat",
    "default_builder",
    "grouped",
    "render",
    "render_group",
]

ContextBuilder: TypeAlias = Callable[[str, str], Awaitable[Sequence[ChatMessage]]]
"""Builds the messages of a model call from a session's id and a system text."""

ToolFormat: TypeAlias = Literal["native", "heredoc"]

_NO_STUBS: Final[Mapping[int, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderFormat:
    """How entries are written.

    Args:
        tool_format: `native` calls are values of their message; `heredoc` ones are text in it.
        verbatim_tool_results: True leaves control tokens in results as they are.
    """

    tool_format: ToolFormat = "native"
    verbatim_tool_results: bool = False


@dataclass(frozen=True, slots=True)
class EntryGroup:
    """The entries that become one message: one, or an assistant's text and its calls.

    Args:
        start: The index of the first.
        entries: The entries.
    """

    start: int
    entries: tuple[Entry, ...]


def grouped(entries: Sequence[Entry]) -> Iterator[EntryGroup]:
    """Split entries, in their order, into those that become one message each."""
    start = 0
    while start < len(entries):
        stop = start + 1
        if entries[start].kind in {EntryKind.ASSISTANT, EntryKind.TOOL_CALL}:
            while stop < len(entries) and entries[stop].kind == EntryKind.TOOL_CALL:
                stop += 1
        yield EntryGroup(start, tuple(entries[start:stop]))
        start = stop


def render_group(
    group: EntryGroup, form: RenderFormat, stubs: Mapping[int, str] = _NO_STUBS
) -> ChatMessage:
    """Write one message.

    Args:
        group: Its entries.
        form: How.
        stubs: What is shown in the place of an entry's content, by the entry's index.
    """
    first = group.entries[0]
    if first.kind in {EntryKind.ASSISTANT, EntryKind.TOOL_CALL}:
        return _assistant(group, form, stubs)
    stub = stubs.get(group.start)
    content = first.content if stub is None else stub
    match first.kind:
        case EntryKind.USER:
            if first.parts and stub is None:
                return ChatMessage(role="user", parts=first.parts)
            return ChatMessage(role="user", content=content)
        case EntryKind.TOOL_RESULT:
            return _result(first, content, form)
        case EntryKind.COMPACTION:
            return ChatMessage(role="user", content=f"[compacted]\n{content}")
        case _:
            return ChatMessage(role="user", content=f"[{first.label}] {content}")


def render(
    entries: Sequence[Entry],
    *,
    system: str = "",
    form: RenderFormat | None = None,
    stubs: Mapping[int, str] = _NO_STUBS,
) -> list[ChatMessage]:
    """Write entries as messages, the system text first unless it is empty.

    Args:
        entries: In their order; see `in_order`.
        system: The system text.
        form: How; None is native, with control tokens in results made harmless.
        stubs: As in `render_group`.
    """
    form = form or RenderFormat()
    messages = [ChatMessage(role="system", content=system)] if system else []
    messages += [render_group(group, form, stubs) for group in grouped(entries)]
    return messages


def default_builder(
    store: Store,
    *,
    tool_format: ToolFormat = "native",
    verbatim_tool_results: bool = False,
    repair_pairs: bool = True,
) -> ContextBuilder:
    """Make a builder that shows the whole history, in the session's own format (quirk Q03).

    Args:
        store: Whose entries. What it raises passes through.
        tool_format: As in `RenderFormat`.
        verbatim_tool_results: As in `RenderFormat`.
        repair_pairs: True brings calls and results together (quirk Q11); see `repair_pairs`.
    """
    form = RenderFormat(tool_format=tool_format, verbatim_tool_results=verbatim_tool_results)

    async def build(session_id: str, system: str) -> list[ChatMessage]:
        messages = render(in_order(await store.context(session_id)), system=system, form=form)
        return repaired(messages) if repair_pairs and tool_format == "native" else messages

    return build


def _assistant(group: EntryGroup, form: RenderFormat, stubs: Mapping[int, str]) -> ChatMessage:
    texts: list[str] = []
    calls: list[ToolCall] = []
    for index, entry in enumerate(group.entries, group.start):
        content = stubs.get(index, entry.content)
        if entry.kind != EntryKind.TOOL_CALL:
            texts += filter(None, [content])
        elif form.tool_format == "heredoc":
            texts.append(render_call(entry.tool_name, content))
        else:
            calls.append(ToolCall(entry.tool_call_id, entry.tool_name, content))
    return ChatMessage(role="assistant", content="\n".join(texts), tool_calls=tuple(calls))


def _result(entry: Entry, content: str, form: RenderFormat) -> ChatMessage:
    if not form.verbatim_tool_results:
        content = neutralize_special_tokens(content)
    native = form.tool_format == "native"
    call_id = (entry.tool_call_id or entry.id) if native else ""
    return ChatMessage(role="tool", content=content, tool_call_id=call_id)

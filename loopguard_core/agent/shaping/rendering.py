"""A history as messages, of which only the new end is made anew.

A long history is shown to the model at every call, and all but its end was shown before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_core.agent.entries import Entry, EntryKind
from loopguard_core.agent.pairing import repair_pairs
from loopguard_core.agent.render import RenderFormat, render

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loopguard_core.agent.chat import ChatMessage

    from .policy import ShaperPolicy

__all__ = ["Rendering"]

_OPENS = frozenset({EntryKind.ASSISTANT, EntryKind.TOOL_CALL})


class Rendering:
    """Renders the history of one session, and keeps what cannot change any more.

    That is everything before the newest place where a message begins and no call is open: what
    comes later can neither join a message there nor answer a call.

    Args:
        policy: How entries are rendered.
    """

    def __init__(self, policy: ShaperPolicy) -> None:
        self._form = RenderFormat(
            tool_format=policy.tool_format, verbatim_tool_results=policy.verbatim_tool_results
        )
        self._pairs = policy.repair_pairs and policy.tool_format == "native"
        self._entries: list[Entry] = []
        self._shown: dict[int, str] = {}
        self._messages: list[ChatMessage] = []

    def messages(self, entries: Sequence[Entry], shown: Mapping[int, str]) -> list[ChatMessage]:
        """Return the messages of a history.

        Args:
            entries: In their order.
            shown: What is shown in the place of contents, by index.
        """
        if not self._holds(entries, shown):
            self._entries, self._shown, self._messages = [], {}, []
        start = len(self._entries)
        settled = start + _settled(entries[start:])
        kept = self._render(entries, shown, start, settled)
        messages = [*self._messages, *kept, *self._render(entries, shown, settled, len(entries))]
        self._entries += entries[start:settled]
        self._messages += kept
        self._shown |= {at: text for at, text in shown.items() if start <= at < settled}
        return messages

    def _holds(self, entries: Sequence[Entry], shown: Mapping[int, str]) -> bool:
        """Return True if what is kept is the beginning of this history, and stays it."""
        kept = len(self._entries)
        if list(entries[:kept]) != self._entries:
            return False
        if {at: text for at, text in shown.items() if at < kept} != self._shown:
            return False
        return _answers_itself(entries[kept:])

    def _render(
        self, entries: Sequence[Entry], shown: Mapping[int, str], start: int, stop: int
    ) -> list[ChatMessage]:
        stubs = {at - start: text for at, text in shown.items() if start <= at < stop}
        messages = render(entries[start:stop], form=self._form, stubs=stubs)
        return repair_pairs(messages) if self._pairs else messages


def _answers_itself(entries: Sequence[Entry]) -> bool:
    """Return True if every result among *entries* answers a call that stands before it there."""
    made: set[str] = set()
    for entry in entries:
        if entry.kind == EntryKind.TOOL_CALL:
            made.add(entry.tool_call_id)
        elif entry.kind == EntryKind.TOOL_RESULT and entry.tool_call_id not in made:
            return False
    return True


def _settled(entries: Sequence[Entry]) -> int:
    """Return the newest index that parts nothing: no message, no call from any of its results."""
    begins = _whole_beginnings(entries)
    waiting: set[str] = set()
    for index in range(len(entries) - 1, -1, -1):
        entry = entries[index]
        if entry.kind == EntryKind.TOOL_RESULT:
            waiting.add(entry.tool_call_id)
        elif entry.kind == EntryKind.TOOL_CALL:
            waiting.discard(entry.tool_call_id)
        if not waiting and index in begins:
            return index
    return 0


def _whole_beginnings(entries: Sequence[Entry]) -> set[int]:
    """Return the indices at which a message begins and every call before is answered."""
    begins: set[int] = set()
    open_calls: set[str] = set()
    previous = ""
    for index, entry in enumerate(entries):
        joins = entry.kind == EntryKind.TOOL_CALL and previous in _OPENS
        if not open_calls and not joins:
            begins.add(index)
        if entry.kind == EntryKind.TOOL_CALL:
            open_calls.add(entry.tool_call_id)
        elif entry.kind == EntryKind.TOOL_RESULT:
            open_calls.discard(entry.tool_call_id)
        previous = entry.kind
    return begins

"""The pristine tail: the newest entries, which are shown as they are.

Source: agent specification, section 5 and quirk Q11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_core.agent.entries import Entry, EntryKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["pristine_tail", "tail_length", "whole_rounds"]

_MESSAGES = frozenset({EntryKind.USER, EntryKind.ASSISTANT})
_TOOLS = frozenset({EntryKind.TOOL_CALL, EntryKind.TOOL_RESULT})


def pristine_tail(kinds: Sequence[str], messages: int, tool_entries: int) -> int:
    """Return how many of the newest entries are left alone.

    The walk from the newest entry back ends at the first one over its limit. Notifications and
    markers are taken on the way and not counted.

    Args:
        kinds: The kinds of all entries, oldest first.
        messages: User and assistant entries to take; below 0 is 0.
        tool_entries: Calls and results to take; each counts, so an exchange is two.
    """
    return tail_length(reversed(kinds), messages, tool_entries)


def tail_length(newest_first: Iterable[str], messages: int, tool_entries: int) -> int:
    """Return what `pristine_tail` does, and read no further than the tail."""
    left = {_MESSAGES: max(messages, 0), _TOOLS: max(tool_entries, 0)}
    taken = 0
    for kind in newest_first:
        for counted, room in left.items():
            if kind in counted:
                if not room:
                    return taken
                left[counted] = room - 1
        taken += 1
    return taken


def whole_rounds(entries: Sequence[Entry], start: int) -> int:
    """Move the start of the tail back until it parts no call from its result.

    A call that is still unanswered is in the tail, too, if it is the newest, so that what a model
    waits for is neither shortened nor folded. Results that come again for an answered call, as
    those of lifted ones do, pull nothing into the tail.

    Args:
        entries: All entries, oldest first.
        start: The index of the tail's first entry.
    """
    start = min(start, _newest_open_call(entries))
    while (first := _first_call_of(entries, start)) < start:
        start = first
    while 0 < start < len(entries) and _same_message(entries[start - 1], entries[start]):
        start -= 1
    return start


def _newest_open_call(entries: Sequence[Entry]) -> int:
    """Return the index of the newest round's first call that has no result, or the end."""
    answered: set[str] = set()
    first = len(entries)
    for index in range(len(entries) - 1, -1, -1):
        entry = entries[index]
        if entry.kind == EntryKind.TOOL_RESULT:
            answered.add(entry.tool_call_id)
        elif entry.kind == EntryKind.TOOL_CALL:
            if entry.tool_call_id not in answered:
                first = index
        elif entry.kind in _MESSAGES:
            break
    return first


def _first_call_of(entries: Sequence[Entry], start: int) -> int:
    """Return the index of the oldest call whose first result is in the tail, or *start*."""
    wanted: set[str] = set()
    for entry in reversed(entries[start:]):
        if entry.kind == EntryKind.TOOL_RESULT:
            wanted.add(entry.tool_call_id)
        elif entry.kind == EntryKind.TOOL_CALL:
            wanted.discard(entry.tool_call_id)
    first = start
    for index in range(start - 1, -1, -1):
        if not wanted:
            break
        entry = entries[index]
        if entry.tool_call_id not in wanted:
            continue
        if entry.kind == EntryKind.TOOL_CALL:
            first = index
        wanted.discard(entry.tool_call_id)
    return first


def _same_message(before: Entry, after: Entry) -> bool:
    """Say whether two neighbours become one message: an assistant's text and its calls."""
    return after.kind == EntryKind.TOOL_CALL and before.kind in {
        EntryKind.ASSISTANT,
        EntryKind.TOOL_CALL,
    }

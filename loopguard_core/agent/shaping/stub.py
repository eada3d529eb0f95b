"""What is shown in the place of a long entry: how long it is, and its start.

Source: agent specification, section 5, and quirks Q07, Q18 and Q21.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from loopguard_core.agent.budget import byte_length
from loopguard_core.agent.entries import EntryKind
from loopguard_core.agent.utf8 import first_bytes

if TYPE_CHECKING:
    from loopguard_core.agent.entries import Entry

    from .policy import ShaperPolicy

__all__ = ["is_stub", "stub_arguments", "stub_of", "stub_text"]

_LEAST_KEPT_BYTES: Final = 100
_MARK: Final = re.compile(r"\[truncated event_id=[^\n]* len=\d+\]\n")


def stub_text(entry_id: str, content: str, threshold: int) -> str | None:
    """Return the stub of a text, or None if it is shown whole.

    The first half of the threshold is kept, at least 100 bytes, up to a whole character.

    Args:
        entry_id: The entry's id.
        content: Its text.
        threshold: Texts of more than that many bytes have a stub; at 0 or below none has. With
            a threshold below 100, where the least that is kept may be all there is, a text whose
            stub would be no shorter stays (quirk Q18).
    """
    size = byte_length(content)
    if threshold <= 0 or size <= threshold:
        return None
    kept = first_bytes(content, max(threshold // 2, _LEAST_KEPT_BYTES))
    rest = "" if len(kept) == len(content) else "\n…"
    stub = f"[truncated event_id={entry_id} len={size}]\n{kept}{rest}"
    is_needless = threshold < _LEAST_KEPT_BYTES and byte_length(stub) >= size
    return None if is_needless else stub


def is_stub(text: str) -> bool:
    """Return True if *text* begins as `stub_text` does."""
    return _MARK.match(text) is not None


def stub_arguments(entry_id: str, arguments: str, threshold: int) -> str | None:
    """Return a JSON object in the place of long arguments, or None if they are shown whole.

    A provider parses the arguments of earlier calls, so a stub of them has to be JSON as well.

    Args:
        entry_id: The entry's id.
        arguments: The text of the arguments.
        threshold: As in `stub_text`.
    """
    if threshold <= 0 or byte_length(arguments) <= threshold:
        return None
    head = first_bytes(arguments, max(threshold // 2, _LEAST_KEPT_BYTES))
    stub = json.dumps(
        {"_truncated": f"event_id={entry_id} len={byte_length(arguments)}", "_head": f"{head}…"},
        ensure_ascii=False,
    )
    return stub if byte_length(stub) < byte_length(arguments) else None


def stub_of(entry: Entry, policy: ShaperPolicy) -> str | None:
    """Return what *policy* shows of an entry before the tail, or None if that is all of it."""
    threshold = policy.lod_truncate_above_chars
    if entry.kind == EntryKind.TOOL_CALL and policy.tool_format == "native":
        if not policy.stub_arguments:
            return None
        return stub_arguments(entry.id, entry.content, threshold)
    return stub_text(entry.id, entry.content, threshold)

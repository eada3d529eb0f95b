"""Saved runs in, rows out: which of them looped, where, and what the guard would have done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard_core.transcripts import SavedReply, SavedRun, Unreadable

from .replay import replay
from .row import ScanRow
from .stream import stream_text
from .verdict_log import VerdictLog

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from loopguard_core.guard import LoopGuard
    from loopguard_core.transcripts import Saved

__all__ = ["scan", "scan_reply", "scan_run"]

_CHARS_PER_TOKEN: Final = 4


def scan(
    items: Iterable[Saved], guard: LoopGuard, *, channel: str
) -> Iterator[ScanRow | Unreadable]:
    """Scan what a reader yields, in its order; what could not be read is handed on.

    Args:
        items: From `loopguard_core.transcripts.read_path`, for instance.
        guard: Judges each item as a run of its own.
        channel: The channel on which saved replies are watched.
    """
    for item in items:
        match item:
            case SavedRun():
                yield scan_run(item, guard)
            case SavedReply():
                yield scan_reply(item, guard, channel=channel)
            case Unreadable():
                yield item


def scan_run(saved: SavedRun, guard: LoopGuard) -> ScanRow:
    """Replay a saved run through *guard*."""
    log = replay(guard, saved.id, saved.messages)
    after = 0 if log.stopped_at is None else saved.chars_after(log.stopped_at)
    return _row(saved, log, after)


def scan_reply(saved: SavedReply, guard: LoopGuard, *, channel: str = "content") -> ScanRow:
    """Stream a saved reply through *guard*; the row has `at_char`."""
    reply = guard.start_run(saved.id).watch_reply()
    verdict, read = stream_text(reply, saved.text, channel)
    log = VerdictLog()
    log.note(verdict, 0, unread_chars=len(saved.text) - read)
    at_char = read if verdict.findings else None
    return _row(saved, log, 0).model_copy(update={"at_char": at_char})


def _row(saved: SavedRun | SavedReply, log: VerdictLog, chars_after: int) -> ScanRow:
    first = log.findings[0] if log.findings else None
    return ScanRow(
        run=saved.id,
        source=saved.source,
        format=saved.format,
        messages=saved.size,
        looping=first is not None,
        action=log.action,
        detector=first.detector if first else None,
        at_message=first.at_message if first else None,
        findings=tuple(log.findings),
        messages_after=0 if log.stopped_at is None else saved.size - 1 - log.stopped_at,
        tokens_after=(log.unread_chars + chars_after) // _CHARS_PER_TOKEN,
    )

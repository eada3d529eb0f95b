"""What a detector has counted over all its replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock

from .finding import Kind

__all__ = ["ReplyCounters", "Totals"]


@dataclass(frozen=True, slots=True)
class ReplyCounters:
    """Totals since a detector was made. Source: reply specification, section 10.

    Args:
        sessions: Replies begun.
        bytes: UTF-8 bytes of the deltas watched.
        sentences: Sentences of replies that counted.
        repeats: Those of them that matched an earlier one, by cycle or by phrase.
        detected: Replies in which a kind was found, whatever the tolerance, once for each kind.
        interrupted: Replies in which a cut was asked for, by its kind.
    """

    sessions: int
    bytes: int
    sentences: int
    repeats: int
    detected: Mapping[Kind, int]
    interrupted: Mapping[Kind, int]


class Totals:
    """Adds up over replies that stream at the same time."""

    __slots__ = (
        "_bytes",
        "_detected",
        "_interrupted",
        "_lock",
        "_repeats",
        "_sentences",
        "_sessions",
    )

    def __init__(self) -> None:
        self._lock = Lock()
        self._sessions = self._bytes = self._sentences = self._repeats = 0
        self._detected: Counter[Kind] = Counter()
        self._interrupted: Counter[Kind] = Counter()

    def begun(self) -> None:
        """Count a reply."""
        with self._lock:
            self._sessions += 1

    def watched(self, size: int) -> None:
        """Count the bytes of a delta."""
        with self._lock:
            self._bytes += size

    def counted(self, *, repeat: bool) -> None:
        """Count a sentence."""
        with self._lock:
            self._sentences += 1
            self._repeats += repeat

    def detected(self, kind: Kind) -> None:
        """Count a kind that was found for the first time in its reply."""
        with self._lock:
            self._detected[kind] += 1

    def interrupted(self, kind: Kind) -> None:
        """Count a cut."""
        with self._lock:
            self._interrupted[kind] += 1

    def read(self) -> ReplyCounters:
        """Return a copy of the totals."""
        with self._lock:
            return ReplyCounters(
                sessions=self._sessions,
                bytes=self._bytes,
                sentences=self._sentences,
                repeats=self._repeats,
                detected=dict(self._detected),
                interrupted=dict(self._interrupted),
            )

"""The latest messages of a thread, as digests, and what the heuristics say about them."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Final

from .activity import ActivityTail
from .cycle import TEXT_RUN_MESSAGES, Cycle
from .result_run import ResultRun, is_settled
from .suffix_watch import SuffixWatch

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from .options import CycleLimits
    from .record import Record
    from .step import Step
    from .text_run import TextRun

__all__ = ["ThreadWindow"]

_LABELS: Final = 16  # reach behind notices and talk to the newest result
_EVIDENCE: Final = 4


class ThreadWindow:
    """Judges the newest *size* messages; what leaves the window is as if it had never been there.

    Messages that are not read hold their place in the window and do nothing else. Adding a
    message costs the same however many are in the window.

    Attributes:
        records: One for each message, oldest first.
        labels: Of the newest read messages, oldest first; may reach behind a small window.
        text_runs: Of the last read messages, likewise.
        turn_begins: True if the next message begins a turn.
    """

    def __init__(self, limits: CycleLimits, size: int) -> None:
        self._limits = limits
        self._size = size
        self.turn_begins = False
        self.records: deque[Record] = deque()
        self.labels: deque[str] = deque(maxlen=_LABELS)
        self.text_runs: deque[TextRun | None] = deque(maxlen=TEXT_RUN_MESSAGES)
        self._count_again(())

    def push(self, step: Step) -> None:
        """Add the message that is newer than all others."""
        if len(self.records) == self._size:
            self._drop_oldest()
        record = step.record
        if self.turn_begins:
            record = record._replace(begins_turn=True)
            self.turn_begins = False
        self.records.append(record)
        self._count(record)
        if record.is_read:
            self.labels.append(step.label)
            self.text_runs.append(step.text_run)

    def begin_turn(self) -> None:
        """Let the next message begin a person's turn, which no run of results or copy spans."""
        self.turn_begins = True

    def withdraw(self, count: int) -> None:
        """Forget the newest *count* messages, which are no longer part of the thread."""
        for _ in range(count):
            record = self.records.pop()
            self.turn_begins |= record.begins_turn  # of what comes in its place
            if record.is_read:
                for trail in (self.labels, self.text_runs):
                    if trail:
                        trail.pop()
        self._count_again(self.records)

    def refill(
        self,
        records: Iterable[Record],
        labels: Iterable[str],
        text_runs: Iterable[TextRun | None],
    ) -> None:
        """Replace everything by what was saved of another window."""
        self.records = deque(records)
        self.labels = deque(labels, maxlen=_LABELS)
        self.text_runs = deque(text_runs, maxlen=TEXT_RUN_MESSAGES)
        self._count_again(self.records)

    def find(self, skip: Collection[str], newest: int) -> Cycle | None:
        """Return what the first heuristic that is not in *skip* and finds something says.

        Its latest evidence must be among the *newest* messages.
        """
        for look in (self._find_suffix, self._find_tail, self._find_results, self._find_text):
            cycle = look(newest)
            if cycle is not None and cycle.name not in skip:
                return cycle
        return None

    def _find_suffix(self, newest: int) -> Cycle | None:
        found = self._suffix.find()
        if found is None or not newest:
            return None
        length, copies = found
        if any(record.begins_turn for record in islice(reversed(self.records), length)):
            return None  # a person who says the same again gets the same again
        return Cycle("repeated_suffix", copies, self._newest_labels(length))

    def _find_tail(self, newest: int) -> Cycle | None:
        tail = self._tail
        if not (newest and tail.is_cyclic and tail.is_stale(self._limits.stale_activities)):
            return None
        length = len(self._tail)
        return Cycle("repeated_activity_tail", length, self._newest_labels(length))

    def _find_results(self, newest: int) -> Cycle | None:
        count = self._results.count
        if count < self._limits.results or not any(
            record.entry is not None and is_settled(record.entry)
            for record in islice(reversed(self.records), newest)
        ):
            return None
        return Cycle("repeated_result_run", count, self._result_label())

    def _find_text(self, newest: int) -> Cycle | None:
        read = (record for record in islice(reversed(self.records), newest) if record.is_read)
        for run, _ in zip(reversed(self.text_runs), read, strict=False):
            if run is not None:
                return Cycle("repeated_message_text_run", run.units, (run.most_common,))
        return None

    def _newest_labels(self, count: int) -> tuple[str, ...]:
        """Return what the newest *count* messages are called, each name once, without empty ones."""
        newest = list(self.labels)[-count:]
        return tuple(dict.fromkeys(filter(None, newest)))[-_EVIDENCE:]

    def _result_label(self) -> tuple[str, ...]:
        """Return the tool of the newest result, if the message is new enough to have its label."""
        newest = (record for record in reversed(self.records) if record.is_read)
        for label, record in zip(reversed(self.labels), newest, strict=False):
            if record.entry is not None and is_settled(record.entry):
                return (label,)
        return ()

    def _count_again(self, records: Iterable[Record]) -> None:
        self._suffix = SuffixWatch(self._limits, self._size)
        self._tail = ActivityTail()
        self._results = ResultRun()
        for record in records:
            self._count(record)

    def _count(self, record: Record) -> None:
        if record.begins_turn:
            self._results.start_over()
        if not record.is_read:
            return
        self._suffix.push(record.key)
        if record.entry is not None:
            self._tail.push(record.entry)
            self._results.push(record.entry)
        elif len(self._tail):
            self._tail = ActivityTail()

    def _drop_oldest(self) -> None:
        record = self.records.popleft()
        if not record.is_read:
            return
        if len(self._tail) == len(self._suffix.keys):
            self._tail.drop_oldest()
        self._suffix.drop_oldest()
        if record.entry is not None:
            self._results.drop_oldest(record.entry)

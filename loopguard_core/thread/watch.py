"""The heuristics on a thread that grows, each step paying for what is new."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from loopguard_core.errors import InvalidInputError
from loopguard_core.message import as_message, as_messages

from .options import CycleOptions, cycle_limits
from .recognise import recognise
from .record import pack, unpack
from .step import Reading, StepReader
from .text_run import TextRun
from .thread_window import ThreadWindow

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from .cycle import Cycle, CycleName

__all__ = ["ThreadWatch"]

# How many messages must be where they were for the head of a thread to count as untouched.
_CONFIRMED: Final = 4


class _Snapshot(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1]
    window_messages: Annotated[int, Field(strict=True, ge=1)]
    length: Annotated[int, Field(strict=True, ge=0)]
    records: str
    labels: tuple[str, ...]
    text_runs: tuple[TextRun | None, ...]
    turn_begins: bool


class ThreadWatch:
    """Answers at any time what `describe_thread_cycle` would say about the newest messages.

    It keeps digests of the last *window_messages* messages, and of the newest few a tool name or
    the start of a text. Up to that length the answers are those of `describe_thread_cycle`;
    beyond it, those for the last *window_messages* messages alone. Adding a message costs its
    digests, however long the thread is. Not thread-safe.

    Args:
        window_messages: How many messages are looked at; at least 1.
        options: Thresholds; None equals the defaults.
        reading: What to compare in the place of an activity, for hosts that leave some tools or
            arguments out of account. None compares the messages themselves.

    Raises:
        InvalidInputError: *window_messages* is no int of at least 1.
    """

    __slots__ = ("_followed", "_length", "_limits", "_reader", "_size", "_window")

    def __init__(
        self,
        window_messages: int = 512,
        options: CycleOptions | None = None,
        *,
        reading: Reading | None = None,
    ) -> None:
        if type(window_messages) is not int or window_messages < 1:
            raise InvalidInputError("window_messages", window_messages, "an int of at least 1")
        self._limits = cycle_limits(options)
        self._size = window_messages
        self._reader = StepReader(self._limits, reading)
        self._window = ThreadWindow(self._limits, window_messages)
        self._length = 0
        self._followed: list[Mapping[str, object]] = []

    def push(self, message: Mapping[str, object]) -> None:
        """Add the message that follows the newest one.

        Raises:
            InvalidInputError: *message* is no mapping.
        """
        self._window.push(self._reader.step(as_message(message, field="message")))
        self._length += 1

    def extend(self, messages: Iterable[Mapping[str, object]]) -> None:
        """Add messages, oldest first.

        Raises:
            InvalidInputError: One is no mapping; the error names it. Those before it are added.
        """
        for position, message in enumerate(messages):
            self.push(as_message(message, field=f"messages[{position}]"))

    def begin_turn(self) -> None:
        """Take note that the next message begins a person's turn.

        Asking for the same thing in every turn is no loop, so equal results before it do not
        count into the run of results, and copies of a pattern that holds the beginning of a turn
        are none; the other heuristics read across turns.
        """
        self._window.begin_turn()

    def find(self, *, skip: Collection[str] = (), newest: int | None = None) -> Cycle | None:
        """Return the first heuristic that finds that the thread goes round, with its evidence.

        Args:
            skip: Names of heuristics that are passed over; later ones are still tried.
            newest: How many of the newest messages must hold the latest evidence, so that what
                was found before is not found again; None takes them all.
        """
        return self._window.find(skip, self._size if newest is None else newest)

    def describe(self, *, skip: Collection[str] = ()) -> CycleName | None:
        """Return the name of what `find` finds, or None."""
        cycle = self.find(skip=skip)
        return None if cycle is None else cycle.name

    def follow(self, messages: Sequence[Mapping[str, object]]) -> int:
        """Take the whole thread as it is now, and add what is new since the last call.

        Normally the thread has only grown; that is confirmed by a few messages at its old end,
        by being the same objects or else by their digests, so a call costs what is new. A message
        that was changed in place is not read again. Where the head was trimmed or rewritten, the newest known
        message that is still there is looked for among the last *window_messages*. What the
        thread lost before it stays as evidence; what was known behind it was withdrawn and is
        forgotten. Where nothing is recognised, the last *window_messages* are a new thread.

        Args:
            messages: The whole thread, oldest first. Of it the newest four messages are kept.

        Returns:
            The index of the first message that was added; the length if there was none.

        Raises:
            InvalidInputError: *messages* is no sequence, or a message that had to be read is no
                mapping; the error names it.
        """
        start = self._length
        tail = as_messages(messages)[max(0, start - _CONFIRMED) :]
        if not self._has_only_grown(tail):
            start = self._length = self._resume(messages)
            tail = messages[max(0, start - _CONFIRMED) :]
        for position, message in enumerate(tail[min(start, _CONFIRMED) :], start):
            self.push(as_message(message, field=f"messages[{position}]"))
        self._followed = list(tail[-_CONFIRMED:])
        return start

    def snapshot(self) -> dict[str, object]:
        """Return the state as JSON values, under 30 kB with a window of 512.

        Neither the options nor the reading are part of it.
        """
        window = self._window
        saved = _Snapshot(
            version=1,
            window_messages=self._size,
            length=self._length,
            records=pack(window.records),
            labels=tuple(window.labels),
            text_runs=tuple(window.text_runs),
            turn_begins=window.turn_begins,
        )
        return saved.model_dump(mode="json")

    @classmethod
    def restore(
        cls,
        snapshot: Mapping[str, object],
        options: CycleOptions | None = None,
        *,
        reading: Reading | None = None,
    ) -> ThreadWatch:
        """Return a watch that goes on where *snapshot* was taken, with the same answers.

        Args:
            snapshot: What `snapshot` returned, also after a way through JSON.
            options: The thresholds to go on with; they are not part of a snapshot.
            reading: The reading to go on with; likewise.

        Raises:
            pydantic.ValidationError: A field is missing or out of its type; it is named.
            InvalidInputError: The packed records cannot be read.
        """
        saved = _Snapshot.model_validate(snapshot)
        watch = cls(saved.window_messages, options, reading=reading)
        records = unpack(saved.records)[-saved.window_messages :]
        watch._window.refill(records, saved.labels, saved.text_runs)
        watch._window.turn_begins = saved.turn_begins
        watch._length = saved.length
        return watch

    def _key(self, message: Mapping[str, object], position: int) -> int:
        return self._reader.key(as_message(message, field=f"messages[{position}]"))

    def _has_only_grown(self, tail: Sequence[Mapping[str, object]]) -> bool:
        """Return whether the newest known messages are where they were.

        Args:
            tail: The thread from `_CONFIRMED` messages before its known end on.
        """
        known, end = self._window.records, min(_CONFIRMED, self._length)
        confirmed = min(end, len(known))
        if not known or len(tail) < end:
            return False
        newest = tail[end - confirmed : end]
        if [*map(id, self._followed[-confirmed:])] == [*map(id, newest)]:
            return True  # the very same objects, of which no digests are needed
        first = self._length - confirmed
        return all(
            known[at - confirmed].key == self._key(message, first + at)
            for at, message in enumerate(newest)
        )

    def _resume(self, messages: Sequence[Mapping[str, object]]) -> int:
        """Make the window end with a message that is still there; return what index follows it."""
        first = max(0, len(messages) - self._size)
        thread = [self._key(m, position) for position, m in enumerate(messages[first:], first)]
        known = [record.key for record in self._window.records]
        place = recognise(known, thread)
        if place is None:
            self._window = ThreadWindow(self._limits, self._size)
            return first
        seen, stop = place
        self._window.withdraw(len(known) - seen)
        return first + stop

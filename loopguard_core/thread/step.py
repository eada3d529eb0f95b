"""From a message to what a watch keeps of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from loopguard_core.message import Activity, activity_of, text_of

from .activity import Entry, entry_of
from .cycle import message_text_run
from .excerpt import excerpt
from .identity import message_key
from .record import Record

if TYPE_CHECKING:
    from .options import CycleLimits
    from .text_run import TextRun

__all__ = ["Reading", "Step", "StepReader"]

Reading: TypeAlias = Callable[[Mapping[str, object]], Mapping[str, object] | None]
"""Gives the message to compare in the place of the one in the thread; None passes it over."""


class Step(NamedTuple):
    """A message as a watch takes it in.

    Args:
        record: Its digests.
        label: A tool's name or the start of a text; may be empty.
        text_run: The run of sentences in it, or None.
    """

    record: Record
    label: str = ""
    text_run: TextRun | None = None


class StepReader:
    """Reduces messages to steps.

    Args:
        limits: They say which types are read for repeated sentences.
        reading: What stands for a message; None takes the messages themselves.
    """

    __slots__ = ("_limits", "_reading")

    def __init__(self, limits: CycleLimits, reading: Reading | None) -> None:
        self._limits = limits
        self._reading = reading

    def key(self, message: Mapping[str, object]) -> int:
        """Return the key of the step that *message* is, without the rest of it."""
        read = self._read(message)
        return message_key(message) if read is None else _key(read, _entry(activity_of(read)))

    def step(self, message: Mapping[str, object]) -> Step:
        """Return all that is kept of *message*."""
        read = self._read(message)
        if read is None:  # it still marks its place, so that the thread can be followed
            return Step(Record(message_key(message), is_read=False, entry=None))
        activity = activity_of(read)
        entry = _entry(activity)
        label = excerpt(text_of(read) if activity is None else activity.name)
        record = Record(_key(read, entry), is_read=True, entry=entry)
        return Step(record, label, message_text_run(read, self._limits))

    def _read(self, message: Mapping[str, object]) -> Mapping[str, object] | None:
        return message if self._reading is None else self._reading(message)


def _entry(activity: Activity | None) -> Entry | None:
    return None if activity is None else entry_of(activity)


def _key(message: Mapping[str, object], entry: Entry | None) -> int:
    """Return the key of *message*; one that is nothing but an activity shares that one's."""
    if entry is None or text_of(message) or not _is_bare(message, entry):
        return message_key(message)
    return entry.key


def _is_bare(message: Mapping[str, object], entry: Entry) -> bool:
    """Return whether the meta of *message* holds what *entry* was made of and nothing else."""
    match message:
        case {"meta": {"activity": {"type": _, "function": function, **more}, **beside}}:
            named = 1 + entry.has_arguments + entry.has_result
            return not (more or beside) and len(function) == named
        case _:  # whatever made its activity readable has more in it
            return False

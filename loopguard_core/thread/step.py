"""From a message to what a watch keeps of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from loopguard_core.message import ABSENT, Activity, Message, activity_of, text_of

from .activity import Entry, entry_of
from .cycle import message_text_run
from .excerpt import excerpt
from .identity import message_key
from .record import Record

if TYPE_CHECKING:
    from .options import CycleLimits
    from .text_run import TextRun

__all__ = ["Reading", "Step", "StepReader"]

Reading: TypeAlias = Callable[[Activity], Activity | None]
"""Gives the activity to compare in the place of the one in the thread; None passes it over."""


_Meta: TypeAlias = Mapping[str, Mapping[str, Mapping[str, object]]]


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
        reading: What stands for an activity; None takes the messages themselves.
    """

    __slots__ = ("_limits", "_reading")

    def __init__(self, limits: CycleLimits, reading: Reading | None) -> None:
        self._limits = limits
        self._reading = reading

    def key(self, message: Mapping[str, object]) -> int:
        """Return the key of the step that *message* is, without the rest of it."""
        activity = activity_of(message)
        read = self._read(activity)
        if activity is None or read is None:
            return message_key(message)
        return _key(message, activity, read, entry_of(read))

    def step(self, message: Mapping[str, object]) -> Step:
        """Return all that is kept of *message*."""
        activity = activity_of(message)
        text_run = message_text_run(message, self._limits)
        if activity is None:
            return Step(
                Record(message_key(message), is_read=True, entry=None),
                excerpt(text_of(message)),
                text_run,
            )
        read = self._read(activity)
        if read is None:  # it still marks its place, so that the thread can be followed
            return Step(Record(message_key(message), is_read=False, entry=None))
        entry = entry_of(read)
        record = Record(_key(message, activity, read, entry), is_read=True, entry=entry)
        return Step(record, excerpt(read.name), text_run)

    def _read(self, activity: Activity | None) -> Activity | None:
        if activity is None or self._reading is None:
            return activity
        return self._reading(activity)


def _key(message: Mapping[str, object], activity: Activity, read: Activity, entry: Entry) -> int:
    """Return the key of *message* as it is read; what is nothing but an activity shares its key."""
    if read is not activity:
        message = _as_read(message, read)
    if text_of(message) or not _is_bare(message, entry):
        return message_key(message)
    return entry.key


def _as_read(message: Mapping[str, object], read: Activity) -> Mapping[str, object]:
    """Return a message that says *read*, and what *message* says beside its activity."""
    given = {"name": read.name, "arguments": read.arguments, "result": read.result}
    function = {key: value for key, value in given.items() if value is not ABSENT}
    return Message(
        type="activity",
        text=message.get("text"),
        meta={"activity": {"type": read.type, "function": function}},
    )


def _is_bare(message: Mapping[str, object], entry: Entry) -> bool:
    """Return whether the meta of *message* holds what *entry* was made of and nothing else."""
    meta = cast("_Meta", message["meta"])  # which was readable, so it has this shape
    activity = meta["activity"]
    named = 1 + entry.has_arguments + entry.has_result
    return len(meta) == 1 and len(activity) == 2 and len(activity["function"]) == named  # noqa: PLR2004 - type and function

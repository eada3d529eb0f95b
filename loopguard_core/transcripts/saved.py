"""What a reader hands over: a saved run, a saved reply, or the reason why there is neither."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from loopguard_core.message import Message

__all__ = ["Saved", "SavedReply", "SavedRun", "Unreadable", "chars_of", "index_of"]


def index_of(message: Message) -> int:
    """Return the position in its file of the saved message that *message* comes from."""
    return _number(message, "index")


def chars_of(message: Message) -> int:
    """Return how long *message* is in its file, in characters."""
    return _number(message, "chars")


def _number(message: Message, key: str) -> int:
    value = message.get(key)
    return value if isinstance(value, int) else 0


@dataclass(frozen=True, slots=True)
class SavedRun:
    """The messages of one run.

    Args:
        id: What the file calls the run, else where it stands in the file.
        source: The file, as it was named by the caller.
        format: What the messages were written in, such as `openai-chat`.
        size: How many messages the file holds. One of them can be several neutral ones.
        messages: The run as neutral messages. Two top-level keys lead back to the file: `index`,
            the position of the message it came from, counted from 0, and `chars`, its length
            there in characters.
    """

    id: str
    source: str
    format: str
    size: int
    messages: tuple[Message, ...]

    def chars_after(self, index: int) -> int:
        """Return how many characters follow the saved message with *index*."""
        return sum(chars_of(message) for message in self.messages if index_of(message) > index)


@dataclass(frozen=True, slots=True)
class SavedReply:
    """One streamed reply of a bot, with the fields of a run that is one message long."""

    format: ClassVar[str] = "text"
    size: ClassVar[int] = 1

    id: str
    source: str
    text: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file, or a place in one, that holds no run.

    Args:
        source: The file, as it was named by the caller.
        line: The line, counted from 1; None if the file as a whole cannot be read.
        reason: What is wrong with it, for a person.
    """

    source: str
    line: int | None
    reason: str

    def describe(self) -> str:
        """Name the place in the way compilers do, so that editors can jump to it."""
        place = self.source if self.line is None else f"{self.source}:{self.line}"
        return f"{place}: {self.reason}"


Saved: TypeAlias = SavedRun | SavedReply | Unreadable
"""One item of a file."""

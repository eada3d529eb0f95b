"""The one neutral message that crosses every border of loopguard.

A message is a mapping, so that unknown keys survive untouched. `meta` holds only what makes two
messages the same; ids, error flags, pins and an adapter's native object are top-level keys.
Plain dicts are accepted wherever a `Message` is.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, Self

from .errors import InvalidInputError

__all__ = [
    "ABSENT",
    "Absent",
    "Activity",
    "Message",
    "activity_of",
    "as_message",
    "text_of",
    "type_of",
]


class Absent(enum.Enum):
    """The type of `ABSENT`."""

    ABSENT = "absent"


# The abstract class answers slowly; nearly every mapping is a dict, and asked first as one.
_MAPPING: Final = (dict, Mapping)

ABSENT: Final = Absent.ABSENT
"""Stands for a key that is not there, which is different from one whose value is None."""


class Message(dict[str, object]):
    """One message of a thread: `type`, `text`, `meta`, `usage`, and whatever else it carries.

    Source: thread specification, section 1. Known types are `user`, `bot`, `reasoning`,
    `activity` and `system`; any other string passes through.
    """

    @property
    def type(self) -> str:
        """The `type` field if it is a string, else an empty string."""
        return type_of(self)

    @property
    def text(self) -> str:
        """The `text` field if it is a string, else an empty string."""
        return text_of(self)

    @property
    def meta(self) -> Mapping[str, object] | None:
        """The `meta` field if it is a mapping, else None."""
        meta = self.get("meta")
        return meta if isinstance(meta, Mapping) else None

    @property
    def has_meta(self) -> bool:
        """True if the key `meta` exists, even when its value is None."""
        return "meta" in self

    def clone(self) -> Self:
        """Return a new message of the same class with the same entries; values are shared."""
        return type(self)(self)

    @classmethod
    def user(cls, text: str) -> Self:
        """Build a person's message."""
        return cls(type="user", text=text)

    @classmethod
    def bot(cls, text: str) -> Self:
        """Build the visible text of a model's reply."""
        return cls(type="bot", text=text)

    @classmethod
    def reasoning(cls, text: str) -> Self:
        """Build a model's thinking."""
        return cls(type="reasoning", text=text)

    @classmethod
    def system(cls, text: str) -> Self:
        """Build a system message."""
        return cls(type="system", text=text)

    @classmethod
    def tool_request(cls, name: str, arguments: object, call_id: str | None = None) -> Self:
        """Build a model's call of a tool.

        Args:
            name: The tool, as the model wrote it.
            arguments: Its arguments, any value.
            call_id: The provider's id of the call; None where there is none.
        """
        function = {"name": name, "arguments": arguments}
        return cls._activity("request", function, call_id)

    @classmethod
    def tool_response(
        cls,
        name: str,
        arguments: object,
        result: object,
        call_id: str | None = None,
        *,
        is_error: bool = False,
    ) -> Self:
        """Build the answer of a tool; it carries the arguments of its call.

        Args:
            name: The tool that answered.
            arguments: What it was called with.
            result: What it returned, any value.
            call_id: The id of the call it answers; None where there is none.
            is_error: True if the tool failed. Not part of the message's identity.
        """
        function = {"name": name, "arguments": arguments, "result": result}
        message = cls._activity("response", function, call_id)
        if is_error:
            message["is_error"] = True
        return message

    @classmethod
    def _activity(
        cls, kind: Literal["request", "response"], function: dict[str, object], call_id: str | None
    ) -> Self:
        message = cls(
            type="activity", text="", meta={"activity": {"type": kind, "function": function}}
        )
        if call_id is not None:
            message["call_id"] = call_id
        return message


class Activity(NamedTuple):
    """A readable activity: what a tool message says, without the message around it.

    `arguments` and `result` are `ABSENT` where the key does not exist; None, an empty string
    and 0 are values like any other. A response whose result is absent is still streaming.
    """

    type: str
    name: str
    arguments: object
    result: object


def type_of(message: Mapping[str, object]) -> str:
    """Return the `type` field if it is a string, else an empty string."""
    kind = message.get("type")
    return kind if isinstance(kind, str) else ""


def text_of(message: Mapping[str, object]) -> str:
    """Return the `text` field if it is a string, else an empty string."""
    text = message.get("text")
    return text if isinstance(text, str) else ""


def activity_of(message: Mapping[str, object]) -> Activity | None:
    """Read the activity of *message*, or return None if it is not a readable one.

    Readable means that the type is `activity`, that meta, meta.activity and its function are
    mappings, and that the activity's type and the function's name are strings.
    Source: thread specification, section 5.1.
    """
    if message.get("type") != "activity":
        return None
    meta = message.get("meta")
    activity = meta.get("activity") if isinstance(meta, _MAPPING) else None
    if not isinstance(activity, _MAPPING):
        return None
    kind, function = activity.get("type"), activity.get("function")
    if not isinstance(kind, str) or not isinstance(function, _MAPPING):
        return None
    name = function.get("name")
    if not isinstance(name, str):
        return None
    return Activity(kind, name, function.get("arguments", ABSENT), function.get("result", ABSENT))


def as_message(value: object, *, field: str) -> Mapping[str, object]:
    """Return *value* if it can serve as a message.

    Args:
        value: What the caller passed.
        field: How the error names it, such as `messages[3]`.

    Raises:
        InvalidInputError: *value* is no mapping.
    """
    if not isinstance(value, _MAPPING):
        raise InvalidInputError(field, value, "a Message or another mapping")
    return value


def as_messages(value: object, *, field: str = "messages") -> Sequence[Mapping[str, object]]:
    """Return *value* if it is a sequence; its elements are checked when they are read.

    Raises:
        InvalidInputError: *value* is no sequence, or is a string.
    """
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise InvalidInputError(field, value, "a sequence of messages")
    return value

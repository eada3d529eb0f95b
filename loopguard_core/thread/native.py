"""Which neutral messages were one message in the framework they come from.

One native message arrives as one or more neighbouring neutral ones. Where they carry the top-level
key `group`, equal values say what belongs together. Where they don't, reasoning belongs to what
follows it, the text before calls belongs to the calls, and neighbouring calls are parallel ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from loopguard_core.message import Activity, activity_of, as_message, type_of

__all__ = ["Kind", "Part", "group_at", "native_messages", "read_part"]

Kind: TypeAlias = Literal["reasoning", "bot", "request", "response", "other"]

_MAY_PRECEDE: Final[Mapping[Kind, tuple[Kind, ...]]] = {
    "reasoning": ("reasoning",),
    "bot": ("reasoning",),
    "request": ("reasoning", "bot", "request"),
    "response": (),
    "other": (),
}
"""What belongs to the same native message when it stands directly before, without a `group`."""

_SPOKEN: Final[Mapping[str, Kind]] = {"reasoning": "reasoning", "bot": "bot"}
_CALLED: Final[Mapping[str, Kind]] = {"request": "request", "response": "response"}


class Part(NamedTuple):
    """A neutral message that was read, with what decides where it belongs.

    `kind` is `other` for whatever is neither an assistant's nor a readable activity; `activity`
    is None exactly if `kind` is neither `request` nor `response`.
    """

    position: int
    message: Mapping[str, object]
    kind: Kind
    activity: Activity | None

    @property
    def group(self) -> object:
        """What its native message is known by, or None."""
        return self.message.get("group")

    @property
    def call_id(self) -> str | None:
        """The id that links a call and its result; None where there is none, or an empty one."""
        call_id = self.message.get("call_id")
        return call_id if isinstance(call_id, str) and call_id else None


def read_part(messages: Sequence[Mapping[str, object]], position: int) -> Part:
    """Read the message at *position*.

    Raises:
        InvalidInputError: It is no mapping.
    """
    message = messages[position]
    if not isinstance(message, dict):  # nearly always one, and asked about fastest
        as_message(message, field=f"messages[{position}]")
    activity = activity_of(message)
    if activity is None:
        return Part(position, message, _SPOKEN.get(type_of(message), "other"), None)
    kind = _CALLED.get(activity.type, "other")
    return Part(position, message, kind, None if kind == "other" else activity)


def group_at(messages: Sequence[object], position: int) -> object:
    """Return the `group` of the message at *position*; None without one, or if it is no mapping."""
    message = messages[position]
    return message.get("group") if isinstance(message, Mapping) else None


def native_messages(messages: Sequence[Mapping[str, object]]) -> Iterator[list[Part]]:
    """Yield the parts of one native message after the other, all of them newest first.

    Reads each message once, and one message further than what it yields.

    Raises:
        InvalidInputError: A message that is reached is no mapping.
    """
    native: list[Part] = []
    for position in range(len(messages) - 1, -1, -1):
        part = read_part(messages, position)
        if native and not _is_same_native(part, native[-1]):
            yield native
            native = []
        native.append(part)
    if native:
        yield native


def _is_same_native(part: Part, next_part: Part) -> bool:
    group, next_group = part.group, next_part.group
    if group is not None or next_group is not None:
        return bool(group == next_group)
    return part.kind in _MAY_PRECEDE[next_part.kind]

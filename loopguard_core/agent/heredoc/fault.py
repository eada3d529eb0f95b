"""What can be wrong with a heredoc call, and how it is said."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["FaultKind", "HeredocFault"]


class FaultKind(StrEnum):
    """The place where reading stopped."""

    NO_ARGUMENTS = "no_arguments"
    NO_NAME = "no_name"
    NO_VALUE = "no_value"
    BODY_NEVER_CLOSED = "body_never_closed"
    STRING_NEVER_CLOSED = "string_never_closed"
    VALUE_NEVER_CLOSED = "value_never_closed"
    NOT_VALID_JSON = "not_valid_json"
    NOT_AN_OBJECT = "not_an_object"


_SAID: Final = {
    FaultKind.NO_ARGUMENTS: "it was cut off before its arguments",
    FaultKind.NO_NAME: "it names no tool",
    FaultKind.NO_VALUE: "no object of arguments follows its first line",
    FaultKind.BODY_NEVER_CLOSED: "it was cut off, or a body is not closed as it was opened",
    FaultKind.STRING_NEVER_CLOSED: "it was cut off, or a quoted string is never closed",
    FaultKind.VALUE_NEVER_CLOSED: "it was cut off, or its object is never closed",
    FaultKind.NOT_VALID_JSON: "its arguments are not valid JSON",
    FaultKind.NOT_AN_OBJECT: "its arguments must be an object",
}
_CUT_OFF: Final = frozenset(
    {
        FaultKind.NO_ARGUMENTS,
        FaultKind.BODY_NEVER_CLOSED,
        FaultKind.STRING_NEVER_CLOSED,
        FaultKind.VALUE_NEVER_CLOSED,
    }
)
_SHOWN_CHARS: Final = 80


@dataclass(frozen=True, slots=True)
class HeredocFault:
    """Why a reply's calls cannot be read.

    Args:
        kind: Where reading stopped.
        tool: Whose call it was; empty where no name came.
        near: The text at which the arguments stopped being JSON, if a place is known.
    """

    kind: FaultKind
    tool: str = ""
    near: str = ""

    @property
    def cut_off(self) -> bool:
        """True when the text ended too early; shorter arguments may help then."""
        return self.kind in _CUT_OFF

    @property
    def message(self) -> str:
        """What is wrong, for a model or a person: one sentence without a full stop."""
        subject = f"the call of {self.tool[:_SHOWN_CHARS]}" if self.tool else "a call"
        near = f", near {self.near!r}" if self.near else ""
        return f"{subject} is malformed: {_SAID[self.kind]}{near}"

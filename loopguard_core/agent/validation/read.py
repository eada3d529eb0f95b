"""Reads the arguments of a call as an object, or says why they are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from loopguard_core.agent.json_text import Number

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NotAnObjectError", "json_kind", "read_object"]

_Value = TypeVar("_Value")


class NotAnObjectError(ValueError):
    """A text is no JSON object; the error's text is the reason that the model reads."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"arguments are not a JSON object: {detail}")


def read_object(text: str, read: Callable[[str], _Value]) -> dict[str, _Value]:
    """Return the members of *text*, in the values that *read* makes of JSON.

    A blank text and `null` have none.

    Raises:
        NotAnObjectError: It is another value or none.
    """
    if not text.strip():
        return {}
    try:
        value: object = read(text)
    except ValueError as error:
        raise NotAnObjectError(str(error)) from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise NotAnObjectError(f"got {json_kind(value)}")
    return value


def json_kind(value: object) -> str:
    """Return what JSON calls a value that was read from it, and is not null."""
    match value:
        case bool():
            return "boolean"
        case int() | float() | Number():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"

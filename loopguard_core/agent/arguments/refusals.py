"""What a model is told of a call whose arguments cannot be used. Source: section 20."""

from __future__ import annotations

from typing import Final

__all__ = ["refusal_cut", "refusal_not_object", "refusal_syntax"]

_AGAIN: Final = "Send the whole call again, with its arguments as one valid JSON object."


def refusal_cut(size: int) -> str:
    """Refuse arguments that end too early; *size* is the bytes that arrived."""
    return (
        f"ERROR: malformed json, truncation detected: the arguments end after {size} bytes, in the "
        "middle of a value. The call was NOT executed. Send it again with smaller arguments, in "
        "several calls if need be."
    )


def refusal_syntax(reason: str) -> str:
    """Refuse arguments that are no JSON; *reason* says what is wrong, and where."""
    return f"ERROR: malformed json in the arguments: {reason}. The call was NOT executed. {_AGAIN}"


def refusal_not_object(kind: str) -> str:
    """Refuse arguments that are another JSON value; *kind* names which, such as `array`."""
    return (
        f"ERROR: the arguments of a call must be a JSON object, and these are: {kind}. "
        f"The call was NOT executed. {_AGAIN}"
    )

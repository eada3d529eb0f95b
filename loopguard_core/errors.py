"""Errors that loopguard raises for bad input and missing extras.

What a model or a tool says is data and never raises; these are for what a programmer passes.

    LoopguardError
    +-- InvalidInputError      an argument that cannot be used; also a ValueError
    +-- MissingEstimatorError  a price was needed and nobody could name it; also a ValueError

A stopped run raises `loopguard_core.guard.LoopDetected`, which lives with the verdict it carries.
"""

from __future__ import annotations

from typing import TypeVar

__all__ = [
    "InvalidInputError",
    "LoopguardError",
    "MissingEstimatorError",
    "checked",
    "checked_callable",
    "checked_flag",
    "checked_methods",
    "missing_extra",
]

_Kind = TypeVar("_Kind")

_SHOWN_CHARS = 80


class LoopguardError(Exception):
    """The base of every error this project raises on purpose."""


class InvalidInputError(LoopguardError, ValueError):
    """An argument cannot be used; the text names the field and the value.

    Args:
        field: The argument, such as `messages[3]` or `max_tokens`.
        value: What was given. Only the start of its `repr` is kept.
        expected: What would have been accepted, as a noun phrase.
    """

    def __init__(self, field: str, value: object, expected: str) -> None:
        self.field = field
        self.expected = expected
        shown = _short_repr(value)
        super().__init__(f"{field}: expected {expected}, got {shown} ({type(value).__name__})")


class MissingEstimatorError(LoopguardError, ValueError):
    """A message carries no usage and no token estimator was given."""

    def __init__(self, position: int) -> None:
        self.position = position
        super().__init__(
            f"messages[{position}] carries no usage and no `estimate` was given to price it"
        )


def checked(field: str, value: object, kind: type[_Kind]) -> _Kind:
    """Return *value* if it is a *kind*, and a default one for None.

    Args:
        field: How the error names it, such as `guard` or `config`.
        value: What the caller passed.
        kind: A class that can be made without arguments.

    Raises:
        InvalidInputError: *value* is something else.
    """
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise InvalidInputError(field, value, f"a {kind.__name__} or None")
    return value


def checked_callable(field: str, value: object, *, optional: bool = False) -> None:
    """Refuse what cannot be called, so that it fails where it is passed and not where it is used.

    Args:
        field: How the error names it.
        value: What the caller passed.
        optional: True if None is one too.

    Raises:
        InvalidInputError: *value* is something else.
    """
    if not (callable(value) or (optional and value is None)):
        raise InvalidInputError(field, value, "a callable or None" if optional else "a callable")


def checked_flag(field: str, value: object) -> None:
    """Refuse what is neither True nor False.

    Raises:
        InvalidInputError: *value* is something else.
    """
    if not isinstance(value, bool):
        raise InvalidInputError(field, value, "True or False")


def checked_methods(field: str, value: object, expected: str, *methods: str) -> None:
    """Refuse what lacks a method of a protocol.

    Args:
        field: How the error names it.
        value: What the caller passed.
        expected: The protocol, as a noun phrase.
        methods: What it has to have.

    Raises:
        InvalidInputError: *value* is None or a class, or has not all of *methods*.
    """
    if isinstance(value, type) or not all(callable(getattr(value, m, None)) for m in methods):
        raise InvalidInputError(field, value, f"{expected}, with {', '.join(methods)}")


def missing_extra(error: ImportError, *, package: str, extra: str) -> ImportError:
    """Turn a failed framework import into one that names the command that mends it.

    Args:
        error: What the import raised.
        package: The framework's top-level import package.
        extra: The extra of this distribution that installs it.

    Returns:
        A new error if the framework itself is absent or too old to have the name; *error*
        unchanged if something below the framework is broken, which no extra would mend.
    """
    missing = error.name or ""
    if missing != package and not missing.startswith((f"{package}.", f"{package}_")):
        return error
    text = (
        f"loopguard's {package} adapter needs {package}, which is missing or too old: "
        f'pip install "loopguard-core[{extra}]"'
    )
    return ImportError(text, name=error.name, path=error.path)


def _short_repr(value: object) -> str:
    """Show the start of *value*; an object whose repr fails shows its type alone."""
    if isinstance(value, (str, bytes)):
        value = value[: _SHOWN_CHARS + 1]
    try:
        shown = repr(value)
    except Exception:  # noqa: BLE001 - a foreign __repr__ may raise anything, and we are reporting
        return f"<{type(value).__name__}>"
    return shown if len(shown) <= _SHOWN_CHARS else f"{shown[:_SHOWN_CHARS]}..."

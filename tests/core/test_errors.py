"""Errors name the field and the value, and blame an extra only where it would help."""

from __future__ import annotations

import pytest

from loopguard_core import InvalidInputError, LoopDetected, LoopguardError, MissingEstimatorError
from loopguard_core.errors import missing_extra
from loopguard_core.guard.verdict import ALLOWED, Action, Finding, Verdict


class Unprintable:
    """A value whose repr fails."""

    def __repr__(self) -> str:
        """Raise."""
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (3, "got 3 (int)"),
        ("x" * 500, "xxx... (str)"),
        (b"y" * 500, "yyy... (bytes)"),
        (list(range(500)), "... (list)"),
        (Unprintable(), "got <Unprintable> (Unprintable)"),
    ],
)
def test_bad_input_is_shown_short(value: object, shown: str) -> None:
    """The field, what was expected, and the start of what was given."""
    error = InvalidInputError("max_tokens", value, "a number")
    assert str(error).startswith("max_tokens: expected a number, got ")
    assert shown in str(error)
    assert len(str(error)) < 200


def test_errors_can_be_caught_by_one_base_and_as_value_errors() -> None:
    """One `except LoopguardError` catches everything that is raised on purpose."""
    assert issubclass(InvalidInputError, (LoopguardError, ValueError))
    assert issubclass(MissingEstimatorError, (LoopguardError, ValueError))
    assert issubclass(LoopDetected, LoopguardError)
    assert "messages[4]" in str(MissingEstimatorError(4))


def test_a_stopped_run_says_why() -> None:
    """The exception carries the verdict, and its text is for a person."""
    finding = Finding("thread.repeated_suffix", "warn", 3, "The last messages repeat.")
    error = LoopDetected(Verdict(Action.HALT, (finding,)))
    assert error.verdict.reason == "thread.repeated_suffix"
    assert str(error) == "The last messages repeat."
    assert str(LoopDetected(ALLOWED)) == "the run was stopped"


@pytest.mark.parametrize("name", ["langchain", "langchain.agents", "langchain_core", "langchain_x"])
def test_an_absent_framework_names_the_extra(name: str) -> None:
    """The command that mends it is in the text, and the original error is not lost."""
    error = ImportError("gone", name=name, path="/where")
    told = missing_extra(error, package="langchain", extra="langchain")
    assert 'pip install "loopguard-core[langchain]"' in str(told)
    assert (told.name, told.path) == (name, "/where")


@pytest.mark.parametrize("name", ["numpy", "langchainx", None])
def test_what_is_broken_below_a_framework_is_reported_as_it_is(name: str | None) -> None:
    """No extra would mend it."""
    error = ImportError("broken", name=name)
    assert missing_extra(error, package="langchain", extra="langchain") is error

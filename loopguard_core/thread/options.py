"""Options of the heuristics as a programmer writes them, and the limits that follow from them.

Sources: thread specification, section 0 and decision 15. Integers below a minimum are clamped,
None is "unset", and anything that is no finite number of its type is a validation error that
names the option. Every default has its one home in the `..._limits` functions here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from loopguard_core.errors import InvalidInputError

__all__ = [
    "DEFAULT_MIN_RESULT_REPETITIONS",
    "CycleLimits",
    "CycleOptions",
    "StreamGuardLimits",
    "StreamGuardOptions",
    "TextRunLimits",
    "TextRunOptions",
    "cycle_limits",
    "stream_guard_limits",
    "text_run_limits",
]

DEFAULT_MIN_RESULT_REPETITIONS: Final = 3
"""How many equal newest results are a run where no option says otherwise."""


class _Options(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False
    )


_AnyOptions = TypeVar("_AnyOptions", bound=_Options)


class CycleOptions(_Options):
    """Options of the thread heuristics; an option that is None takes its default.

    Args:
        min_repetitions: Copies that make a repeated suffix. Default 2, at least 1; with 1 every
            thread of at least `min_pattern_length` messages is cyclic.
        min_pattern_length: Messages in the shortest suffix that is tried. Default 2, at least 1.
        max_pattern_length: Messages in the longest one, at least `min_pattern_length`. By
            default every length that fits into the thread often enough.
        min_result_repetitions: Equal newest results that make a run. Default
            `DEFAULT_MIN_RESULT_REPETITIONS`, at least 2.
        text_run_types: Types of messages that are read for repeated sentences. By default every
            type but `reasoning` and `activity`.
        min_stale_activities: How many of the newest activities must all stand before them in
            the tail too, so that a tail which has just brought something new is spared. Ours,
            not the reference's. Default 0, at least 0.

    Raises:
        pydantic.ValidationError: A number is no int (bool and fractions included), or a type of
            message no string; the error names the option.
    """

    min_repetitions: int | None = None
    min_pattern_length: int | None = None
    max_pattern_length: int | None = None
    min_result_repetitions: int | None = None
    text_run_types: Annotated[frozenset[str], Field(strict=False)] | None = None
    min_stale_activities: int | None = None


class TextRunOptions(_Options):
    """Options of the text run; an option that is None takes its default.

    Args:
        min_units: Sentences or lines below which a text is never a run. Default 8, at least 2.
        window: How many of the last units are looked at, at least `min_units`. Default 64, or
            `min_units` if that is more.
        max_unique_ratio: Distinct units by units, up to which a text is a run. Default 0.5, which
            also replaces what is not above 0 and at most 1.

    Raises:
        pydantic.ValidationError: An option is no finite number of its type; it is named.
    """

    min_units: int | None = None
    window: int | None = None
    max_unique_ratio: float | None = None


class StreamGuardOptions(_Options):
    """Options of `StreamGuard`; an option that is None takes its default.

    Args:
        ngram: Words in a phrase. Default 4, at least 2.
        window: How many of the latest words are looked at, at least `ngram`. Default 48, or
            `ngram` if that is more.
        max_repeats: How often a phrase stands in the window when the guard may trip. Default 4,
            at least 2.
        max_unique_ratio: Distinct words by words in the window, up to which it may trip. Default
            0.4; clamped into 0 to 1, and 0 never trips. From 0.5 on, lists are not spared.
        min_chars: Characters of the stream before which it never trips. Default 0.

    Raises:
        pydantic.ValidationError: An option is no finite number of its type; it is named.
    """

    ngram: int | None = None
    window: int | None = None
    max_repeats: int | None = None
    max_unique_ratio: float | None = None
    min_chars: int | None = None


@dataclass(frozen=True, slots=True)
class CycleLimits:
    """`CycleOptions` with the defaults filled in; None is "no limit of its own"."""

    repetitions: int
    shortest: int
    longest: int | None
    results: int
    text_run_types: frozenset[str] | None
    stale_activities: int


@dataclass(frozen=True, slots=True)
class TextRunLimits:
    """`TextRunOptions` with the defaults filled in."""

    min_units: int
    window: int
    max_unique_ratio: float


@dataclass(frozen=True, slots=True)
class StreamGuardLimits:
    """`StreamGuardOptions` with the defaults filled in."""

    ngram: int
    window: int
    max_repeats: int
    max_unique_ratio: float
    min_chars: int


def cycle_limits(options: CycleOptions | None) -> CycleLimits:
    """Fill in the defaults; an InvalidInputError names options of another class."""
    given = _checked(options, CycleOptions)
    shortest = _at_least(1, given.min_pattern_length, default=2)
    longest = given.max_pattern_length
    return CycleLimits(
        repetitions=_at_least(1, given.min_repetitions, default=2),
        shortest=shortest,
        longest=None if longest is None else max(shortest, longest),
        results=_at_least(2, given.min_result_repetitions, default=DEFAULT_MIN_RESULT_REPETITIONS),
        text_run_types=given.text_run_types,
        stale_activities=_at_least(0, given.min_stale_activities, default=0),
    )


def text_run_limits(options: TextRunOptions | None) -> TextRunLimits:
    """Fill in the defaults; an InvalidInputError names options of another class."""
    given = _checked(options, TextRunOptions)
    min_units = _at_least(2, given.min_units, default=8)
    ratio = given.max_unique_ratio
    return TextRunLimits(
        min_units=min_units,
        window=_at_least(min_units, given.window, default=64),
        max_unique_ratio=ratio if ratio is not None and 0 < ratio <= 1 else 0.5,
    )


def stream_guard_limits(options: StreamGuardOptions | None) -> StreamGuardLimits:
    """Fill in the defaults; an InvalidInputError names options of another class."""
    given = _checked(options, StreamGuardOptions)
    ngram = _at_least(2, given.ngram, default=4)
    ratio = 0.4 if given.max_unique_ratio is None else given.max_unique_ratio
    return StreamGuardLimits(
        ngram=ngram,
        window=_at_least(ngram, given.window, default=48),
        max_repeats=_at_least(2, given.max_repeats, default=4),
        max_unique_ratio=min(max(ratio, 0.0), 1.0),
        min_chars=_at_least(0, given.min_chars, default=0),
    )


def _checked(options: _AnyOptions | None, kind: type[_AnyOptions]) -> _AnyOptions:
    if options is None:
        return kind()
    if not isinstance(options, kind):
        raise InvalidInputError("options", options, f"{kind.__name__} or None")
    return options


def _at_least(minimum: int, given: int | None, *, default: int) -> int:
    return max(minimum, default if given is None else given)

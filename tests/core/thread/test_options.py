"""Options: what is accepted, what is clamped, what is refused with the option's name."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from loopguard_core.errors import InvalidInputError
from loopguard_core.thread import (
    DEFAULT_MIN_RESULT_REPETITIONS,
    CycleOptions,
    StreamGuard,
    StreamGuardOptions,
    TextRunOptions,
    describe_thread_cycle,
    has_repeated_text_run,
)
from loopguard_core.thread.options import (
    StreamGuardLimits,
    TextRunLimits,
    cycle_limits,
    stream_guard_limits,
    text_run_limits,
)

_INTEGERS = [
    (model, name)
    for model in (CycleOptions, TextRunOptions, StreamGuardOptions)
    for name in model.model_fields
    if name not in {"text_run_types", "max_unique_ratio"}
]
_RATIOS = [(model, "max_unique_ratio") for model in (TextRunOptions, StreamGuardOptions)]


@pytest.mark.parametrize(("model", "option"), _INTEGERS)
@pytest.mark.parametrize("value", [True, 2.0, 2.9, "3", float("nan"), float("inf"), [2]])
def test_integer_is_refused(model: type[BaseModel], option: str, value: Any) -> None:
    """What is no int, bool and whole fractions included, is an error that names the option."""
    with pytest.raises(ValidationError, match=option):
        model(**{option: value})


@pytest.mark.parametrize(("model", "option"), _RATIOS)
@pytest.mark.parametrize("value", [True, "0.5", float("nan"), float("-inf"), [0.5]])
def test_ratio_is_refused(model: type[BaseModel], option: str, value: Any) -> None:
    """What is no finite number, bool included, is an error that names the option."""
    with pytest.raises(ValidationError, match=option):
        model(**{option: value})


@pytest.mark.parametrize("value", ["bot", [1], 3])
def test_types_are_refused(value: Any) -> None:
    """A single string is no set of types, and a type is a string."""
    with pytest.raises(ValidationError, match="text_run_types"):
        CycleOptions(text_run_types=value)


def test_unknown_options_and_changes_are_refused() -> None:
    """Options are frozen and know their names."""
    with pytest.raises(ValidationError, match="min_repetition"):
        CycleOptions(min_repetition=2)  # type: ignore[call-arg]  # the typo is the point
    with pytest.raises(ValidationError, match="frozen"):
        CycleOptions().min_repetitions = 3  # type: ignore[misc]  # likewise


@pytest.mark.parametrize(
    ("options", "resolved"),
    [
        (None, {"repetitions": 2, "shortest": 2, "longest": None, "results": 3}),
        (CycleOptions(), {"repetitions": 2, "shortest": 2, "longest": None, "results": 3}),
        (CycleOptions(min_repetitions=0), {"repetitions": 1, "shortest": 2}),
        (CycleOptions(min_pattern_length=-4), {"repetitions": 2, "shortest": 1}),
        (CycleOptions(max_pattern_length=0), {"shortest": 2, "longest": 2}),
        (CycleOptions(min_pattern_length=5, max_pattern_length=3), {"shortest": 5, "longest": 5}),
        (CycleOptions(min_result_repetitions=1), {"results": 2}),
        (CycleOptions(), {"text_run_types": None}),
        (CycleOptions(text_run_types=frozenset()), {"text_run_types": frozenset()}),
    ],
)
def test_cycle_limits(options: CycleOptions | None, resolved: dict[str, object]) -> None:
    """None is unset; an int below the minimum acts as the minimum."""
    limits = cycle_limits(options)
    assert {name: getattr(limits, name) for name in resolved} == resolved


@pytest.mark.parametrize(
    ("options", "limits"),
    [
        (None, TextRunLimits(8, 64, 0.5)),
        (TextRunOptions(min_units=0, window=0), TextRunLimits(2, 2, 0.5)),
        (TextRunOptions(min_units=100), TextRunLimits(100, 100, 0.5)),
        (TextRunOptions(max_unique_ratio=1), TextRunLimits(8, 64, 1)),
        (TextRunOptions(max_unique_ratio=0), TextRunLimits(8, 64, 0.5)),
        (TextRunOptions(max_unique_ratio=1.01), TextRunLimits(8, 64, 0.5)),
    ],
)
def test_text_run_limits(options: TextRunOptions | None, limits: TextRunLimits) -> None:
    """A ratio outside 0 to 1 becomes the default; the window holds the units that are wanted."""
    assert text_run_limits(options) == limits


@pytest.mark.parametrize(
    ("options", "limits"),
    [
        (None, StreamGuardLimits(4, 48, 4, 0.4, 0)),
        (StreamGuardOptions(ngram=1, max_repeats=-1), StreamGuardLimits(2, 48, 2, 0.4, 0)),
        (StreamGuardOptions(ngram=50), StreamGuardLimits(50, 50, 4, 0.4, 0)),
        (StreamGuardOptions(window=1, min_chars=-5), StreamGuardLimits(4, 4, 4, 0.4, 0)),
        (StreamGuardOptions(max_unique_ratio=-1), StreamGuardLimits(4, 48, 4, 0, 0)),
        (StreamGuardOptions(max_unique_ratio=7), StreamGuardLimits(4, 48, 4, 1, 0)),
    ],
)
def test_stream_guard_limits(options: StreamGuardOptions | None, limits: StreamGuardLimits) -> None:
    """A ratio outside 0 to 1 is clamped, unlike that of the text run."""
    assert stream_guard_limits(options) == limits


def test_default_result_repetitions_is_one_number() -> None:
    """The public constant is the default itself."""
    assert cycle_limits(None).results == DEFAULT_MIN_RESULT_REPETITIONS


@pytest.mark.parametrize(
    "use",
    [
        lambda options: describe_thread_cycle([], options),
        lambda options: has_repeated_text_run("", options),
        StreamGuard,
    ],
)
@pytest.mark.parametrize("options", [{"window": 3}, 3, object()])
def test_options_of_another_class_are_refused(use: Any, options: object) -> None:
    """Options are a model; anything else is an error that names the argument."""
    with pytest.raises(InvalidInputError, match="options: expected"):
        use(options)

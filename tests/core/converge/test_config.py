"""Rules of `ConvergeConfig`."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from loopguard_core.converge import ConvergeConfig, Response

NUMBERS = ["oscillation_k", "oscillation_window", "zero_progress_k", "max_depth"]
DEFAULTS = {
    "oscillation_k": 3,
    "oscillation_window": 10,
    "zero_progress_k": 5,
    "max_depth": 0,
    "response": "terminate",
    "oscillation_response": None,
    "zero_progress_response": None,
}


def test_defaults() -> None:
    """The defaults are the specification's; terminate, not warn, is the response (trap 3)."""
    assert ConvergeConfig().model_dump() == DEFAULTS


@pytest.mark.parametrize("field", NUMBERS)
@pytest.mark.parametrize("number", [0, -1, -(10**9)])
def test_zero_and_less_mean_default(field: str, number: int) -> None:
    """Zero cannot switch a detector off: it stands for the default (trap 2)."""
    assert ConvergeConfig(**{field: number}) == ConvergeConfig()


@pytest.mark.parametrize("field", NUMBERS)
@pytest.mark.parametrize("number", [1, 2, 10**9])
def test_a_positive_number_stands(field: str, number: int) -> None:
    """Numbers are filled one by one: what was given stays, the others keep their default."""
    assert ConvergeConfig(**{field: number}).model_dump() == {**DEFAULTS, field: number}


@pytest.mark.parametrize("field", ["response", "oscillation_response", "zero_progress_response"])
@pytest.mark.parametrize("response", [*Response, "warn", "redirect", "terminate"])
def test_a_response_is_a_member_or_its_word(field: str, response: str) -> None:
    """A response may be written as the enum's member or as its word."""
    assert getattr(ConvergeConfig(**{field: response}), field) is Response(response)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[(field, value) for field in NUMBERS for value in ("3", 3.0, True, None)],
        ("response", "stop"),
        ("response", None),
        ("oscillation_response", ""),
        ("oscilation_k", 3),
    ],
)
def test_bad_settings_are_named(field: str, value: Any) -> None:
    """A setting out of its type, or an unknown one, is an error that names it."""
    with pytest.raises(ValidationError, match=field):
        ConvergeConfig(**{field: value})


def test_settings_are_frozen() -> None:
    """Settings cannot change under the runs that share them."""
    with pytest.raises(ValidationError, match="frozen"):
        ConvergeConfig().max_depth = 3  # type: ignore[misc]  # assigning is what must fail

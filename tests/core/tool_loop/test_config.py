"""Rules of `ToolLoopConfig`. Source: tool-loop specification, section 2."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from loopguard_core.tool_loop import ToolLoopConfig, ToolLoopDetector

DEFAULTS = {
    "enabled": True,
    "window": 30,
    "generic_warn": 5,
    "generic_critical": 10,
    "no_progress_critical": 8,
    "ping_pong_warn": 6,
    "ping_pong_critical": 10,
    "global_circuit_breaker": 20,
    "post_compaction_identical": 3,
    "post_compaction_watch": 10,
    "max_result_bytes": 4096,
    "spare_progress": False,
    "cleaned_tools": frozenset({"run_terminal", "run_code"}),
}
NUMBERS = [field for field, value in DEFAULTS.items() if type(value) is int]


def test_defaults() -> None:
    """The defaults are the specification's."""
    assert ToolLoopConfig().model_dump() == DEFAULTS


@pytest.mark.parametrize("field", NUMBERS)
@pytest.mark.parametrize("number", [0, -1, -(10**30)])
def test_zero_and_less_mean_default(field: str, number: int) -> None:
    """Zero cannot switch a heuristic off: it stands for the default."""
    assert ToolLoopConfig(**{field: number}) == ToolLoopConfig()


@pytest.mark.parametrize("field", NUMBERS)
@pytest.mark.parametrize("number", [20, 21, 10**30])
def test_a_positive_number_stands(field: str, number: int) -> None:
    """What was given stays, even if it is out of all proportion."""
    assert getattr(ToolLoopDetector(ToolLoopConfig(**{field: number})).config, field) == number


@pytest.mark.parametrize(
    ("given", "resolved"),
    [
        ({"generic_warn": 50}, {"generic_critical": 50}),
        ({"generic_warn": 50, "generic_critical": 0}, {"generic_critical": 50}),
        ({"generic_warn": 0, "generic_critical": 2}, {"generic_critical": 5}),
        ({"ping_pong_warn": 11}, {"ping_pong_critical": 11}),
        ({"ping_pong_critical": 3}, {"ping_pong_critical": 6}),
        ({"generic_warn": 3}, {"generic_critical": 10}),
        ({"ping_pong_warn": 10}, {"ping_pong_critical": 10}),
        ({"global_circuit_breaker": 2}, {"no_progress_critical": 8}),
        ({"max_result_bytes": None}, {"max_result_bytes": None}),
    ],
)
def test_a_critical_is_raised_to_its_warning(given: dict[str, Any], resolved: Any) -> None:
    """Defaults come first, then the raise; nothing else depends on another number."""
    config = ToolLoopConfig(**given).model_dump()
    assert {field: config[field] for field in resolved} == resolved


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[(field, value) for field in NUMBERS for value in ("3", 3.0, True)],
        *[(field, None) for field in NUMBERS if field != "max_result_bytes"],
        ("enabled", 1),
        ("enabled", "yes"),
        ("cleaned_tools", "run_terminal"),
        ("generic_warning", 3),
    ],
)
def test_bad_settings_are_named(field: str, value: Any) -> None:
    """A setting out of its type, or an unknown one, is an error that names it."""
    with pytest.raises(ValidationError, match=field):
        ToolLoopConfig(**{field: value})


def test_settings_are_frozen() -> None:
    """Settings cannot change under the runs that share them."""
    with pytest.raises(ValidationError, match="frozen"):
        ToolLoopConfig().window = 3  # type: ignore[misc]  # assigning is what must fail


def test_settings_survive_json() -> None:
    """Settings can be stored as JSON and read back."""
    config = ToolLoopConfig(window=7, cleaned_tools=frozenset({"bash"}), max_result_bytes=None)
    assert ToolLoopConfig.model_validate_json(config.model_dump_json()) == config

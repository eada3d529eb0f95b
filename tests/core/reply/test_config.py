"""Settings: what is in force, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from loopguard_core.reply import ExactConfig, ReplyLoopConfig


def test_the_defaults_are_the_reference() -> None:
    """A config without settings has the numbers of the specification."""
    config = ReplyLoopConfig()
    numbers = (config.tolerance, config.tool_tolerance, config.window, config.min_share)
    assert numbers == (3, 3, 48, 0.7)
    assert (config.min_span, config.min_tokens, config.max_segment) == (1024, 4, 512)
    assert (config.similarity, config.sample_bytes, config.tool_window) == (0.85, 200, 12)
    ours = (config.shapes, config.prose_only, config.begun_bytes, config.counting_lines)
    assert ours == (False, False, 0, 0)


@pytest.mark.parametrize(
    "name",
    [
        "window",
        "min_share",
        "min_span",
        "min_tokens",
        "max_segment",
        "sample_bytes",
        "tool_window",
        "max_sentences",
        "max_phrases",
    ],
)
@pytest.mark.parametrize("value", [0, -1])
def test_what_is_below_its_minimum_takes_the_default(name: str, value: int) -> None:
    """No number of these switches a detector off."""
    config = ReplyLoopConfig(**{name: value})
    assert getattr(config, name) == getattr(ReplyLoopConfig(), name)


@pytest.mark.parametrize(
    ("settings", "tolerances"),
    [
        ({}, (3, 3)),
        ({"tolerance": 0, "tool_tolerance": 0}, (3, 3)),
        ({"tolerance": 5}, (5, 5)),
        ({"tolerance": -1}, (-1, -1)),
        ({"tolerance": -1, "tool_tolerance": 2}, (-1, 2)),
        ({"tool_tolerance": -2}, (3, -2)),
    ],
)
def test_tolerances(settings: dict[str, int], tolerances: tuple[int, int]) -> None:
    """Zero takes the default, for tools the tolerance; a negative number stays."""
    config = ReplyLoopConfig(**settings)
    assert (config.tolerance, config.tool_tolerance) == tolerances


def test_similarity() -> None:
    """Zero takes the default, a negative number stays and turns phrase off."""
    assert ReplyLoopConfig(similarity=0).similarity == 0.85
    assert ReplyLoopConfig(similarity=-1).similarity == -1


def test_what_an_exact_guard_keeps() -> None:
    """The history is as long as the other numbers need, or longer if that is asked for."""
    assert ExactConfig().kept_bytes == 3072
    assert ExactConfig(min_span=5000).kept_bytes == 6024
    assert ExactConfig(history_bytes=10_000).kept_bytes == 10_000
    assert ExactConfig(min_reps=1).min_reps == 3
    assert ExactConfig(min_reps=2).min_reps == 2


@pytest.mark.parametrize(
    "settings",
    [
        {"window": "48"},
        {"window": 1.5},
        {"window": True},
        {"min_share": "0.7"},
        {"min_share": float("nan")},
        {"off": 1},
        {"windows": 48},
        {"exact": {"min_period": "24"}},
    ],
    ids=str,
)
def test_what_is_refused(settings: dict[str, Any]) -> None:
    """A value of another type, or a setting that is not known, is refused by its name."""
    with pytest.raises(ValidationError, match=next(iter(settings))):
        ReplyLoopConfig(**settings)


def test_a_config_is_frozen() -> None:
    """It can be shared."""
    with pytest.raises(ValidationError):
        ReplyLoopConfig.for_guard().window = 3  # type: ignore[misc]  # that it fails is the test

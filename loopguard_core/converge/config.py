"""What the monitor is told once: its numbers, and how a detector wants to be answered."""

from __future__ import annotations

import enum

from pydantic import BaseModel, ConfigDict, StrictInt, ValidationInfo, field_validator

__all__ = ["ConvergeConfig", "Response"]


class Response(enum.StrEnum):
    """What the runtime should do when a detector fires; the monitor only names it.

    Source: converge specification, section 3.
    """

    WARN = "warn"
    """Note it and go on."""
    REDIRECT = "redirect"
    """Tell the loop before its next step, so that it can change course."""
    TERMINATE = "terminate"
    """End the run as stuck."""


class ConvergeConfig(BaseModel):
    """Settings of a `Monitor`; frozen, so that any number of runs can share them.

    Zero or a negative number takes the field's default, so no number switches a detector off
    (a very large one does in effect); only depth is off by default. Plain strings such as
    `"warn"` are accepted as responses. Source: converge specification, section 2.

    Args:
        oscillation_k: Equal calls inside the window, the present one included, that fire.
        oscillation_window: How many iterations the window spans, the present one included.
        zero_progress_k: Iterations in a row with one state hash that fire.
        max_depth: The deepest spawn depth that is still fine; 0 is no limit.
        response: The answer of every detector that has none of its own.
        oscillation_response: Replaces `response` for oscillation; None leaves it.
        zero_progress_response: Replaces `response` for zero-progress; None leaves it.

    Raises:
        pydantic.ValidationError: A number is no int, or a response is not known.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    oscillation_k: StrictInt = 3
    oscillation_window: StrictInt = 10
    zero_progress_k: StrictInt = 5
    max_depth: StrictInt = 0
    response: Response = Response.TERMINATE
    oscillation_response: Response | None = None
    zero_progress_response: Response | None = None

    @field_validator("oscillation_k", "oscillation_window", "zero_progress_k", "max_depth")
    @classmethod
    def _fill_default(cls, value: int, info: ValidationInfo) -> int:
        if value > 0:
            return value
        default: int = cls.model_fields[info.field_name or ""].default
        return default

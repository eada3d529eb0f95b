"""What a detector is told once: when each heuristic speaks, and how results are compared."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict, StrictBool, StrictInt, ValidationInfo, field_validator

from .fingerprints import CLEANED_TOOLS, MAX_RESULT_BYTES

__all__ = ["ToolLoopConfig"]

_WARN_OF: Final = {"generic_critical": "generic_warn", "ping_pong_critical": "ping_pong_warn"}


class ToolLoopConfig(BaseModel):
    """Settings of a `ToolLoopDetector`; frozen, so that any number of runs can share them.

    Zero or a negative number takes the field's default, so no number switches a heuristic off
    (a very large one does in effect); then a critical below its warning is raised to it, and
    where the two are equal only the critical is ever returned. What a config holds is what is
    in force. Thresholds are inclusive. Source: tool-loop specification, section 2.

    Args:
        enabled: False switches everything off, the watch after a compaction included.
        window: How many finished calls are remembered.
        generic_warn: Attempts of one call that warn, whatever came back, this one included.
        generic_critical: The same, blocking.
        no_progress_critical: Attempts of one call that block while it gives one outcome, this
            attempt included.
        ping_pong_warn: Length of an alternation of two calls that warns, this attempt
            included; 1 and 2 act as 3.
        ping_pong_critical: The same, blocking.
        global_circuit_breaker: As `no_progress_critical`, but ends the run. Above `window` + 1
            it can never fire.
        post_compaction_identical: Finished calls since a compaction, equal in call and
            outcome, that end the run; this attempt is not included.
        post_compaction_watch: How many finished calls are watched after a compaction.
        max_result_bytes: How much of a result counts, in bytes of its UTF-8 form; None
            compares whole results.
        cleaned_tools: Tools whose results are compared without process ids, durations and the
            like.
        spare_progress: True passes over equal outcomes of one call while other calls bring
            something new at least at every second one. Ours, not the reference's.

    Raises:
        pydantic.ValidationError: A number is no int, or a setting is not known.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    enabled: StrictBool = True
    window: StrictInt = 30
    generic_warn: StrictInt = 5
    generic_critical: StrictInt = 10
    no_progress_critical: StrictInt = 8
    ping_pong_warn: StrictInt = 6
    ping_pong_critical: StrictInt = 10
    global_circuit_breaker: StrictInt = 20
    post_compaction_identical: StrictInt = 3
    post_compaction_watch: StrictInt = 10
    max_result_bytes: StrictInt | None = MAX_RESULT_BYTES
    cleaned_tools: frozenset[str] = CLEANED_TOOLS
    spare_progress: StrictBool = False

    @field_validator(
        "window",
        "generic_warn",
        "generic_critical",
        "no_progress_critical",
        "ping_pong_warn",
        "ping_pong_critical",
        "global_circuit_breaker",
        "post_compaction_identical",
        "post_compaction_watch",
        "max_result_bytes",
    )
    @classmethod
    def _fill_default(cls, value: int | None, info: ValidationInfo) -> int | None:
        if value is None or value > 0:
            return value
        default: int = cls.model_fields[info.field_name or ""].default
        return default

    @field_validator("generic_critical", "ping_pong_critical")
    @classmethod
    def _raise_to_warn(cls, value: int, info: ValidationInfo) -> int:
        warn: int = info.data.get(_WARN_OF[info.field_name or ""], value)
        return max(value, warn)

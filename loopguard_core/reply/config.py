"""What the watch of a reply is told once: thresholds of every detector, and their bounds."""

from __future__ import annotations

from typing import Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, StrictInt, ValidationInfo, field_validator

from .finding import Kind

__all__ = ["ExactConfig", "ReplyLoopConfig"]

_FROZEN: Final = ConfigDict(
    frozen=True, extra="forbid", strict=True, validate_default=True, allow_inf_nan=False
)


class ExactConfig(BaseModel):
    """Settings of the repetition guard; frozen, so that any number of streams can share them.

    A number below its minimum takes the field's default, so no number switches it off.
    Source: reply specification, section 2.

    Args:
        off: True sees nothing.
        min_period: Bytes of the shortest block that counts. At least 1.
        max_period: Bytes of the longest. At least 1.
        min_reps: Copies in a row, the last one included. At least 2.
        min_span: Bytes of all copies together. At least 1.
        check_every: Bytes between two scans. At least 1.
        history_bytes: Bytes to keep; what the other numbers need if that is more. At least 0.

    Raises:
        pydantic.ValidationError: A number is no int, or a setting is not known.
    """

    model_config = _FROZEN

    off: bool = False
    min_period: StrictInt = 24
    max_period: StrictInt = 1024
    min_reps: StrictInt = 3
    min_span: StrictInt = 512
    check_every: StrictInt = 256
    history_bytes: StrictInt = 0

    @field_validator("min_period", "max_period", "min_reps", "min_span", "check_every")
    @classmethod
    def _fill_default(cls, value: int, info: ValidationInfo) -> int:
        minimum = 2 if info.field_name == "min_reps" else 1
        return value if value >= minimum else _default(cls, info)

    @property
    def kept_bytes(self) -> int:
        """How many of the last bytes of a stream are kept."""
        needed = max(self.max_period * self.min_reps, self.min_span + self.max_period)
        return max(needed, self.history_bytes)


class ReplyLoopConfig(BaseModel):
    """Settings of a `ReplyLoopDetector`; frozen, so that any number of replies can share them.

    The defaults are the reference's. Where a zero or a number below its minimum stands for a
    default, what the config holds is what is in force. `for_guard` is the preset that leaves
    healthy replies alone. Source: reply specification, section 1; the last six are ours.

    Args:
        off: True counts nothing and asks for nothing.
        tolerance: The count at which a cut is asked for; 0 takes the default, a negative number
            never asks and only counts.
        tool_tolerance: The same for tool calls; 0 takes `tolerance`.
        exact: The repetition guard; its `off` turns only that detector off.
        window: Sentences that cycle and phrase look at.
        min_share: Share of them that must be repeats, above 0; above 1 is never met.
        min_span: Bytes that they must have together.
        min_tokens: Words below which a sentence is no evidence of anything.
        max_segment: Bytes at which text without an end of a sentence is cut.
        similarity: Share of a sentence's score against itself that makes another one the same;
            0 takes the default, a negative number turns the phrase detector off.
        sample_bytes: Bytes of each text in a finding.
        tool_window: Calls that the tool detector looks at.
        shapes: True asks more copies of a block that healthy texts repeat too (`needed_chars`),
            and turns on the detector of short periods.
        prose_only: True takes only repeats of prose for repeats: other lines are in the window
            of cycle and phrase while they are new, short sentences too, and a sentence with
            other numbers or names is another one (`line_kind`, `PhraseDetector`).
        begun_bytes: Bytes of one more time of a passage that are enough to count it; 0 is off.
        counting_lines: Lines in a row with nothing new but a counter that are a loop; 0 is off.
        max_sentences: Different sentences that cycle remembers.
        max_phrases: Different sentences that phrase remembers.
        disabled_kinds: Kinds whose findings are never made.

    Raises:
        pydantic.ValidationError: A number is not of its type, or a setting is not known.
    """

    model_config = _FROZEN

    off: bool = False
    tolerance: StrictInt = 3
    tool_tolerance: StrictInt = 0
    exact: ExactConfig = ExactConfig()
    window: StrictInt = 48
    min_share: float = 0.7
    min_span: StrictInt = 1024
    min_tokens: StrictInt = 4
    max_segment: StrictInt = 512
    similarity: float = 0.85
    sample_bytes: StrictInt = 200
    tool_window: StrictInt = 12
    shapes: bool = False
    prose_only: bool = False
    begun_bytes: StrictInt = 0
    counting_lines: StrictInt = 0
    max_sentences: StrictInt = 4096
    max_phrases: StrictInt = 1024
    disabled_kinds: Annotated[frozenset[Kind], Field(strict=False)] = frozenset()

    @field_validator("tolerance", "similarity")
    @classmethod
    def _fill_zero(cls, value: float, info: ValidationInfo) -> float:
        return value if value != 0 else _default(cls, info)

    @field_validator("tool_tolerance")
    @classmethod
    def _follow_tolerance(cls, value: int, info: ValidationInfo) -> int:
        tolerance: int = info.data.get("tolerance", value)
        return value if value != 0 else tolerance

    @field_validator(
        "window",
        "min_share",
        "min_span",
        "min_tokens",
        "max_segment",
        "sample_bytes",
        "tool_window",
        "max_sentences",
        "max_phrases",
    )
    @classmethod
    def _fill_default(cls, value: float, info: ValidationInfo) -> float:
        return value if value > 0 else _default(cls, info)

    @classmethod
    def for_guard(cls) -> Self:
        """Return what a guard uses by default; made for pieces that `FixedPoints` yields.

        On 618 labelled replies it finds 155 of 160 loops and cuts none of the 458 healthy ones;
        the defaults find 122 and cut 2. The loops that it misses are templates filled in anew
        each time, which healthy proofs case by case are, too.
        """
        return cls(
            # `shapes` judges how long a block must go on; a grid of cells has to be remembered.
            exact=ExactConfig(min_span=240, check_every=1, history_bytes=33 * 1024),
            # 15 of 16. Of healthy replies, one has 44% third sayings there, the others at most
            # 38%; a proof by cases with three stock sentences in four has 75%. Of 900 files of
            # code, whose docstrings repeat, it cuts one; with 11 of 12 it cuts three.
            window=16,
            min_share=0.9,
            min_span=400,
            shapes=True,
            prose_only=True,
            # Healthy passages end where their second time does, at the latest.
            begun_bytes=128,
            counting_lines=24,
            max_phrases=512,
        )


def _default(cls: type[BaseModel], info: ValidationInfo) -> int:
    default: int = cls.model_fields[info.field_name or ""].default
    return default

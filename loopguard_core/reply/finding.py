"""What the watch of a reply reports: `LoopFinding`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Kind", "LoopFinding"]

Kind: TypeAlias = Literal["exact", "cycle", "phrase", "tool", "short_period"]
"""Which detector saw a loop; the first four are the reference's words."""


@dataclass(frozen=True, slots=True)
class LoopFinding:
    """A loop in a reply. Source: reply specification, section 10.

    Args:
        kind: The detector.
        where: The channel it was found in, or the tool's name.
        period: Bytes of one copy (`exact`), characters of one (`short_period`), else 0.
        reps: How often it was said: copies, or the count that the detector arrived at.
        trailing: Bytes (`exact`) or characters (`short_period`) that can be cut from the end so
            that one copy stays; 0 for the others, which cannot be trimmed by length.
        first: The earliest text of what is repeated, cut to the configured number of bytes.
        last: The newest text of it, likewise.
        sample: One copy, or the newest sentence or call, likewise.
        keep_chars: How many characters of the channel's text are worth keeping: one copy of a
            block, else up to the end of the last sentence that was new; 0 for a tool.
    """

    kind: Kind
    where: str
    period: int
    reps: int
    trailing: int
    first: str
    last: str
    sample: str
    keep_chars: int

    @property
    def detector(self) -> str:
        """The stable id of the detector, such as `reply.cycle`."""
        return f"reply.{self.kind}"

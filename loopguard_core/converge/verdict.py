"""What the monitor answers to one event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from .config import Response

__all__ = ["QUIET", "ConvergeVerdict"]


@dataclass(frozen=True, slots=True)
class ConvergeVerdict:
    """The answer to one event; empty in every field if nothing fired.

    Source: converge specification, section 4.

    Args:
        fired: True if a detector saw its condition hold at this event.
        detector: `oscillation`, `zero-progress` or `depth`; empty if nothing fired.
        reason: One sentence for a person; empty if nothing fired.
        count: Equal calls in the window, iterations in the row, or the depth; the present
            event is included.
        response: What the settings ask for; None if nothing fired.
    """

    fired: bool = False
    detector: Literal["", "oscillation", "zero-progress", "depth"] = ""
    reason: str = ""
    count: int = 0
    response: Response | None = None


QUIET: Final = ConvergeVerdict()
"""Nothing fired."""

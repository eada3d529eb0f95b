"""Does a text repeat its own sentences or lines."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .options import TextRunLimits, TextRunOptions, text_run_limits

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["TextRun", "find_text_run", "has_repeated_text_run"]

_TAIL_CHARS: Final = 4000
_ENDS: Final = re.compile(r"[.!?\n]+")
_WORD: Final = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class TextRun:
    """A run that was found: how many units were looked at, and the one that came most often."""

    units: int
    most_common: str


def has_repeated_text_run(text: object, options: TextRunOptions | None = None) -> bool:
    """Return whether at most half of the last sentences or lines of *text* are different.

    Only ASCII letters and digits of the last 4,000 characters count, in lower case; a text
    without full stops, question or exclamation marks or line ends is one unit and so no run.
    Source: thread specification, section 6.

    Args:
        text: The text; anything that is no string, and an empty one, gives False.
        options: How many units, and how few different ones.
    """
    limits = text_run_limits(options)
    return isinstance(text, str) and find_text_run(text, limits) is not None


def find_text_run(text: str, limits: TextRunLimits) -> TextRun | None:
    """Return the run at the end of *text*, or None."""
    units = list(_units(text[-_TAIL_CHARS:]))
    if len(units) < limits.min_units:
        return None
    counts = Counter(units[-limits.window :])
    total = counts.total()
    if len(counts) > total * limits.max_unique_ratio:
        return None
    [(most_common, _)] = counts.most_common(1)
    return TextRun(total, most_common)


def _units(text: str) -> Iterator[str]:
    """Yield what stands between sentence and line ends, as lower-case words of ASCII."""
    for piece in _ENDS.split(text.lower()):
        if words := _WORD.findall(piece):
            yield " ".join(words)

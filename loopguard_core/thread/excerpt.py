"""Short, printable pieces of what models and tools wrote."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["EXCERPT_CHARS", "encodable", "excerpt"]

EXCERPT_CHARS: Final = 80
"""How much of a name or a text serves as evidence."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def encodable(text: str) -> str:
    """Join surrogate halves that belong together and replace lone ones, so that UTF-8 takes it."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def excerpt(text: str) -> str:
    """Return the start of *text* on one line, encodable, at most `EXCERPT_CHARS` long."""
    if len(text) <= EXCERPT_CHARS and text.isidentifier() and text.isascii():
        return text  # as nearly every tool's name is
    # White space shrinks, so twice the length nearly always fills the excerpt.
    start = " ".join(encodable(text[: 2 * EXCERPT_CHARS]).split())
    if len(start) <= EXCERPT_CHARS and len(text) <= 2 * EXCERPT_CHARS:
        return start
    return f"{start[: EXCERPT_CHARS - 3]}..."

"""Whether a text was shortened on its way to a model, so that it no longer says what it was."""

from __future__ import annotations

from loopguard_core.thread.shorten import has_left_out

from .result_cut import has_cut
from .shaping.stub import is_stub

__all__ = ["is_shortened"]


def is_shortened(text: str) -> bool:
    """Return True if *text* bears a mark of a cut, a stub or a trimmed middle.

    Two results that were cut can look equal and differ in what is missing, so whoever compares
    results must not take them for the same.
    """
    return is_stub(text) or has_cut(text) or has_left_out(text)

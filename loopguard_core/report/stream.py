"""A finished text, given to a guarded reply as if it were streaming."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard_core.guard import Verdict

if TYPE_CHECKING:
    from loopguard_core.guard import GuardedReply

__all__ = ["stream_text"]

# A few tokens. A verdict does not depend on it, but the place of a cut is known this exactly.
_PIECE_CHARS: Final = 16


def stream_text(reply: GuardedReply, text: str, channel: str) -> tuple[Verdict, int]:
    """Feed *text* piece by piece until something is found.

    Returns:
        The verdict with the first finding, and how many characters had been read by then; a
        verdict without findings, and the length of the text, if there is none.
    """
    for start in range(0, len(text), _PIECE_CHARS):
        piece = text[start : start + _PIECE_CHARS]
        verdict = reply.feed(piece, channel)
        if verdict.findings:
            return verdict, start + len(piece)
    return Verdict(), len(text)

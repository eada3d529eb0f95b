"""What a hand-off brings: its own answer never changes, so what is said with it counts."""

from __future__ import annotations

from typing import Final

from loopguard_core.fingerprint import digest_text

__all__ = ["handoff_result", "said_with_handoff"]

# A draft or a review is longer; what a stuck agent varies ("Please look at this again.") is not.
_LEAST_CHARS: Final = 160


def said_with_handoff(text: str) -> str:
    """Return the mark of a text that an agent passes on; empty for one that says next to nothing.

    Args:
        text: What the model said in the reply that hands off.
    """
    return digest_text(text) if len(text) >= _LEAST_CHARS else ""


def handoff_result(result: object, said: str) -> object:
    """Return the result of a hand-off as it is compared.

    Agents that pass each other new drafts and reviews work, although they hand off for the same
    reasons each time; those that pass nothing on, or the same again, go round.

    Args:
        result: What the framework answered.
        said: The mark of `said_with_handoff`.
    """
    return {"handoff": result, "said": said} if said else result

"""A reply that was cut because it went round, and what of it is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from loopguard_core.agent.budget import byte_length
from loopguard_core.agent.runner import finding_text
from loopguard_core.agent.utf8 import first_bytes
from loopguard_core.guard import Finding
from loopguard_core.reply import ExactFinding

__all__ = ["GuardCut", "RepetitionCut"]

_CONTENT: Final = "content"


@dataclass(frozen=True, slots=True)
class RepetitionCut:
    """The stream client cut a reply.

    Args:
        finding: What the end of the reply repeated.
    """

    finding: ExactFinding

    @property
    def repeated(self) -> str:
        """What went round, and where."""
        return finding_text(self.finding)

    def keep(self, text: str) -> str:
        """Return *text* with one copy of the block; all of it where the arguments went round."""
        trailing = self.finding.trailing
        if self.finding.where != _CONTENT or not 0 < trailing < byte_length(text):
            return text
        return first_bytes(text, byte_length(text) - trailing)


@dataclass(frozen=True, slots=True)
class GuardCut:
    """The guard cut a reply.

    Args:
        finding: What it saw; None where it says nothing of it.
        keep_chars: The characters of the text that say something new; None for all.
    """

    finding: Finding | None
    keep_chars: int | None

    @property
    def repeated(self) -> str:
        """What went round."""
        return self.finding.message if self.finding is not None else "repeating itself"

    def keep(self, text: str) -> str:
        """Return what is worth keeping of *text*."""
        return text[: self.keep_chars]

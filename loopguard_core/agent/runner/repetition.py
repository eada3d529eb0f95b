"""What was found to go round, as a sentence names it.

Source: agent specification, section 8.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loopguard_core.reply import ExactFinding

__all__ = ["finding_text"]


def finding_text(finding: ExactFinding) -> str:
    """Return *finding* as text: where, how long, how often, and the block itself in quotes.

    A character that the end of the sample splits is left out.
    """
    sample = json.dumps(finding.sample.decode("utf-8", "ignore"), ensure_ascii=False)
    return (
        f"a block of {finding.period} bytes stands {finding.reps} times in a row in "
        f"{finding.where}: {sample}"
    )

"""The system text of a turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_core.agent.heredoc import heredoc_prompt
from loopguard_core.agent.transclusion import with_slot_note

if TYPE_CHECKING:
    from .options import SessionOptions

__all__ = ["system_text"]


def system_text(options: SessionOptions) -> str:
    """Return the session's own text, how to write calls, and how to show results.

    Without tools there is nothing to add. Source: agent specification, section 6.
    """
    text = options.system
    if options.is_heredoc:
        text = "\n\n".join(filter(None, (text, heredoc_prompt(options.tools))))
    if options.tools and not options.omit_slot_instructions:
        text = with_slot_note(text)
    return text

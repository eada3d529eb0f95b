"""Tool calls written as text, for models whose own call format cuts or mangles arguments.

Source: agent specification, section 15.
"""

from .fault import FaultKind, HeredocFault
from .format import (
    BODY_OPENER,
    BODY_TAGS,
    CALL_PREFIX,
    MAX_CALLS,
    TERMINATOR,
    close_heredoc,
    render_call,
)
from .grammar import heredoc_grammar
from .loose import LooseJson, loose_json
from .parse import HeredocReply, parse_heredoc
from .prompt import heredoc_prompt

__all__ = [
    "BODY_OPENER",
    "BODY_TAGS",
    "CALL_PREFIX",
    "MAX_CALLS",
    "TERMINATOR",
    "FaultKind",
    "HeredocFault",
    "HeredocReply",
    "LooseJson",
    "close_heredoc",
    "heredoc_grammar",
    "heredoc_prompt",
    "loose_json",
    "parse_heredoc",
    "render_call",
]

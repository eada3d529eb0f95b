"""The marks of the heredoc transport, and a call in them.

A call is a line `@@call name`, one object and a line `@@end`. A long text in the object stands
between two equal lines such as `~~~md`, as it is. Source: agent specification, section 15.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "BODY_OPENER",
    "BODY_TAGS",
    "CALL_PREFIX",
    "MAX_CALLS",
    "TERMINATOR",
    "close_heredoc",
    "render_call",
]

CALL_PREFIX: Final = "@@call "
TERMINATOR: Final = "@@end"
BODY_OPENER: Final = "~~~"
BODY_TAGS: Final = (
    "text", "md", "json", "yaml", "html", "css", "js", "py", "sh", "sql", "diff", "code"
)  # fmt: skip
"""The tags that the prompt offers and the grammar takes; the parser takes any.

A grammar cannot say "the same word again", so each tag costs it two rules.
"""
MAX_CALLS: Final = 4
"""The calls of one reply, as the grammar and the prompt have it; the parser takes more."""


def render_call(name: str, arguments: str) -> str:
    """Write a stored call as the model is shown it again.

    The arguments stay the JSON that they are: a body would need a tag that its text does not use.

    Args:
        name: The tool.
        arguments: As stored; a blank text is `{}`.

    Returns:
        The block, without a newline at its end.
    """
    return f"{CALL_PREFIX}{name}\n{arguments.strip() or '{}'}\n{TERMINATOR}"


def close_heredoc(reply: str) -> str:
    """Give a reply with a call the terminator that its model or server left out.

    A reply without a call, or with a terminator anywhere, comes back unchanged.
    """
    if CALL_PREFIX not in reply or TERMINATOR in reply:
        return reply
    newlines_off = reply.rstrip("\n")
    return f"{newlines_off}\n{TERMINATOR}\n"

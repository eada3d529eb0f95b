"""Control tokens in tool results, made harmless.

A chat template turns messages into one text in which `<|...|>` marks who speaks. A server that
does not escape what messages hold would take such a mark in a web page for its own. Source:
agent specification, section 4.
"""

from __future__ import annotations

__all__ = ["neutralize_special_tokens"]


def neutralize_special_tokens(text: str) -> str:
    """Replace every `<|` with `&lt;|` and leave all else; a second time changes nothing.

    For what is sent to a model: keep the text itself in stores and slots.
    """
    return text.replace("<|", "&lt;|")

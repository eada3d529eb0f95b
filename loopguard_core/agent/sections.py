"""Sections of a tool result: `<name>...</name>`.

Source: agent specification, section 10.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["NAME", "Section", "placeholders", "sections"]

NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*+"
"""Matches the name of a section; case counts.

Possessive, so that a long name without its bracket is read once and not given back piecemeal.
"""

_OPENING: Final = re.compile(f"<({NAME})>")
_CLOSING: Final = re.compile(f"</({NAME})>")


@dataclass(frozen=True, slots=True)
class Section:
    """One section of a text.

    Args:
        name: In both of its tags.
        start: Where the opening tag starts.
        stop: Where the closing tag ends.
        text: What stands between them.
    """

    name: str
    start: int
    stop: int
    text: str


def sections(text: str) -> Iterator[Section]:
    """Yield the sections of *text* in their order, in time linear in it.

    A section is an opening tag, the shortest text up to any closing tag, and that tag; if its
    name is another one, there is no section and the text up to its end is passed over. So
    sections inside sections are not seen (quirk Q17). A tag with attributes is no tag.
    """
    at = 0
    while (opening := _OPENING.search(text, at)) and (
        closing := _CLOSING.search(text, opening.end())
    ):
        if opening[1] == closing[1]:
            inside = text[opening.end() : closing.start()]
            yield Section(opening[1], opening.start(), closing.end(), inside)
        at = closing.end()


def placeholders(result: str) -> tuple[str, ...]:
    """Return what a model may write for the sections of *result*: `{a}`, `{b}`, sorted."""
    return tuple(sorted({f"{{{section.name}}}" for section in sections(result)}))

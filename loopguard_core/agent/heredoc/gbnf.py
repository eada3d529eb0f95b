"""GBNF, the grammar notation of llama.cpp: how its rules are spelled.

A server that takes a grammar lets a model write nothing else.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["any_of", "line_not_beginning_with", "literal", "rule", "text_without"]

_ESCAPED: Final = re.compile(r'[\x00-\x1f\x7f"\\]')
_SHORT_ESCAPES: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t", '"': r"\"", "\\": r"\\"}


def rule(name: str, right: str) -> str:
    """Write one rule; a name is made of letters, digits and hyphens."""
    return f"{name} ::= {right}"


def any_of(*alternatives: str) -> str:
    """Write a choice, for the whole right side of a rule."""
    return " | ".join(alternatives)


def literal(text: str) -> str:
    """Write *text* as it has to come."""
    return f'"{_ESCAPED.sub(_escape, text)}"'


def line_not_beginning_with(word: str, rest: str) -> str:
    """Write a line, perhaps empty and without its newline, that does not begin with *word*.

    Args:
        word: Letters, digits or `~`, at least one.
        rest: The name of a rule for the rest of any line.
    """
    right = ""
    for character in reversed(word):
        same = f' | "{character}" {right}' if right else ""
        right = rf"([^{character}\n] {rest}{same})?"
    return right


def text_without(word: str, name: str) -> list[str]:
    """Write the rules for a text, not empty, in which *word* does not occur.

    There is one rule for each number of characters of *word* that the text may just have
    matched; the name alone is the start of the text.

    Args:
        word: Letters, digits, spaces or `@`, at least one.
        name: The name of the first rule, and how those of the others begin.
    """
    right_sides = [_after(word, matched, name) for matched in range(len(word))]
    numbered = [rule(f"{name}-{at}", f"({right})?") for at, right in enumerate(right_sides)]
    return [rule(name, right_sides[0]), *numbered]


def _after(word: str, matched: int, name: str) -> str:
    """Write what may follow where the first *matched* characters of *word* came last."""
    follows = {
        character: _overlap(word, word[:matched] + character) for character in sorted(set(word))
    }
    known = {character: size for character, size in follows.items() if size}
    others = f"[^{''.join(known)}] {name}-0"
    return any_of(
        others,
        *(f'"{character}" {name}-{size}' for character, size in known.items() if size < len(word)),
    )


def _overlap(word: str, seen: str) -> int:
    """Return how many characters at the end of *seen* are the start of *word*."""
    return next(size for size in range(len(seen), -1, -1) if seen.endswith(word[:size]))


def _escape(found: re.Match[str]) -> str:
    return _SHORT_ESCAPES.get(found[0], f"\\x{ord(found[0]):02x}")

"""Loose JSON with raw bodies, as models write it, rewritten to JSON.

Bare keys, single quotes, Python's words and trailing commas are mended, raw bodies become string
literals, nothing inside a literal is touched. Source: agent specification, section 15 (rewrite).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

from loopguard_core.agent.arguments import Scan, ScanState, first_value

from .body import read_body
from .fault import FaultKind, HeredocFault

__all__ = ["WORDS", "LooseJson", "loose_json"]

_STOP: Final = re.compile(r"""[`"',{}\[\]]|~~~|[A-Za-z_$][A-Za-z0-9_$]*""")
_ESCAPE_OR_DOUBLE: Final = re.compile(r'\\.|"', re.DOTALL)
_ESCAPE_OR_SINGLE: Final = re.compile(r"\\.|'", re.DOTALL)
_CLOSING_BRACKET: Final = re.compile(r"[ \t\r\n]*[}\]]")
_COLON: Final = re.compile(r"[ \t\r\n]*:")
_EXCERPT_CHARS: Final = 20
WORDS: Final = {
    "True": "true",
    "False": "false",
    "None": "null",
    "true": "true",
    "false": "false",
    "null": "null",
}


@dataclass(frozen=True, slots=True)
class LooseJson:
    """What the rewriting of a text gave.

    Args:
        json: Valid JSON, an object or an array; empty beside a fault.
        end: Where the text goes on behind it; the start of the rewriting beside a fault.
        fault: Why there is none.
    """

    json: str
    end: int
    fault: HeredocFault | None = None


def loose_json(text: str, start: int = 0) -> LooseJson:
    """Rewrite the first object or array of *text* to JSON.

    Args:
        text: As a model wrote it.
        start: Where to begin.

    Returns:
        The JSON, or the fault. Nothing is raised, and the time is linear in what is read.
    """
    walk = _Walk(text, start)
    kind = walk.run()
    if kind is not None:
        return LooseJson("", start, HeredocFault(kind))
    rewritten = "".join(walk.parts).strip()
    scan = first_value(rewritten)
    if scan != Scan(ScanState.COMPLETE, len(rewritten)):
        near = rewritten[max(scan.end - _EXCERPT_CHARS, 0) : scan.end + _EXCERPT_CHARS]
        return LooseJson("", start, HeredocFault(FaultKind.NOT_VALID_JSON, near=near))
    return LooseJson(rewritten, walk.position)


class _Walk:
    """One walk over a text, from one token that matters to the next."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.position = start
        self.parts: list[str] = []
        self._depth = 0

    def run(self) -> FaultKind | None:
        """Rewrite until the first object or array closes; return what is wrong otherwise."""
        while stop := _STOP.search(self.text, self.position):
            self._emit(self.text[self.position : stop.start()], stop.end())
            token = stop[0]
            if fault := self._token(token, stop.start()):
                return fault
            if token in ("}", "]") and self._depth <= 0:
                return None
        return FaultKind.VALUE_NEVER_CLOSED if self._depth > 0 else FaultKind.NO_VALUE

    def _token(self, token: str, start: int) -> FaultKind | None:
        """Rewrite one token; the position is behind it."""
        match token[0]:
            case "`" | "~":
                return self._body(start)
            case '"' | "'":
                return self._quoted(start, token)
            case ",":
                if not _CLOSING_BRACKET.match(self.text, self.position):
                    self.parts.append(",")
            case "{" | "[":
                self._depth += 1
                self.parts.append(token)
            case "}" | "]":
                self._depth -= 1
                self.parts.append(token)
            case _:
                self.parts.append(self._word(token))
        return None

    def _body(self, start: int) -> FaultKind | None:
        body = read_body(self.text, start)
        if body is None:
            return FaultKind.BODY_NEVER_CLOSED
        self._emit(json.dumps(body.text, ensure_ascii=False), body.end)
        return None

    def _quoted(self, start: int, quote: str) -> FaultKind | None:
        """Copy a string; one in single quotes gets double ones."""
        end = _closing_quote(self.text, start + 1, quote)
        if end is None:
            return FaultKind.STRING_NEVER_CLOSED
        literal = self.text[start:end]
        if quote == "'":
            literal = f'"{_ESCAPE_OR_DOUBLE.sub(_requoted, literal[1:-1])}"'
        self._emit(literal, end)
        return None

    def _word(self, word: str) -> str:
        """Spell a literal as JSON does, quote a key, leave anything else to the JSON reader."""
        if word in WORDS:
            return WORDS[word]
        return f'"{word}"' if _COLON.match(self.text, self.position) else word

    def _emit(self, rewritten: str, end: int) -> None:
        self.parts.append(rewritten)
        self.position = end


def _closing_quote(text: str, start: int, quote: str) -> int | None:
    """Return where the string ends whose inside begins at *start*; None if it never does."""
    escape_or_quote = _ESCAPE_OR_DOUBLE if quote == '"' else _ESCAPE_OR_SINGLE
    for found in escape_or_quote.finditer(text, start):
        if found[0] == quote:
            return found.end()
    return None


def _requoted(found: re.Match[str]) -> str:
    """Write an escape or a bare double quote for a literal in double quotes."""
    if found[0] == '"':
        return '\\"'
    return "'" if found[0] == r"\'" else found[0]

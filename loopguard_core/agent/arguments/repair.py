"""Mends arguments that are loosely written JSON; what is cut off is never mended.

Source: agent specification, section 7, "Repair".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from .scan import Scan, ScanState, first_value

__all__ = ["Repair", "RepairOutcome", "RepairedJson", "repair_json"]

_FENCE: Final = "```"
_PYTHON_WORDS: Final = {"True": "true", "False": "false", "None": "null"}
_TOKEN: Final = re.compile(
    r"""
    (?P<quote>["'])
    | (?P<comma>,(?=[ \t\n\r]*[}\]]))
    | (?P<word>[A-Za-z_$][A-Za-z0-9_$]*)(?P<is_key>(?=[ \t\n\r]*:))?
    """,
    re.VERBOSE,
)
# Repeats are bounded, because the expression engine remembers each one until the match ends.
_IN_QUOTES: Final = {
    quote: re.compile(rf"(?:[^{quote}\\]+|\\.){{0,1000}}", re.DOTALL) for quote in "\"'"
}
_SINGLE_TO_DOUBLE: Final = re.compile(r"\\(.)|\"", re.DOTALL)


class Repair(StrEnum):
    """The kinds of loose writing that are mended."""

    CODE_FENCE = "code_fence"
    SINGLE_QUOTES = "single_quotes"
    TRAILING_COMMA = "trailing_comma"
    PYTHON_LITERALS = "python_literals"
    BARE_KEYS = "bare_keys"


class RepairOutcome(StrEnum):
    """What came of a repair."""

    OK = "ok"
    FAILED = "failed"
    TRUNCATED = "truncated"


@dataclass(frozen=True, slots=True)
class RepairedJson:
    """What came of mending a text.

    Args:
        outcome: Mended, no object all the same, or cut off.
        text: The mended text, one JSON object; empty unless the outcome is `OK`.
        repairs: The kinds of what was mended, in the order of `Repair`; likewise.
    """

    outcome: RepairOutcome
    text: str = ""
    repairs: tuple[Repair, ...] = ()


_TRUNCATED: Final = RepairedJson(RepairOutcome.TRUNCATED)
_FAILED: Final = RepairedJson(RepairOutcome.FAILED)


def repair_json(text: str) -> RepairedJson:
    """Mend a code fence, single quotes, trailing commas, Python's words and bare keys.

    What stands inside a literal is not touched. Comments, missing commas, NaN, keys with hyphens
    or letters beyond ASCII, typographic quotes and a byte order mark are not mended.

    Args:
        text: Any text. One that needs no repair is not mended either: the outcome is `FAILED`.
    """
    kinds: set[Repair] = set()
    strict = _strict(_unfenced(text.strip(), kinds), kinds)
    if strict is None:
        return _TRUNCATED
    strict = strict.strip()
    scan = first_value(strict)
    if scan.state is ScanState.CUT_OFF:
        return _TRUNCATED
    is_object = strict.startswith("{") and scan == Scan(ScanState.COMPLETE, len(strict))
    if not (is_object and kinds):
        return _FAILED
    return RepairedJson(RepairOutcome.OK, strict, tuple(kind for kind in Repair if kind in kinds))


def _unfenced(text: str, kinds: set[Repair]) -> str:
    """Drop a first line that starts a code fence, and all from the last fence on."""
    first_line, newline, rest = text.partition("\n")
    if not (first_line.startswith(_FENCE) and newline):
        return text
    kinds.add(Repair.CODE_FENCE)
    body, fence, behind = rest.rpartition(_FENCE)
    return body if fence else behind


def _strict(text: str, kinds: set[Repair]) -> str | None:
    """Rewrite *text* with all its repairs made; None if it ends inside a string."""
    pieces: list[str] = []
    done = 0
    while token := _TOKEN.search(text, done):
        pieces.append(text[done : token.start()])
        done = token.end()
        if quote := token["quote"]:
            end = _quoted_end(text, done, quote)
            if end == len(text):
                return None
            pieces.append(_double_quoted(text[done:end], quote, kinds))
            done = end + 1
        elif token["comma"]:
            kinds.add(Repair.TRAILING_COMMA)
        else:
            pieces.append(_word(token, kinds))
    pieces.append(text[done:])
    return "".join(pieces)


def _quoted_end(text: str, at: int, quote: str) -> int:
    """Return where the quote is that ends the string, or the length of *text*."""
    pattern = _IN_QUOTES[quote]
    while (found := pattern.match(text, at)) and found.end() > at:
        at = found.end()
    return at if text.startswith(quote, at) else len(text)


def _double_quoted(body: str, quote: str, kinds: set[Repair]) -> str:
    if quote == "'":
        kinds.add(Repair.SINGLE_QUOTES)
        body = _SINGLE_TO_DOUBLE.sub(_escaped_for_double, body)
    return f'"{body}"'


def _escaped_for_double(found: re.Match[str]) -> str:
    if found[0] == '"':
        return '\\"'
    return "'" if found[1] == "'" else found[0]


def _word(token: re.Match[str], kinds: set[Repair]) -> str:
    word = token["word"]
    if word in _PYTHON_WORDS:
        kinds.add(Repair.PYTHON_LITERALS)
        return _PYTHON_WORDS[word]
    if token["is_key"] is not None:
        kinds.add(Repair.BARE_KEYS)
        return f'"{word}"'
    return word

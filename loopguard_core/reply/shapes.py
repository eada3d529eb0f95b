"""How much of a repeated block it takes before it is a loop, judged by what the block looks like.

Healthy texts repeat some shapes at length: a zero matrix its rows, a log its lines, a table its
rules. No model repeats a sentence twelve times in a row with a purpose. The numbers keep a
distance from what was seen in healthy texts and from what a loop shows by half of its length.
"""

from __future__ import annotations

import math
import re
from typing import Final

from .line_kind import is_frame, is_sentence
from .sentences import words_of

__all__ = ["BLANK_CHARS", "GRID_CHARS", "needed_chars"]

BLANK_CHARS: Final = 384
"""Characters of nothing but white space: wider than any column, longer than any page break."""

GRID_CHARS: Final = 32768
"""Characters of equal rows of equal cells, a zero matrix of 100 by 100, or of a recursion."""

_SYMBOL_CHARS: Final = 384  # a divider is at most as wide as a page
_ONE_LETTER_CHARS: Final = 320
_EMOJI_CHARS: Final = 96
_CELLS_CHARS: Final = 4096  # one row of a vector, or a sum of ones
_WORD_TIMES, _WORD_CHARS = 100, 400
_WORD_LINE_TIMES: Final = 36  # a column of equal labels is a healthy answer, too
_LINE_TIMES, _LINES_CHARS = 24, 1280
_FEWEST_CHARS: Final = 128
_FEWEST_TIMES: Final = 3
# Copies times bytes: 3 copies of 228 bytes weigh as much as 9 of 25. The plain guard asks for
# 3 copies and 512 bytes, which three times a refrain reaches, and twelve times a short
# sentence of Chinese does not.
_WEIGHT: Final = 2048

_EMOJI: Final = re.compile(r"[\u2600-\u27bf\u200d\ufe0f\U0001f000-\U0001faff]+")
_BULLET: Final = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s")
_CELLS: Final = re.compile(r"[\s,;|\[\](){}]+")
_GAP: Final = re.compile(r"[\W_]")
_FEWEST_CELLS: Final = 3


def needed_chars(block: str, *, escaped: bool = False) -> int:
    """Return how many characters of *block*, repeated without a gap, make a loop.

    Args:
        block: One copy, beginning anywhere in it; no repetition of a shorter one.
        escaped: True if it is part of a JSON string, where a line ends with a backslash and n.
    """
    if escaped:
        plain = _unescaped(block)
        return needed_chars(plain) * len(block) // len(plain)
    block = _from_a_gap(block)
    solid = "".join(block.split())
    if not solid:
        return BLANK_CHARS
    if _EMOJI.fullmatch(solid) and ("\n" not in block or len(solid) < _FEWEST_CELLS):
        return _EMOJI_CHARS
    if "\n" in block:
        return _needed_lines(block)
    return _needed_in_line(block)


def _unescaped(block: str) -> str:
    """Put newlines into a block, which may begin inside the escape of one."""
    if block.endswith("\\"):
        block = block[-1] + block[:-1]
    return block.replace("\\n", "\n")


def _needed_in_line(block: str) -> int:
    """Judge a block without a newline."""
    size = len(block)
    if block.replace(".", "").isdigit() or (size == 1 and block.isalpha()):
        return max(_ONE_LETTER_CHARS, _FEWEST_TIMES * size)
    if _is_cells(block):
        return _SYMBOL_CHARS if size == 1 else _CELLS_CHARS
    if len(words_of(block)) == 1:
        return max(_WORD_CHARS, _WORD_TIMES * size)
    return _needed_phrase(block)


def _needed_lines(block: str) -> int:
    """Judge a block that holds whole lines."""
    head, _, tail = block.rpartition("\n")
    lines = [line for line in (tail + head).split("\n") if line.strip()]
    if all(map(_is_cells, lines)) or any(map(is_frame, lines)):
        return GRID_CHARS
    if len(lines) == 1:
        line = lines[0].rstrip()
        if len(words_of(line)) <= 1 and not _BULLET.match(line):
            return max(_FEWEST_CHARS, _WORD_LINE_TIMES * len(block))
        if is_sentence(line):
            return _needed_phrase(block)
    needed = min(_LINE_TIMES * len(block), _LINES_CHARS)
    return max(needed, _FEWEST_CHARS, _FEWEST_TIMES * len(block))


def _from_a_gap(block: str) -> str:
    """Turn a block so that no word runs over from its end to its beginning."""
    gap = _GAP.search(block)
    return block if gap is None else block[gap.start() :] + block[: gap.start()]


def _needed_phrase(block: str) -> int:
    size, size_bytes = len(block), len(block.encode("utf-8", "surrogatepass"))
    weighed = math.sqrt(_WEIGHT * size_bytes) * size / size_bytes
    fewest = _FEWEST_CHARS * size // size_bytes
    return max(math.ceil(weighed), fewest, _FEWEST_TIMES * size)


def _is_cells(text: str) -> bool:
    """Tell data from words: nothing but numbers and signs, or one short word in every cell."""
    if not any(map(str.isalpha, text)):
        return True
    cells = [cell for cell in _CELLS.split(text) if cell]
    return len(cells) >= _FEWEST_CELLS and len(set(cells)) == 1

"""The same line again and again but for a number in it that counts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .sentences import Sentence

__all__ = ["CountingLines", "CountingText"]

# A whole number on its own, with the ending of an ordinal; no part of a time, a date, a
# decimal number or a name.
_NUMBER: Final = re.compile(
    r"(?<![\w.:/,-])\d{1,9}(?=(?:st|nd|rd|th)?(?![\w/-]|[.,:]\d))", re.ASCII
)
_DIGIT: Final = re.compile(r"[0-9]")
_ORDINAL: Final = re.compile(r"#(?:st|nd|rd|th)\b")
# Data and code count for a living: table rows, objects, calls, formulas.
_NOT_PROSE: Final = re.compile(r"[{}\[\]|\"=<>\\`;]|\w\(")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_MAX_CHARS: Final = 512


class CountingText:
    """Looks for counting in the sentences of a text, and in its lines.

    Memory: two lines of at most 512 characters, and the one that has not ended yet.

    Attributes:
        new_end: Where the last sentence ended that the counter does not join to the one before.
    """

    __slots__ = ("_line", "_lines", "_sentences", "new_end")

    def __init__(self) -> None:
        self._sentences = CountingLines()
        self._lines = CountingLines()
        self._line = ""
        self.new_end = 0

    def add(self, sentence: Sentence) -> int:
        """Take the next sentence and return how many the counter joins by now, 0 for none."""
        longest = self._lines
        times = 0
        if sentence.text:
            times, longest = self._sentences.add(sentence.text, sentence.end), self._sentences
            self._line = f"{self._line} {sentence.text}".lstrip()[: _MAX_CHARS + 1]
        if sentence.ends_line and self._line:
            in_lines = self._lines.add(self._line, sentence.end)
            self._line = ""
            if in_lines > times:
                times, longest = in_lines, self._lines
        self.new_end = longest.new_end
        return times


class CountingLines:
    """Counts lines in a row that differ in a counter only.

    Every number of such a line that changes goes up by one, or every one down by one. Lines of
    data and code are passed over, and times and dates are no counters, so that logs, tables and
    lists of similar objects are spared. Memory: one line.

    Attributes:
        new_end: Where the last line ended that the counter does not join to the one before.
    """

    __slots__ = ("_line", "_numbers", "_step", "_times", "new_end")

    def __init__(self) -> None:
        self._line = ""
        self._numbers: tuple[int, ...] = ()
        self._step = 0
        self._times = 0
        self.new_end = 0

    def add(self, line: str, end: int) -> int:
        """Take the next line that is not blank, and return how many the counter joins by now.

        Args:
            line: The line.
            end: Characters of the text up to and including it.

        Returns:
            Lines in a row, this one included; 0 if it counts nothing.
        """
        times = self._count(line)
        if times <= 1:
            self.new_end = end
        return times

    def _count(self, line: str) -> int:
        numbers: tuple[int, ...] = ()
        template = ""
        if len(line) <= _MAX_CHARS and _DIGIT.search(line) and not _NOT_PROSE.search(line):
            numbers = tuple(map(int, _NUMBER.findall(line)))
            template = _ORDINAL.sub("#", _NUMBER.sub("#", line.lower()))
        if not numbers or not _says_something(template):
            self._line, self._times = "", 0
            return 0
        is_same = template == self._line and len(numbers) == len(self._numbers)
        step = self._common_step(numbers) if is_same else 0
        if not step:
            self._times = 1
        elif self._times == 1 or step == self._step:
            self._times += 1
        else:
            self._times = 2
        self._line, self._numbers, self._step = template, numbers, step
        return self._times

    def _common_step(self, numbers: tuple[int, ...]) -> int:
        """Return 1 or -1 if every number that changed did so by that, else 0."""
        steps = {new - old for new, old in zip(numbers, self._numbers, strict=True)} - {0}
        step = steps.pop() if len(steps) == 1 else 0
        return step if abs(step) == 1 else 0


def _says_something(template: str) -> bool:
    """Return True if there are two words, or one and an ellipsis: something goes on.

    A word and a number are a name, and lists of names or of equal labels are healthy answers.
    """
    words = len(_WORD.findall(template))
    return words > 1 or (words == 1 and template.endswith("...") and template[0] != "#")

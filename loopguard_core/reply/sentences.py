"""A channel's text cut into sentences while it streams, and the words of a sentence."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

__all__ = ["Sentence", "SentenceStream", "count_characters", "key_of", "words_of"]

# A mark of Latin writing ends a sentence only before white space, so that 3.14 and a.py stay
# whole; the marks of Chinese and Japanese writing end it at once.
_END: Final = re.compile("\n|[.!?](?=\\s)|[\u3002\uff01\uff1f]")
_WORD: Final = re.compile(r"[^\W_]+")
# Scripts that put no spaces between words, and Hangul, which is often written with few.
UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3130-\u318f"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff"
)
_WORD_OR_RUN: Final = re.compile(rf"[{UNSPACED}]+|[^\W_{UNSPACED}]+")
_RUN: Final = re.compile(rf"[{UNSPACED}]")
_CONTINUATION: Final = bytes(range(0x80, 0xC0))  # of UTF-8
_LABEL: Final = re.compile(r"^(?:[-*+•>]|\(?(?:\d{1,3}|[a-z]|[ivxl]{1,5})[.)]) ")
_CLOSING: Final = " .,;:!?\u2026\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f"


class Sentence(NamedTuple):
    """One finished sentence.

    Args:
        text: The sentence without the white space around it; may be empty.
        end: Characters of the channel up to and including it.
        ends_line: True if a newline ended it.
    """

    text: str
    end: int
    ends_line: bool


class SentenceStream:
    """Cuts one channel's text into sentences; the cuts depend on the text alone.

    A sentence ends after a newline, after a closing mark before white space, after a closing
    mark of Chinese or Japanese writing, and where it would grow past the limit: there at its
    last space, or where it is if it has none. Only what has no end yet is kept, at most the
    limit and one piece. Source: reply specification, section 6.

    Args:
        max_bytes: UTF-8 bytes at which a sentence without an end is cut.
    """

    __slots__ = ("_end", "_max_bytes", "_pending", "_searched")

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._pending = ""
        self._searched = 0
        self._end = 0

    def feed(self, piece: str) -> list[Sentence]:
        """Take the next piece of the text and return the sentences that it finished."""
        self._pending += piece
        sentences: list[Sentence] = []
        while size := self._next_size():
            sentences.append(self._take(size))
        return sentences

    def close(self) -> list[Sentence]:
        """Return what is left as a sentence, for a text that is known to be whole."""
        return [self._take(len(self._pending))] if self._pending else []

    def _next_size(self) -> int:
        """Return the characters of the next sentence, or 0 if its end has not come yet.

        A mark counts only if the white space behind it lies within the limit too: what comes
        later must not change where a sentence of full length is cut.
        """
        pending = self._pending
        limit = self._limit_chars()
        found = _END.search(pending, self._searched)
        if found is not None:
            needed = found.end() + (found.group() in ".!?")
            if limit is None or needed <= limit:
                return found.end()
        if limit is None:
            self._searched = max(0, len(pending) - 1)
            return 0
        return pending.rfind(" ", 1, limit) + 1 or limit

    def _limit_chars(self) -> int | None:
        """Return how many characters make a sentence of full length, None if it is shorter."""
        pending = self._pending
        if len(pending) * 4 < self._max_bytes:
            return None
        if pending.isascii():
            return self._max_bytes if len(pending) >= self._max_bytes else None
        data = pending[: self._max_bytes].encode("utf-8", "surrogatepass")
        if len(data) < self._max_bytes:
            return None
        whole = count_characters(data[: self._max_bytes])
        inside = data[self._max_bytes : self._max_bytes + 1]
        return max(1, whole - (count_characters(inside) < len(inside)))

    def _take(self, size: int) -> Sentence:
        taken, self._pending = self._pending[:size], self._pending[size:]
        self._searched = 0
        self._end += size
        return Sentence(taken.strip(), self._end, taken.endswith("\n"))


def count_characters(data: bytes) -> int:
    """Return how many characters begin in *data*, which may start or end inside one."""
    return len(data.translate(None, _CONTINUATION))


def words_of(text: str) -> list[str]:
    """Return the words of *text*: its runs of letters and digits, in lower case.

    Of writing that puts no spaces between words, each two neighbouring characters are a word
    (a lone one is too), so that its sentences count by their characters.
    Source: reply specification, section 6; the extension that it allows.
    """
    lowered = text.lower()
    if lowered.isascii() or not _RUN.search(lowered):
        return _WORD.findall(lowered)
    words: list[str] = []
    for run in _WORD_OR_RUN.findall(lowered):
        if len(run) > 2 and _RUN.match(run):  # noqa: PLR2004 - a pair is one word already
            words += [run[i : i + 2] for i in range(len(run) - 1)]
        else:
            words.append(run)
    return words


def key_of(text: str) -> str:
    """Return what makes two sentences the same: all but case, spacing and the closing marks.

    Signs inside stay: "x = -1" and "x = 1" are different steps of a calculation, and comparing
    words alone (reply specification, section 7, inferred) cuts healthy mathematics. A label of a
    list in front is no part of what the sentence says.
    """
    return _LABEL.sub("", " ".join(text.lower().split()), count=1).rstrip(_CLOSING)

"""Cut a stream of text into words, wherever its pieces were cut."""

from __future__ import annotations

import re
import zlib
from typing import Final, TypeAlias

from .excerpt import encodable

__all__ = ["MAX_WORD_CHARS", "Word", "WordStream"]

MAX_WORD_CHARS: Final = 512
"""The longest word that is kept; of a longer one, its start and a checksum of the rest.

Far above any word, path or cell of a table; a megabyte without white space then costs no more
than this. Longer words are still compared whole, but behind their start exactly, with case and
punctuation, so at worst a repetition is missed.
"""

_HEAD_CHARS: Final = MAX_WORD_CHARS - len("...01234567")

Word: TypeAlias = tuple[str, str, int]
"""A word with white space behind it: what is compared, what was emitted, line feeds before it.

What is compared is the token in lower case, reduced to letters and numbers. UTF-8 can encode
both strings. A plain tuple, because one is made for every word of a stream.
"""

_SPACE: Final = re.compile(r"\s")
_NO_LETTER_OR_NUMBER: Final = re.compile(r"[\W_]+")


class WordStream:
    """Gives the finished words of a stream; keeps at most one unfinished word.

    Any way of cutting the same characters into pieces gives the same words.
    Source: thread specification, section 8.1.
    """

    __slots__ = ("_checksum", "_newlines", "_pending")

    def __init__(self) -> None:
        self._pending = ""
        self._checksum: int | None = None  # of what an over-long unfinished word has behind that
        self._newlines = 0

    def feed(self, text: str) -> list[Word]:
        """Take the next piece and return the words that white space has ended."""
        if self._checksum is not None:
            space = _SPACE.search(text)
            if space is not None:
                return self._end_long_word(text, space.start())
            self._checksum = _checksum(text, self._checksum)
            return []
        words: list[Word] = []
        text = self._pending + text
        if "\n" in text:
            text = self._read_lines(text, words)
        tokens = text.split()
        self._pending = tokens.pop() if tokens and not text[-1].isspace() else ""
        if len(self._pending) > MAX_WORD_CHARS:
            self._shorten_pending()
        if tokens:
            self._read(tokens, words)
        return words

    def _read_lines(self, text: str, words: list[Word]) -> str:
        """Read all lines that have ended, and return the last one, which has not."""
        *lines, last = text.split("\n")
        for line in lines:
            self._read(line.split(), words)
            self._newlines += 1
        return last

    def _read(self, tokens: list[str], words: list[Word]) -> None:
        for emitted in tokens:
            token = emitted
            if len(token) > MAX_WORD_CHARS:
                token = _shortened(token[:_HEAD_CHARS], _checksum(token[_HEAD_CHARS:]))
            if not token.isascii():
                token = encodable(token)
            word = token.lower()
            if not word.isalnum():
                word = _NO_LETTER_OR_NUMBER.sub("", word)
                if not word:
                    continue  # a bullet hands its line feed to the next real word
            words.append((word, token, self._newlines))
            self._newlines = 0

    def _shorten_pending(self) -> None:
        self._checksum = _checksum(self._pending[_HEAD_CHARS:])
        self._pending = self._pending[:_HEAD_CHARS]

    def _end_long_word(self, text: str, end: int) -> list[Word]:
        """Finish the over-long word, to which *text* belongs up to *end*, and read on."""
        token = _shortened(self._pending, _checksum(text[:end], self._checksum or 0))
        self._pending, self._checksum = "", None
        words: list[Word] = []
        self._read([token], words)
        return words + self.feed(text[end:])


def _checksum(text: str, so_far: int = 0) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"), so_far)


def _shortened(head: str, checksum: int) -> str:
    """Write an over-long word so that it is still told from others with the same start."""
    return f"{head}...{checksum:08x}"

"""Word stems, computed once a word."""

from __future__ import annotations

from threading import Lock
from typing import Final

from snowballstemmer import stemmer

__all__ = ["Stems"]

_SHORTEST: Final = 3


class Stems:
    """Porter's stems behind a bounded cache; safe for concurrent use.

    A stem takes some 40 microseconds, and most words of a reply have been met before. When the
    cache is full it starts over. Source: reply specification, section 8.

    Args:
        max_words: Words in the cache.
    """

    __slots__ = ("_known", "_lock", "_max_words", "_stemmer")

    def __init__(self, max_words: int = 16384) -> None:
        self._max_words = max_words
        self._known: dict[str, str] = {}
        self._lock = Lock()
        self._stemmer = stemmer("porter")

    def stem(self, word: str) -> str:
        """Return the stem of *word*, itself if it is short or holds a letter outside ASCII."""
        known = self._known.get(word)
        if known is not None:
            return known
        if len(word) < _SHORTEST or not word.isascii():
            return word
        with self._lock:  # the stemmer keeps the word it works on
            if len(self._known) >= self._max_words:
                self._known = {}
            stem: str = self._stemmer.stemWord(word)
            self._known[word] = stem
        return stem

"""Word stems, computed once a word."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final, Protocol

from snowballstemmer import stemmer  # type: ignore[import-untyped]  # ships no types

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Stems"]

_SHORTEST: Final = 3
_LONGEST: Final = 40  # longer than any word of English


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - the package's name for it


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
        self._stemmer: _Stemmer = stemmer("porter")

    def of(self, words: Iterable[str]) -> list[str]:
        """Return the stem of each word: itself if it is short or holds a letter outside ASCII."""
        known = self._known
        return [known.get(word) or self._stem(word) for word in words]

    def _stem(self, word: str) -> str:
        with self._lock:  # the stemmer keeps the word it works on
            is_stemmed = _SHORTEST <= len(word) <= _LONGEST and word.isascii()
            stem = self._stemmer.stemWord(word) if is_stemmed else word
            if len(self._known) >= self._max_words:
                self._known = {}
            if len(word) <= _LONGEST:
                self._known[word] = stem
        return stem

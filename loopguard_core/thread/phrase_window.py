"""The latest words of a stream, and what repeats among them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, TypeAlias

from .bag import Bag

if TYPE_CHECKING:
    from .words import Word

__all__ = ["PhraseWindow"]

_Phrase: TypeAlias = tuple[str, ...]


class PhraseWindow:
    """Counts words, phrases of `ngram` words, line feeds and the words that lead lines.

    Every figure is kept up to date as words come and go, so that a step costs the same however
    large the window is. The oldest word leaves when the next one comes, so what is judged in
    between has up to *size* + 1 words. Source: thread specification, section 8.2.

    Args:
        ngram: Words in a phrase.
        size: Words in the window.

    Attributes:
        newlines: Line feeds before the words in the window.
    """

    __slots__ = (
        "_latest",
        "_leads",
        "_ngram",
        "_phrases",
        "_repeats",
        "_singles",
        "_size",
        "_tokens",
        "_vocabulary",
        "_words",
        "newlines",
    )

    def __init__(self, ngram: int, size: int) -> None:
        self._size = size
        self._ngram = ngram
        self._words: deque[Word] = deque()
        self._latest: deque[str] = deque(maxlen=ngram)
        self._tokens: deque[str] = deque(maxlen=ngram)
        self._vocabulary: Bag[str] = Bag()
        self._singles = 0
        self._phrases: deque[_Phrase] = deque()
        self._repeats: Bag[_Phrase] = Bag()
        self._leads: Bag[str] = Bag()
        self.newlines = 0

    def add(self, word: Word) -> int:
        """Append *word*; return how often the phrase it ends stands in the window, 0 without one."""
        if len(self._words) > self._size:
            self._drop_oldest()
        text, token, newlines = word
        self._words.append(word)
        copies = self._vocabulary.add(text)
        if copies <= 2:  # noqa: PLR2004 - the second one ends being single
            self._singles += 1 if copies == 1 else -1
        if newlines:
            self.newlines += newlines
            self._leads.add(text)
        self._latest.append(text)
        self._tokens.append(token)
        phrase = tuple(self._latest)
        if len(phrase) < self._ngram:
            return 0
        self._phrases.append(phrase)
        return self._repeats.add(phrase)

    def _drop_oldest(self) -> None:
        text, _, newlines = self._words.popleft()
        self._repeats.remove(self._phrases.popleft())
        copies = self._vocabulary.remove(text)
        if copies <= 1:
            self._singles += 1 if copies == 1 else -1
        if newlines:
            self.newlines -= newlines
            self._leads.remove(text)

    @property
    def phrase(self) -> _Phrase:
        """The latest words, as they are compared."""
        return tuple(self._latest)

    @property
    def tokens(self) -> _Phrase:
        """The latest words, as they were emitted."""
        return tuple(self._tokens)

    @property
    def unique_ratio(self) -> float:
        """Distinct words by words in the window."""
        return self._vocabulary.distinct / len(self._words)

    @property
    def hapax_ratio(self) -> float:
        """Words that stand there exactly once, by words in the window."""
        return self._singles / len(self._words)

    @property
    def line_leads(self) -> int:
        """How many different words stand first on a line."""
        return self._leads.distinct

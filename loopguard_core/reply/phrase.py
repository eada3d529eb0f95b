"""The same said in other words: sentences with the same stems, in whatever order."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from .bm25 import SentenceIndex
from .said import Said

if TYPE_CHECKING:
    from .repeats import RepeatWindow
    from .stems import Stems

__all__ = ["PhraseDetector"]


class PhraseDetector:
    """Groups sentences that say the same, and counts how often the latest ones have been said.

    A sentence joins the group of the remembered sentence that is most similar to it, and each
    group is remembered by its first sentence. Memory: stems and first text of the latest
    `memory` groups. Source: reply specification, section 8.

    Args:
        window: The window that judges the numbers.
        stems: Where stems come from.
        similarity: Share of a sentence's own score that joins it to a group, above 0.
        memory: Groups that are remembered.
        sample_chars: Characters of a first text that are kept.
    """

    __slots__ = (
        "_groups",
        "_index",
        "_memory",
        "_sample_chars",
        "_similarity",
        "_stems",
        "_window",
    )

    def __init__(
        self,
        window: RepeatWindow,
        stems: Stems,
        *,
        similarity: float,
        memory: int,
        sample_chars: int,
    ) -> None:
        self._window = window
        self._stems = stems
        self._similarity = similarity
        self._index = SentenceIndex(memory)
        self._memory = memory
        self._sample_chars = sample_chars
        self._groups: dict[int, tuple[int, str]] = {}

    def add(self, words: list[str], text: str, size: int) -> Said:
        """Take the next counted sentence.

        Args:
            words: Its words, at least one.
            text: The sentence.
            size: Its bytes.
        """
        counts = Counter(map(self._stems.stem, words))
        group = self._index.most_similar(counts, len(words), self._similarity)
        if group is None:
            times, first = 1, text[: self._sample_chars]
            group = self._index.add(counts, len(words))
            self._groups.pop(group - self._memory, None)
        else:
            times, first = self._groups[group]
            times += 1
        self._groups[group] = times, first
        return Said(times, self._window.add(times, size), first)

    def add_new(self, size: int) -> None:
        """Take a sentence that is new and not prose: it says something, and nothing like it.

        Args:
            size: Its bytes.
        """
        self._window.add(1, size)

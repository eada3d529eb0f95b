"""Which of the remembered sentences says best what a new one says."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SentenceIndex"]

_K1: Final = 1.2
_B: Final = 0.75


class SentenceIndex:
    """An inverted index over the latest different sentences, scored by BM25.

    The similarity of a sentence to a remembered one is its score there by its score against
    itself. Adding and looking up take time and memory in proportion to the sentence and, for a
    term, to the remembered sentences that hold it, of which there are never more than the bound.
    Source: reply specification, section 8.

    Args:
        max_sentences: Sentences remembered; the oldest is forgotten for a new one.
    """

    __slots__ = ("_lengths", "_max_sentences", "_next", "_places", "_terms", "_words")

    def __init__(self, max_sentences: int) -> None:
        self._max_sentences = max_sentences
        self._places: dict[str, dict[int, int]] = {}  # term -> sentence -> how often
        self._lengths: dict[int, int] = {}
        self._terms: deque[tuple[int, tuple[str, ...]]] = deque()
        self._words = 0
        self._next = 0

    def add(self, counts: Mapping[str, int], length: int) -> int:
        """Remember a sentence and return its number; numbers grow.

        Args:
            counts: How often each of its terms stands in it.
            length: Its terms altogether.
        """
        if len(self._terms) >= self._max_sentences:
            self._forget(*self._terms.popleft())
        number = self._next
        self._next += 1
        for term, count in counts.items():
            self._places.setdefault(term, {})[number] = count
        self._lengths[number] = length
        self._words += length
        self._terms.append((number, tuple(counts)))
        return number

    def most_similar(self, counts: Mapping[str, int], length: int, at_least: float) -> int | None:
        """Return the remembered sentence that is most similar, the earliest of equals.

        Args:
            counts: As for `add`.
            length: Likewise.
            at_least: The similarity below which there is none, above 0.

        Returns:
            Its number, or None if none is that similar.
        """
        total = len(self._lengths)
        if not total:
            return None
        average = self._words / total
        saturation = _K1 * (1 - _B + _B * length / average)
        whole = 0.0
        known: list[tuple[float, dict[int, int]]] = []
        for term, count in counts.items():
            places = self._places.get(term)
            holding = len(places) if places else 0
            weight = math.log(1 + (total - holding + 0.5) / (holding + 0.5)) * (_K1 + 1)
            whole += weight * count / (count + saturation)
            if places:
                known.append((weight, places))
        return self._best(known, whole * at_least, average)

    def _best(
        self, known: list[tuple[float, dict[int, int]]], needed: float, average: float
    ) -> int | None:
        """Score the sentences that can reach *needed*, from the rarest term to the commonest.

        A term adds less than its weight, so once the weights that are left cannot reach what is
        needed, a sentence that has shown none of the terms so far is out, and the long lists of
        common words need not be walked for new ones.
        """
        left = sum(weight for weight, _ in known)
        if left < needed:
            return None
        known.sort(key=lambda pair: pair[0], reverse=True)
        flat, slope = _K1 * (1 - _B), _K1 * _B / average
        lengths = self._lengths
        scores: dict[int, float] = {}
        for weight, places in known:
            candidates = places if left >= needed else scores.keys() & places.keys()
            for number in candidates:
                count = places[number]
                gain = weight * count / (count + flat + slope * lengths[number])
                scores[number] = scores.get(number, 0.0) + gain
            left -= weight
        best = max(scores.items(), key=lambda item: (item[1], -item[0]))
        return best[0] if best[1] >= needed else None

    def _forget(self, number: int, terms: tuple[str, ...]) -> None:
        self._words -= self._lengths.pop(number)
        for term in terms:
            places = self._places[term]
            del places[number]
            if not places:
                del self._places[term]

"""Which of the remembered sentences says best what a new one says."""

from __future__ import annotations

import math
import sys
from collections import deque
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["SentenceIndex", "Terms"]

_K1: Final = 1.2
_B: Final = 0.75
_FLAT: Final = _K1 * (1 - _B)


class Terms(NamedTuple):
    """What the index knows of a sentence.

    Args:
        counts: How often each of its terms stands in it.
        length: Its terms altogether.
        figures: What a similar sentence must have in the same order, besides its terms.
    """

    counts: Mapping[str, int]
    length: int
    figures: tuple[str, ...] = ()


_Held: TypeAlias = tuple[float, float, dict[int, int]]
"""A term that is remembered: the most it can add to a score, its weight, and its places."""


class SentenceIndex:
    """An inverted index over the latest different sentences, scored by BM25.

    The similarity of a sentence to a remembered one is its score there by its score against
    itself. Adding takes time in proportion to the sentence; looking up, in proportion to the
    remembered sentences that hold its rare terms. Source: reply specification, section 8.

    Args:
        max_sentences: Sentences remembered; the oldest is forgotten for a new one.
    """

    __slots__ = (
        "_known",
        "_max_sentences",
        "_next",
        "_order",
        "_peaks",
        "_places",
        "_shortest",
        "_words",
    )

    def __init__(self, max_sentences: int) -> None:
        self._max_sentences = max_sentences
        self._places: dict[str, dict[int, int]] = {}  # term -> sentence -> how often
        self._peaks: dict[str, int] = {}  # term -> how often at most, in one sentence
        self._known: dict[int, Terms] = {}
        self._order: deque[int] = deque()
        self._words = 0
        self._shortest = sys.maxsize  # of all ever remembered
        self._next = 0

    def add(self, terms: Terms) -> int:
        """Remember a sentence and return its number; numbers grow from 0."""
        if len(self._order) >= self._max_sentences:
            self._forget(self._order.popleft())
        number = self._next
        self._next += 1
        for term, count in terms.counts.items():
            self._places.setdefault(term, {})[number] = count
            self._peaks[term] = max(count, self._peaks.get(term, 0))
        self._known[number] = terms
        self._words += terms.length
        self._shortest = min(self._shortest, terms.length)
        self._order.append(number)
        return number

    def most_similar(self, terms: Terms, at_least: float) -> int | None:
        """Return the remembered sentence that is most similar, the earliest of equals.

        Args:
            terms: What is looked for.
            at_least: The similarity below which there is none, above 0.

        Returns:
            Its number, or None if none is that similar.
        """
        total = len(self._known)
        if not total:
            return None
        slope = _K1 * _B * total / self._words
        saturation, least = _FLAT + slope * terms.length, _FLAT + slope * self._shortest
        whole = 0.0
        held: list[_Held] = []
        for term, count in terms.counts.items():
            places = self._places.get(term)
            holding = len(places) if places else 0
            weight = math.log(1 + (total - holding + 0.5) / (holding + 0.5)) * (_K1 + 1)
            whole += weight * count / (count + saturation)
            if places:
                peak = self._peaks[term]
                held.append((weight * peak / (peak + least), weight, places))
        needed = whole * at_least
        return self._best(self._scores(held, needed, slope), needed, terms.figures)

    def _scores(self, held: list[_Held], needed: float, slope: float) -> dict[int, float]:
        """Score every sentence that can reach *needed*, from the rarest term to the commonest.

        Once what is left cannot reach it, a sentence that has shown none of the terms so far is
        out, and so is one that falls too far behind: the long lists of common words are walked
        for few sentences, and for prose that says something new for none.
        """
        left = sum(most for most, _, _ in held)
        scores: dict[int, float] = {}
        known = self._known
        held.sort(key=itemgetter(0), reverse=True)
        for most, weight, places in held:
            if left >= needed:
                numbers: Iterable[int] = places
            else:
                scores = {n: score for n, score in scores.items() if score + left >= needed}
                if not scores:
                    break
                numbers = [number for number in scores if number in places]
            for number in numbers:
                count = places[number]
                gain = weight * count / (count + _FLAT + slope * known[number].length)
                scores[number] = scores.get(number, 0.0) + gain
            left -= most
        return scores

    def _best(
        self, scores: dict[int, float], needed: float, figures: tuple[str, ...]
    ) -> int | None:
        best = None
        for number, score in scores.items():
            if score < needed or self._known[number].figures != figures:
                continue
            if best is None or (score, -number) > (scores[best], -best):
                best = number
        return best

    def _forget(self, number: int) -> None:
        terms = self._known.pop(number)
        self._words -= terms.length
        for term in terms.counts:
            places = self._places[term]
            del places[number]
            if not places:
                del self._places[term], self._peaks[term]

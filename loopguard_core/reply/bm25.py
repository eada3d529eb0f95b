"""Which of the remembered sentences says best what a new one says."""

from __future__ import annotations

import math
import sys
from collections import deque
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SentenceIndex", "Terms"]

_K1: Final = 1.2
_B: Final = 0.75
_FLAT: Final = _K1 * (1 - _B)


class Terms(NamedTuple):
    """What the index knows of a sentence.

    Args:
        counts: How often each of its terms stands in it.
        length: Its terms altogether.
    """

    counts: Mapping[str, int]
    length: int


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
        "_lengths",
        "_logs",
        "_max_sentences",
        "_next",
        "_peaks",
        "_places",
        "_shortest",
        "_terms",
        "_words",
    )

    def __init__(self, max_sentences: int) -> None:
        self._max_sentences = max_sentences
        self._places: dict[str, dict[int, int]] = {}  # term -> sentence -> how often
        self._logs = [math.log(0.5)]  # of n + 0.5, for n places
        self._peaks: dict[str, int] = {}  # term -> how often in one sentence, if not once
        self._lengths: dict[int, int] = {}
        self._terms: deque[tuple[int, tuple[str, ...]]] = deque()
        self._words = 0
        self._shortest = sys.maxsize  # of all ever remembered
        self._next = 0

    def add(self, terms: Terms) -> int:
        """Remember a sentence and return its number; numbers grow from 0."""
        if len(self._terms) >= self._max_sentences:
            self._forget(*self._terms.popleft())
        number = self._next
        self._next += 1
        for term, count in terms.counts.items():
            self._places.setdefault(term, {})[number] = count
            if count > 1 and count > self._peaks.get(term, 1):
                self._peaks[term] = count
        self._terms.append((number, tuple(terms.counts)))
        if len(self._terms) == len(self._logs):
            self._logs.append(math.log(len(self._terms) + 0.5))
        self._lengths[number] = terms.length
        self._words += terms.length
        self._shortest = min(self._shortest, terms.length)
        return number

    def most_similar(self, terms: Terms, at_least: float) -> list[int]:
        """Return the remembered sentences that are similar.

        Args:
            terms: What is looked for.
            at_least: The similarity that is needed, above 0.

        Returns:
            Their numbers, the most similar first, the earliest of equals first.
        """
        if not self._terms:
            return []
        slope = _K1 * _B * len(self._terms) / self._words
        saturation, least = _FLAT + slope * terms.length, _FLAT + slope * self._shortest
        rarest, logs, whole = math.log(len(self._terms) + 1), self._logs, 0.0
        held: list[_Held] = []
        for term, count in terms.counts.items():
            places = self._places.get(term)
            # ln(1 + (N - n + 0.5) / (n + 0.5)), which is ln(N + 1) - ln(n + 0.5)
            weight = (rarest - logs[len(places) if places else 0]) * (_K1 + 1)
            whole += weight * count / (count + saturation)
            if places:
                peak = self._peaks.get(term, 1)
                held.append((weight * peak / (peak + least), weight, places))
        needed = whole * at_least
        scores = self._scores(held, needed, slope)
        similar = [(-score, number) for number, score in scores.items() if score >= needed]
        return [number for _, number in sorted(similar)]

    def _scores(self, held: list[_Held], needed: float, slope: float) -> dict[int, float]:
        """Score every sentence that can reach *needed*, from the rarest term to the commonest.

        Once what is left cannot reach it, a sentence that has shown none of the terms so far is
        out, and so is one that falls too far behind: the long lists of common words are walked
        for few sentences, and for prose that says something new for none.
        """
        left = sum(most for most, _, _ in held)
        scores: dict[int, float] = {}
        lengths = self._lengths
        held.sort(key=itemgetter(0), reverse=True)
        for most, weight, places in held:
            if left >= needed:
                for number, count in places.items():
                    gain = weight * count / (count + _FLAT + slope * lengths[number])
                    scores[number] = scores.get(number, 0.0) + gain
            else:
                scores = {n: score for n, score in scores.items() if score + left >= needed}
                if not scores:
                    break
                for number in scores:
                    if (count := places.get(number, 0)) > 0:
                        scores[number] += weight * count / (count + _FLAT + slope * lengths[number])
            left -= most
        return scores

    def _forget(self, number: int, terms: tuple[str, ...]) -> None:
        self._words -= self._lengths.pop(number)
        for term in terms:
            places = self._places[term]
            del places[number]
            if not places:
                del self._places[term]
                self._peaks.pop(term, None)

"""Texts for the tests: prose that says something new in each sentence, and how to watch one."""

from __future__ import annotations

from random import Random
from typing import Final

from loopguard_core.reply import FixedPoints, LoopFinding, ReplyLoopConfig, ReplyLoopDetector

_WORDS: Final = """
the a one system model request value stored index lookup cache parser writes reads quickly
carefully because while token batch worker schedule returns handles checks error retry network
latency budget review plan design user account ledger payment invoice report chart legend axis
river mountain forest cabin window garden kitchen recipe flour butter oven morning letter coat
"""

GUARD: Final = ReplyLoopConfig.for_guard()


class Writer:
    """Writes the same prose again for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - the same text for the same seed

    def word(self) -> str:
        """Write one word."""
        return self._random.choice(_WORDS.split())

    def number(self, highest: int = 99) -> int:
        """Write a number from 1 on."""
        return self._random.randint(1, highest)

    def line(self, words: int) -> str:
        """Write so many words that begin with a capital letter."""
        return " ".join(self.word() for _ in range(words)).capitalize()

    def sentence(self) -> str:
        """Write seven to fourteen words and a full stop."""
        return self.line(self._random.randint(7, 14)) + "."

    def prose(self, chars: int) -> str:
        """Write whole sentences of at least *chars* characters together."""
        sentences: list[str] = []
        while sum(map(len, sentences)) < chars:
            gap = "\n\n" if self._random.random() < 0.15 else " "
            sentences.append(self.sentence() + gap)
        return "".join(sentences)


def first_report(
    text: str, channel: str = "content", *, piece_chars: int = 1 << 20
) -> tuple[int, LoopFinding] | None:
    """Watch *text* as a guard does; return the character of the cut and the finding."""
    watch, points = ReplyLoopDetector(GUARD).begin(), FixedPoints()
    read = 0
    for start in range(0, len(text), piece_chars):
        for piece in points.feed(channel, text[start : start + piece_chars]):
            read += len(piece)
            if (finding := watch.watch(channel, piece)) is not None:
                return read, finding
    return None

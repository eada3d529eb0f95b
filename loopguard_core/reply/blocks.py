"""The blocks that a channel repeats: the repetition guard and the short periods together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .exact import ExactRepetition
from .excerpt import cut_bytes
from .finding import LoopFinding
from .sentences import count_characters
from .shapes import needed_chars
from .short_period import ShortPeriod

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .config import ReplyLoopConfig
    from .exact import ExactFinding
    from .short_period import ShortRun

__all__ = ["Blocks"]


class Blocks:
    """Watches one channel for blocks said back to back.

    Args:
        name: The channel.
        config: Thresholds.
        escaped: True if the text is JSON that is being written; see `needed_chars`.
    """

    __slots__ = ("_chars", "_escaped", "_exact", "_name", "_sample_bytes", "_short")

    def __init__(self, name: str, config: ReplyLoopConfig, *, escaped: bool) -> None:
        self._escaped = escaped
        self._name = name
        self._exact = ExactRepetition(config.exact, where=name)
        self._short = ShortPeriod(escaped=escaped) if config.shapes else None
        self._sample_bytes = config.sample_bytes
        self._chars = 0

    def feed(self, delta: str, data: bytes) -> Iterator[LoopFinding]:
        """Take the next text, also as UTF-8, and yield what it goes on repeating."""
        self._chars += len(delta)
        exact = self._exact.feed(data)
        if exact is not None and (self._short is None or self._is_enough(exact)):
            yield self._exact_loop(exact)
        run = self._short.feed(delta) if self._short is not None else None
        if run is not None:
            yield self._short_loop(run)

    def _is_enough(self, found: ExactFinding) -> bool:
        """Judge a block by its shape."""
        span = self._exact.last(found.reps * found.period)
        block = _whole_characters(span[-found.period :])
        return count_characters(span) >= needed_chars(block, escaped=self._escaped)

    def _exact_loop(self, found: ExactFinding) -> LoopFinding:
        sample = found.sample[: self._sample_bytes].decode("utf-8", "ignore")
        trailing_chars = count_characters(self._exact.last(found.trailing))
        return LoopFinding(
            kind="exact",
            where=found.where,
            period=found.period,
            reps=found.reps,
            trailing=found.trailing,
            first=sample,
            last=sample,
            sample=sample,
            keep_chars=self._chars - trailing_chars,
        )

    def _short_loop(self, run: ShortRun) -> LoopFinding:
        period = len(run.block)
        reps = run.chars // period
        trailing = (reps - 1) * period
        sample = cut_bytes(run.block, self._sample_bytes)
        return LoopFinding(
            kind="short_period",
            where=self._name,
            period=period,
            reps=reps,
            trailing=trailing,
            first=sample,
            last=sample,
            sample=sample,
            keep_chars=self._chars - trailing,
        )


def _whole_characters(block: bytes) -> str:
    """Read a block that may begin inside a character, from its first whole one on."""
    while block and not count_characters(block[:1]):
        block = block[1:] + block[:1]
    return block.decode("utf-8", "replace")

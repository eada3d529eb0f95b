"""The repetition guard: one block of bytes said back to back, and usable alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .config import ExactConfig
from .period import doubled_suffix, periodic_suffix, primitive_root

__all__ = ["ExactFinding", "ExactRepetition"]

_SAMPLE_BYTES: Final = 200


@dataclass(frozen=True, slots=True)
class ExactFinding:
    """One block that stands again and again at the end of a stream.

    Args:
        where: The label that the stream was given.
        period: Bytes of one copy; the block is no repetition of a shorter one.
        reps: Whole copies at the end, as far as the kept bytes reach.
        trailing: Bytes that can be cut from the end so that one copy stays.
        sample: The first 200 bytes of the last copy; may end inside a character.
    """

    where: str
    period: int
    reps: int
    trailing: int
    sample: bytes


class ExactRepetition:
    """Watches one stream of bytes for a block said back to back.

    Feeding takes the same time however much was fed: a piece is scanned once, at its end, in
    time linear in the kept bytes, and only when `check_every` bytes have come since the last
    scan. Where pieces end therefore decides what is seen; feed at fixed points of the text
    (`FixedPoints`) where that matters. Nothing is latched: fed on, a loop is reported at every
    later scan. Memory: the kept bytes, 3,072 by default, and one piece.
    Source: reply specification, section 2.

    Args:
        config: Thresholds; None equals the defaults.
        where: A label for findings.
    """

    __slots__ = (
        "_check_every",
        "_config",
        "_kept",
        "_kept_bytes",
        "_off",
        "_unscanned",
        "_where",
    )

    def __init__(self, config: ExactConfig | None = None, *, where: str = "content") -> None:
        self._config = config if config is not None else ExactConfig()
        # A piece is a few characters, and reading a model's attributes would cost as much as it.
        self._off = self._config.off
        self._check_every = self._config.check_every
        self._kept_bytes = self._config.kept_bytes
        self._where = where
        self._kept = bytearray()
        self._unscanned = 0

    def feed(self, piece: bytes | str) -> ExactFinding | None:
        """Take the next piece of the stream.

        Args:
            piece: Bytes, or text that is encoded as UTF-8, lone surrogates included. An empty
                piece changes nothing.

        Returns:
            What was found if this piece led to a scan that found something, else None.
        """
        data = piece.encode("utf-8", "surrogatepass") if isinstance(piece, str) else piece
        if self._off or not data:
            return None
        kept = self._kept
        kept += data
        if len(kept) > self._kept_bytes:
            del kept[: -self._kept_bytes]
        self._unscanned += len(data)
        if self._unscanned < self._check_every:
            return None
        self._unscanned = 0
        return self._scan()

    def last(self, size: int) -> bytes:
        """Return the last *size* kept bytes, or all of them if they are fewer."""
        return bytes(self._kept[-size:]) if size > 0 else b""

    def _scan(self) -> ExactFinding | None:
        kept, config = self._kept, self._config
        longest = min(config.max_period, len(kept) // config.min_reps)
        doubled = doubled_suffix(kept, config.min_period, longest)
        if doubled is None:
            return None
        period = primitive_root(bytes(kept[-doubled:]))
        if period < config.min_period:
            return None
        reps = periodic_suffix(kept, period) // period
        if reps < config.min_reps or reps * period < config.min_span:
            return None
        block = bytes(kept[-period:])
        return ExactFinding(self._where, period, reps, (reps - 1) * period, block[:_SAMPLE_BYTES])

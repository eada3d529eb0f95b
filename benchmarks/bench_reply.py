"""`ReplyWatch` with the guard's settings: microseconds a word, growth, and memory.

Run: python benchmarks/bench_reply.py
"""

from __future__ import annotations

import random
import tracemalloc
from itertools import accumulate, repeat
from time import perf_counter

from timing import median_seconds, report

from loopguard_core.reply import (
    ExactConfig,
    ExactRepetition,
    FixedPoints,
    ReplyLoopConfig,
    ReplyLoopDetector,
    ReplyWatch,
)

PIECE_CHARS = 4
MEGABYTE = 1_000_000
MICROSECONDS = 1e6
SYLLABLES = ("ba", "de", "ki", "lo", "mu", "ra", "se", "ti", "no", "ve", "ing", "er", "ation", "ly")


def main() -> None:
    """Print one line for each figure."""
    text = prose(MEGABYTE)
    words = len(text.split())
    for name, config in (
        ("guard", ReplyLoopConfig.for_guard()),
        ("reference", ReplyLoopConfig()),
    ):
        seconds = median_seconds(lambda c=config: stream(text, c), runs=3)
        report(f"{name}, 4-character pieces, a word", seconds / words * MICROSECONDS, "us", 10)
    tenths = time_of_tenths(text)
    report("last tenth of a megabyte against the first", tenths[-1] / tenths[0], "times", 1.3)
    report("memory at the end of it against its middle", growth(text), "times", 1.1)
    report("memory of a watch", memory(text), "MB", 8)
    for name, tail in hard_tails().items():
        seconds = median_seconds(lambda t=tail: scan(t))
        report(f"exact, {name}, a scan of 3,072 bytes", seconds / 100 * 1000, "ms", 5)


def prose(chars: int) -> str:
    """Write words with the frequencies of a language, in sentences and paragraphs."""
    writer = random.Random(1)  # noqa: S311 - the same text each time
    words = ["".join(writer.choices(SYLLABLES, k=writer.randint(1, 4))) for _ in range(4000)]
    weights = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))
    sentences: list[str] = []
    size = 0
    while size < chars:
        picked = writer.choices(words, cum_weights=weights, k=writer.randint(6, 20))
        sentences.append(f"{' '.join(picked).capitalize()}.{writer.choice((' ', ' ', chr(10)))}")
        size += len(sentences[-1])
    return "".join(sentences)[:chars]


def stream(text: str, config: ReplyLoopConfig) -> None:
    """Watch a text from its beginning."""
    watch_pieces(ReplyLoopDetector(config).begin(), FixedPoints(), text)


def watch_pieces(watch: ReplyWatch, points: FixedPoints, text: str) -> None:
    """Give a text to a watch as a guard does."""
    for start in range(0, len(text), PIECE_CHARS):
        for piece in points.feed("content", text[start : start + PIECE_CHARS]):
            if watch.watch("content", piece) is not None:
                raise RuntimeError(watch.finding)


def tenths_of(text: str) -> list[str]:
    """Cut a text into ten."""
    size = len(text) // 10
    return [text[start : start + size] for start in range(0, 10 * size, size)]


def time_of_tenths(text: str) -> list[float]:
    """Return how long each tenth of one reply took."""
    watch, points = ReplyLoopDetector(ReplyLoopConfig.for_guard()).begin(), FixedPoints()
    seconds = []
    for tenth in tenths_of(text):
        started = perf_counter()
        watch_pieces(watch, points, tenth)
        seconds.append(perf_counter() - started)
    return seconds


def memory_of_tenths(text: str) -> list[int]:
    """Return the bytes in use after each tenth of one reply."""
    detector, points = ReplyLoopDetector(ReplyLoopConfig.for_guard()), FixedPoints()
    tracemalloc.start()
    watch = detector.begin()
    used = []
    for tenth in tenths_of(text):
        watch_pieces(watch, points, tenth)
        used.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    return used


def growth(text: str) -> float:
    """Return by how much memory grows once the bounds are reached."""
    used = memory_of_tenths(text)
    return used[-1] / used[6]


def memory(text: str) -> float:
    """Return the megabytes of one watch at its bounds."""
    return memory_of_tenths(text)[-1] / MEGABYTE


def hard_tails() -> dict[str, bytes]:
    """Return ends of texts that agree with themselves at very many distances."""
    rule = b"-" * 60
    return {
        "rules of a table": b"".join(rule + b"%03d" % i for i in range(60)) + b"-" * 45,
        "two letters": bytes(b"ab"[i.bit_count() % 2] for i in range(3072)),
        "all but one equal": b"a" * 1500 + b"b" + b"a" * 47,
        "prose": prose(3072).encode(),
    }


def scan(tail: bytes) -> None:
    """Scan one end a hundred times."""
    guard = ExactRepetition(ExactConfig(check_every=1))
    guard.feed(tail)
    for _ in repeat(None, 100):
        guard._scan()  # noqa: SLF001 - the scan alone, without its feeding


if __name__ == "__main__":
    main()

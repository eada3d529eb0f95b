"""`StreamGuard.push`: microseconds a word, and a megabyte without white space.

Run: python benchmarks/bench_stream_guard.py
"""

from __future__ import annotations

from timing import median_seconds, report

from loopguard_core.thread import StreamGuard

PIECE_CHARS = 4
WORDS = 100_000
MEGABYTE = 1_000_000
MICROSECONDS = 1e6


def main() -> None:
    """Print one line for each figure."""
    prose = " ".join(f"word{number % 977}" for number in range(WORDS))
    pieces = _pieces(prose)
    _stream(pieces[:1000])
    seconds = median_seconds(lambda: _stream(pieces))
    report("push, 4-character pieces, a word", seconds / WORDS * MICROSECONDS, "us", 4)
    longer = _pieces(f"{prose} {prose}")
    ratio = median_seconds(lambda: _stream(longer)) / seconds
    report("twice the words, against once", ratio, "times", 2.6)

    for name, unit in {"ASCII": "x", "Latin-1": "é", "CJK": "無"}.items():
        text = unit * MEGABYTE
        whole, parts = [text], _pieces(text)
        report(
            f"{name} without spaces, one push", median_seconds(lambda p=whole: _stream(p)), "s", 0.5
        )
        report(
            f"{name} without spaces, pieces", median_seconds(lambda p=parts: _stream(p)), "s", 0.5
        )


def _pieces(text: str) -> list[str]:
    return [text[start : start + PIECE_CHARS] for start in range(0, len(text), PIECE_CHARS)]


def _stream(pieces: list[str]) -> None:
    guard = StreamGuard()
    push = guard.push
    for piece in pieces:
        push(piece)
    if guard.reason is not None:
        raise RuntimeError(guard.reason)  # a guard that has tripped ignores the rest


if __name__ == "__main__":
    main()

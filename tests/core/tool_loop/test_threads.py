"""One detector may be used by several threads at once."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from loopguard_core.tool_loop import ToolLoopConfig, ToolLoopDetector

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONFIG = ToolLoopConfig(window=5, post_compaction_watch=3)
_THREADS, _ROUNDS = 4, 400


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    """Let threads interrupt each other nearly everywhere."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def hammer(detector: ToolLoopDetector, thread: int) -> list[tuple[int, int, int]]:
    """Use every operation, and return the sizes that were seen on the way."""
    sizes = []
    for n in range(_ROUNDS):
        name = f"{n % 3}"
        detector.check_fingerprint("t", name)
        detector.observe_outcome(name, f"{thread}")
        detector.has_seen(name, "1")
        if n % 7 == 0:
            detector.arm_post_compaction()
        if n % 11 == 0:
            detector.reset_fingerprint(name)
        if n % 101 == 0:
            detector.reset()
        saved: dict[str, Any] = detector.snapshot()
        sizes.append((len(saved["history"]), len(saved["watched"]), saved["remaining"]))
    return sizes


def test_threads_keep_the_bounds_and_do_not_raise() -> None:
    """Whatever threads do to one detector, no list grows too long and the counts stay right."""
    detector = ToolLoopDetector(_CONFIG)
    with ThreadPoolExecutor(_THREADS) as pool:
        runs = list(pool.map(hammer, [detector] * _THREADS, range(_THREADS)))
    sizes = [size for run in runs for size in run]
    assert len(sizes) == _THREADS * _ROUNDS
    assert max(history for history, _, _ in sizes) <= _CONFIG.window
    assert max(watched + remaining for _, watched, remaining in sizes) <= 3
    rebuilt = ToolLoopDetector.restore(detector.snapshot(), _CONFIG)
    for name in "012":
        found, expected = (d.check_fingerprint("t", name, attempts=99) for d in (detector, rebuilt))
        assert found == expected


def test_no_call_is_lost() -> None:
    """Every finished call is counted once, whichever thread it came from."""
    detector = ToolLoopDetector(ToolLoopConfig(window=10_000))
    with ThreadPoolExecutor(_THREADS) as pool:
        for _ in range(_THREADS):
            pool.submit(lambda: [detector.observe_outcome(f"{n}", "r") for n in range(_ROUNDS)])
    history: Any = detector.snapshot()["history"]
    assert len(history) == _THREADS * _ROUNDS
    assert [history.count([f"{n}", "r"]) for n in range(_ROUNDS)] == [_THREADS] * _ROUNDS

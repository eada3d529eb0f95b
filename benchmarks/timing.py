"""How every benchmark here measures: medians of five runs after a warm-up, in one process."""

from __future__ import annotations

import gc
import statistics
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS = 5


def median_seconds(run: Callable[[], object], *, runs: int = RUNS) -> float:
    """Return the median wall time of *runs* calls of *run*, with the collector out of the way."""
    times: list[float] = []
    for _ in range(runs):
        gc.collect()
        gc.disable()
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
        gc.enable()
    return statistics.median(times)


def report(what: str, measured: float, unit: str, limit: float) -> None:
    """Print one line: what was measured, the figure, and the limit it has to keep."""
    verdict = "ok" if measured <= limit else "MISSED"
    print(f"{what:<66} {measured:>10.3f} {unit:<8} limit {limit:g} {unit}  {verdict}")

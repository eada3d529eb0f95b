"""What a tool call costs the detector, on different calls with results of 1 kB.

This is the detector by itself; what an agent pays is in the guard's own benchmark. The rest is
about size: a result of 100 MB, and a snapshot.
"""

from __future__ import annotations

import json
import statistics
import time
import tracemalloc

from timing import RUNS, report

from loopguard_core.tool_loop import ToolLoopConfig, ToolLoopDetector, result_fingerprint

CALLS, WARM_UP_CALLS, ENDS = 10_000, 1_000, 500
RESULT = "a line of what a tool printed\n" * 34  # 1 kB
LONG_MB = 100

WHOLE_RESULTS = ToolLoopConfig(max_result_bytes=None)  # as the guard compares them


def call_times(calls: int) -> list[float]:
    """Return the seconds of each check with its observation, in one run of different calls."""
    detector, times = ToolLoopDetector(WHOLE_RESULTS), []
    for n in range(calls):
        arguments, result = {"path": f"/data/{n}.txt", "line": n}, f"{n} {RESULT}"
        started = time.perf_counter()
        detector.check("read", arguments)
        detector.observe_result("read", arguments, result)
        times.append(time.perf_counter() - started)
    return times


def report_call() -> None:
    """Report the median call, and whether late calls are slower than early ones."""
    call_times(WARM_UP_CALLS)
    runs = [call_times(CALLS) for _ in range(RUNS)]
    median = statistics.median(statistics.median(times) for times in runs)
    growth = statistics.median(
        statistics.median(times[-ENDS:]) / statistics.median(times[:ENDS]) for times in runs
    )
    report(f"check + observe_result, {CALLS:,} different calls", median * 1e6, "us", 25)
    report(f"... the last {ENDS} against the first {ENDS}", growth, "times", 1.2)


def report_size() -> None:
    """Report the memory that a long result needs beside itself, and the size of a snapshot."""
    long = "x" * (LONG_MB * 1_000_000) + "\n"
    tracemalloc.start()
    result_fingerprint("read", long, max_bytes=None)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    report(f"memory to compare a result of {LONG_MB} MB", peak, "MB", LONG_MB / 2)

    detector = ToolLoopDetector()
    detector.arm_post_compaction()
    for n in range(1_000):
        detector.observe_result("read", {"n": n}, RESULT)
    report("snapshot at the default settings", len(json.dumps(detector.snapshot())) / 1e3, "kB", 8)


def main() -> None:
    """Measure and report."""
    report_call()
    report_size()


if __name__ == "__main__":
    main()

"""What the guard costs: a call with its result, and what a run keeps after a million of them."""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time

from timing import RUNS, report

from loopguard_core import GuardedRun, LoopGuard

CALLS = 10_000
WARM_UP = 1_000
EDGE = 500
RESULT = "x" * 1_000
KILO = 1_000


def call(run: GuardedRun, number: int) -> float:
    """Check one call and observe its result; return the microseconds it took."""
    arguments = {"path": f"src/module_{number}.py", "line": number, "whole": True}
    result = f"{number}{RESULT}"
    started = time.perf_counter_ns()
    run.check_call("read", arguments, f"call_{number}")
    run.observe_result("read", arguments, result, call_id=f"call_{number}")
    return (time.perf_counter_ns() - started) / KILO


def cost_of_calls() -> None:
    """Time 10,000 different calls with 1 kB results, all detectors on."""
    medians, ratios = [], []
    for _ in range(RUNS):
        run = LoopGuard().start_run()
        for number in range(WARM_UP):
            call(run, -number)
        times = [call(run, number) for number in range(CALLS)]
        medians.append(statistics.median(times))
        ratios.append(statistics.median(times[-EDGE:]) / statistics.median(times[:EDGE]))
    report("check_call + observe_result, median", statistics.median(medians), "us", 25)
    report("the last 500 calls against the first 500", statistics.median(ratios), "x", 1.2)


def size_of_state(calls: int) -> None:
    """Say what a run keeps after so many calls."""
    run = LoopGuard().start_run()
    for number in range(calls // 10):
        call(run, number)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(calls // 10, calls):
        call(run, number)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    size = len(json.dumps(run.snapshot())) / KILO
    report(f"snapshot after {calls:,} calls", size, "kB", 64)
    report(f"resident memory from {calls // 10:,} to {calls:,} calls", grown / KILO, "MB", 1)


if __name__ == "__main__":
    cost_of_calls()
    size_of_state(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)

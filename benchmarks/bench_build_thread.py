"""What it costs to keep 200 messages of a long thread: the length must not matter.

`build_thread` walks messages, `Trimmer` whole exchanges. A trimmer that is told which messages
are pinned looks at nothing but what it keeps; one that has to look for them glances at each
message, and what that costs is reported without a limit.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from timing import median_seconds, report

from loopguard_core.message import Message
from loopguard_core.thread import Trimmer, build_thread
from loopguard_core.tokens import chars_estimate

if TYPE_CHECKING:
    from collections.abc import Callable

SHORT, LONG = 1_000, 100_000
KEPT = 200
MAX_TIMES = 1.5
CALLS = 20  # in one measurement, so that it is long enough for the clock
WARM_UP_CALLS = 1_000
RESULT = "a line of what a tool printed\n" * 34  # 1 kB


def thread(length: int) -> list[Message]:
    """Build a thread: a person's message, then four calls and their results, and so on."""
    messages = [Message.system("You are a helpful agent.")]
    number = 0
    while len(messages) < length:
        messages.append(Message.user(f"And now part {number}, please."))
        for _ in range(4):
            number += 1
            arguments = {"path": f"/data/{number}.txt", "lines": 40}
            messages.append(Message.tool_request("read", arguments, f"call {number}"))
            messages.append(Message.tool_response("read", arguments, RESULT, f"call {number}"))
    return messages[:length]


def times(run: Callable[[list[Message]], object], messages: list[Message]) -> float:
    """Return the median seconds of one call of *run*."""
    return median_seconds(lambda: [run(messages) for _ in range(CALLS)]) / CALLS


def main() -> None:
    """Measure and report."""
    short, long = thread(SHORT), thread(LONG)
    budget = sum(map(chars_estimate, short[-KEPT:]))
    trimmer = Trimmer(max_tokens=budget, estimate=chars_estimate)
    runs: dict[str, Callable[[list[Message]], object]] = {
        "build_thread": partial(build_thread, max_tokens=budget, estimate=chars_estimate),
        "Trimmer.plan, pins known": partial(trimmer.plan, pinned=()),
    }
    for what, run in runs.items():
        for _ in range(WARM_UP_CALLS):
            run(short)
        at_short, at_long = times(run, short), times(run, long)
        report(f"{what}: {KEPT} of {SHORT}", at_short * 1e3, "ms", math.inf)
        report(f"{what}: {LONG} against {SHORT}", at_long / at_short, "times", MAX_TIMES)
    looking = times(trimmer.plan, long) - times(partial(trimmer.plan, pinned=()), long)
    report("Trimmer.plan: looking for pins", looking / LONG * 1e9, "ns/message", math.inf)


if __name__ == "__main__":
    main()

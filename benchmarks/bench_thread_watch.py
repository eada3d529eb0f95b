"""`ThreadWatch`: what a message costs at 10,000 messages against what it costs at 100.

Run: python benchmarks/bench_thread_watch.py
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from timing import median_seconds, report

from loopguard_core.message import Message
from loopguard_core.thread import ThreadWatch

if TYPE_CHECKING:
    from collections.abc import Callable

MESSAGES = 10_000
FEW = 100
REPEATS = 20  # so that a hundred messages take long enough to be measured
LIMIT = 1.5


def main() -> None:
    """Print, for each kind of thread, the cost and the ratio of pushing and of following."""
    for name, thread in {
        "distinct tool calls": _distinct(),
        "equal messages": [Message.tool_response("poll", {"id": 1}, "pending")] * MESSAGES,
        "mixed": _mixed(),
    }.items():
        for what, cost in {"push and find": _push_cost, "follow and find": _follow_cost}.items():
            cost(thread, 1100)
            few, many = cost(thread, FEW), cost(thread, MESSAGES)
            report(f"{name}: {what}, a message at {MESSAGES}", many * 1e6, "us", 1000)
            report(f"{name}: {what}, against at {FEW}", many / few, "times", LIMIT)


def _push_cost(thread: list[Message], length: int) -> float:
    """Return the seconds a message for the last messages of a thread of *length*."""

    def step(watch: ThreadWatch, position: int) -> None:
        watch.push(thread[position])

    return _cost(thread, length, step)


def _follow_cost(thread: list[Message], length: int) -> float:
    """Do the same for a host that hands over the whole thread each time."""
    prefixes = {stop: thread[: stop + 1] for stop in range(length - FEW, length)}

    def step(watch: ThreadWatch, position: int) -> None:
        watch.follow(prefixes[position])

    return _cost(thread, length, step)


def _cost(thread: list[Message], length: int, step: Callable[[ThreadWatch, int], None]) -> float:
    started = ThreadWatch()
    started.follow(thread[: length - FEW])
    snapshot = started.snapshot()
    watches = [ThreadWatch.restore(snapshot) for _ in range(REPEATS * 5)]

    def run() -> None:
        for _ in range(REPEATS):
            watch = watches.pop()
            for position in range(length - FEW, length):
                step(watch, position)
                watch.find()

    return median_seconds(run) / (REPEATS * FEW)


def _distinct() -> list[Message]:
    calls = [
        ("read", {"path": f"src/file_{n}.py"}, f"contents of {n}") for n in range(MESSAGES // 2)
    ]
    return [
        message
        for name, arguments, result in calls
        for message in (
            Message.tool_request(name, arguments),
            Message.tool_response(name, arguments, result),
        )
    ]


def _mixed() -> list[Message]:
    draw = random.Random(1)  # noqa: S311 - repeatable, and no secret
    kinds: list[Callable[[int], Message]] = [
        lambda n: Message.user(f"do {n}"),
        lambda n: Message.bot(f"I have done the part {n}. Now to the next. " * 3),
        lambda _: Message.tool_request("ls", {"path": draw.randint(0, 3)}),
        lambda _: Message.tool_response("ls", {"path": draw.randint(0, 3)}, draw.randint(0, 2)),
    ]
    # Every kind in each group of four, so that the messages measured cost the same on average.
    return [kind(n) for n in range(MESSAGES // 4) for kind in draw.sample(kinds, k=4)]


if __name__ == "__main__":
    main()

"""What it costs to shape a long history, and to shape it again when one entry has come.

The price of an entry is kept, so a turn prices what is new. What is left of a turn grows with the
history, but slowly: each entry is looked at, and none is read.
"""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

from timing import median_seconds, report

from loopguard_core.agent.budget import CharsByFour
from loopguard_core.agent.entries import Entry
from loopguard_core.agent.shaping import Shaper, ShaperPolicy, plan_shape
from loopguard_core.agent.store import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable

SHORT, LONG = 4_000, 40_000
KEPT = 200
TURNS = 20  # in one measurement, so that it is long enough for the clock
RESULT = "a line of what a tool printed\n" * 34  # 1 kB


def history(length: int, start: int = 0) -> list[Entry]:
    """Make a history of questions, calls, results and answers."""
    entries = []
    for at in range(start, start + length):
        call = {"tool_call_id": f"c{at // 4}", "tool_name": "read"}
        kind, content, more = (
            ("user", f"and now part {at}, please", {}),
            ("tool_call", f'{{"path": "/data/{at}.txt", "lines": 40}}', call),
            ("tool_result", RESULT, call),
            ("assistant", f"part {at} is done", {}),
        )[at % 4]
        entries.append(Entry(kind=kind, id=f"e{at}", content=content, created_at=at + 1, **more))
    return entries


def policy(entries: list[Entry]) -> ShaperPolicy:
    """Return a policy whose budget is what the newest entries cost."""
    tokens = plan_shape(entries[-KEPT:], ShaperPolicy()).tokens
    return ShaperPolicy(
        budget_tokens=tokens,
        lod_headroom_tokens=-1,
        preserve_last_messages=KEPT // 2,
        preserve_last_tool_calls=KEPT // 2,
        lod_truncate_above_chars=400,
        step_entries=8,
    )


def turn_seconds(length: int) -> tuple[float, float]:
    """Return the seconds of a turn with one new entry, and the texts that it priced."""
    priced = 0

    def estimate(text: str) -> int:
        nonlocal priced
        priced += 1
        return CharsByFour.estimate(text)

    store = MemoryStore()
    shaper = Shaper(
        store,
        summarizer=lambda _: "a summary",
        policy=ShaperPolicy.for_context(100_000_000),
        estimate=estimate,
    )
    more = iter(history(10 * TURNS, start=length))

    async def fill() -> None:
        for entry in history(length):
            await store.append("s", entry)
        await shaper.build("s")

    async def turns() -> None:
        for _ in range(TURNS):
            await store.append("s", next(more))
            await shaper.build("s")

    run: Callable[[], object] = lambda: asyncio.run(turns())  # noqa: E731 - measured as it is
    asyncio.run(fill())
    priced = 0
    seconds = median_seconds(run) / TURNS
    return seconds, priced / (5 * TURNS)


def main() -> None:
    """Measure and report."""
    entries = history(SHORT)
    limits = policy(entries)
    plan = plan_shape(entries, limits)
    shaping = median_seconds(lambda: plan_shape(entries, limits))
    kept = len(entries) - len(plan.fold)
    report(f"shaping {SHORT} entries, {kept} kept", shaping * 1e3, "ms", 20)
    short, priced = turn_seconds(SHORT)
    long, _ = turn_seconds(LONG)
    report(f"a turn that adds one entry to {SHORT}", short * 1e3, "ms", math.inf)
    report("texts that it prices", priced, "texts", 4)
    report(f"the same with {LONG}", long * 1e3, "ms", math.inf)
    report(f"{LONG} against {SHORT}", long / short, "times", math.inf)


if __name__ == "__main__":
    main()

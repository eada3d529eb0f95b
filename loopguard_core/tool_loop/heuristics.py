"""When a count is too high. Source: tool-loop specification, section 4."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from .decision import Decision, DetectorName, Level, describe

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from .config import ToolLoopConfig

__all__ = ["Counts", "decide"]

_ENDS_THE_RUN: Final[frozenset[DetectorName]] = frozenset(
    {"post_compaction", "global_circuit_breaker"}
)


class Counts(NamedTuple):
    """What was counted for one attempt.

    Args:
        since_compaction: Finished calls on the watch list equal to it that gave one outcome.
        identical: Attempts of it while it gives one outcome; 0 if it never finished.
        alternating: Length of the alternation of two calls that it goes on with.
        repeated: Attempts of it, whatever came back.
    """

    since_compaction: int
    identical: int
    alternating: int
    repeated: int


def decide(
    tool: str, fingerprint: str, counts: Counts, limits: ToolLoopConfig, skip: Collection[str]
) -> Decision:
    """Return the decision of the first heuristic that fires, *skip* passed over."""
    for detector, count, warn, critical in _heuristics(counts, limits):
        if count < warn or detector in skip:
            continue
        level: Level = "critical" if count >= critical else "warn"
        return Decision(
            level=level,
            detector=detector,
            count=count,
            message=describe(detector, level, tool, count),
            terminate=detector in _ENDS_THE_RUN,
            fingerprint=fingerprint,
        )
    return Decision(fingerprint=fingerprint)


def _heuristics(
    counts: Counts, limits: ToolLoopConfig
) -> Iterator[tuple[DetectorName, int, int, int]]:
    """Yield name, count, warning and critical threshold of each, in the order of the rules.

    Those that never warn have one threshold for both.
    """
    identical, breaker = counts.identical, limits.global_circuit_breaker
    stuck = limits.no_progress_critical
    again = limits.post_compaction_identical
    yield "post_compaction", counts.since_compaction, again, again
    yield "global_circuit_breaker", identical, breaker, breaker
    yield "no_progress", identical, stuck, stuck
    yield "ping_pong", counts.alternating, limits.ping_pong_warn, limits.ping_pong_critical
    yield "generic_repeat", counts.repeated, limits.generic_warn, limits.generic_critical

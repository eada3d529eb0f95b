"""What is counted for an attempt, and when it is too much.

Source: tool-loop specification, section 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from .decision import Decision, DetectorName, Level, describe

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from .config import ToolLoopConfig
    from .history import CallHistory

__all__ = ["Reading", "decide", "read"]

Reading: TypeAlias = tuple[DetectorName, int, int, int]
"""A heuristic's name, its count for one attempt, and the counts that warn and are critical."""

_ENDS_THE_RUN: Final[frozenset[DetectorName]] = frozenset(
    {"post_compaction", "global_circuit_breaker"}
)


def read(
    fingerprint: str,
    history: CallHistory,
    watched: CallHistory,
    limits: ToolLoopConfig,
    attempts: int,
) -> tuple[Reading, ...]:
    """Return the readings of all heuristics, in the order in which they are tried.

    Those that never warn have one number for both levels.

    Args:
        fingerprint: Of the call that is attempted.
        history: The calls that finished.
        watched: Those that finished after a compaction.
        limits: The thresholds.
        attempts: How often the call is being attempted, this time included.
    """
    streak, alternation = history.streak(fingerprint), history.alternation(fingerprint)
    identical = streak + attempts if streak else 0
    since_compaction = watched.streak(fingerprint)
    if limits.spare_progress and history.brings_news(fingerprint):
        identical = since_compaction = 0
    alternating = alternation + 1 if alternation else 0
    again, breaker = limits.post_compaction_identical, limits.global_circuit_breaker
    no_progress = limits.no_progress_critical
    repeated = history.count(fingerprint) + attempts
    return (
        ("post_compaction", since_compaction, again, again),
        ("global_circuit_breaker", identical, breaker, breaker),
        ("no_progress", identical, no_progress, no_progress),
        ("ping_pong", alternating, limits.ping_pong_warn, limits.ping_pong_critical),
        ("generic_repeat", repeated, limits.generic_warn, limits.generic_critical),
    )


def decide(
    tool: str, fingerprint: str, readings: Iterable[Reading], skip: Collection[str]
) -> Decision:
    """Return the decision of the first heuristic that fires, those in *skip* passed over."""
    for detector, count, warn, critical in readings:
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

"""Who hears of verdicts: events, how they are sent, and a listener that logs them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .verdict import Action, Verdict

__all__ = ["EventKind", "Listener", "LoggingListener", "VerdictEvent", "notify"]

EventKind: TypeAlias = Literal["thread", "call", "result", "reply", "iteration", "depth"]
"""What was being judged."""

_LOGGER = logging.getLogger("loopguard")

_LEVELS = {
    Action.ALLOW: logging.INFO,
    Action.NUDGE: logging.INFO,
    Action.BLOCK: logging.WARNING,
    Action.HALT: logging.WARNING,
}


@dataclass(frozen=True, slots=True)
class VerdictEvent:
    """One verdict that has findings.

    Args:
        run_id: The run it belongs to.
        kind: What was being judged.
        name: The tool, or the channel of a reply; empty for a thread.
        call_id: The provider's id of the call; None where there is none.
        verdict: What was found and what is done about it.
    """

    run_id: str
    kind: EventKind
    name: str
    call_id: str | None
    verdict: Verdict


Listener: TypeAlias = Callable[[VerdictEvent], object]
"""Anything that takes an event; what it returns is ignored."""


class LoggingListener:
    """Writes one line for each event through `logging`.

    Args:
        logger: Where to; None is the logger called `loopguard`. Nudges are logged at INFO,
            blocks and halts at WARNING.
    """

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logger or _LOGGER

    def __call__(self, event: VerdictEvent) -> None:
        """Log *event*."""
        verdict = event.verdict
        self._logger.log(
            _LEVELS[verdict.action],
            "%s %s%s: %s [%s, run %s]",
            verdict.action.name.lower(),
            event.kind,
            f" {event.name}" if event.name else "",
            "; ".join(finding.message for finding in verdict.findings),
            ", ".join(finding.detector for finding in verdict.findings),
            event.run_id,
        )


def notify(listeners: Iterable[Listener], event: VerdictEvent) -> None:
    """Give *event* to each listener; one that raises is logged and never reaches the agent."""
    for listener in listeners:
        try:
            listener(event)
        except Exception:  # a listener is foreign code that only looks on
            _LOGGER.exception("a listener failed on %s; the run goes on", event.kind)

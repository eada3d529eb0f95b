"""Folds that free next to nothing: a model call each, and the history stays too long."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

__all__ = ["FoldLimits", "SessionFolds"]

_LOGGER: Final = logging.getLogger("loopguard")


class FoldLimits:
    """When folding is given up.

    A fold that frees less than a twentieth of what the history cost is idle: a summary of 500
    tokens for 500 tokens. One may be bad luck, a third in a row is a tail that is too long, or a
    summariser that repeats what it reads. Once the history has grown by a quarter there is enough
    to fold that it may be worth a call again.
    """

    MAX_IDLE: Final = 3
    LEAST_FREED_SHARE: Final = 0.05
    GROWTH_TO_TRY_AGAIN: Final = 1.25


@dataclass(slots=True)
class SessionFolds:
    """How the folds of one session went.

    Args:
        idle: Builds in a row whose folds freed next to nothing.
        last_tokens: What the history cost after the last of them.
        told: True once it was said that folding is given up.
        told_of_system: True once it was said that the system text alone is over the budget.
        told_of_budget: True once it was said that a history cannot be brought into its budget.
    """

    idle: int = 0
    last_tokens: int = 0
    told: bool = False
    told_of_system: bool = False
    told_of_budget: bool = False

    def given_up(self, tokens: int) -> bool:
        """Return True if a fold of a history of *tokens* is not worth a model call."""
        has_grown = tokens >= self.last_tokens * FoldLimits.GROWTH_TO_TRY_AGAIN
        return self.idle >= FoldLimits.MAX_IDLE and not has_grown

    def note(self, session_id: str, before: int, after: int) -> None:
        """Count the folds of a build, which took the history from *before* to *after* tokens."""
        self.last_tokens = after
        if before - after >= before * FoldLimits.LEAST_FREED_SHARE:
            self.idle = 0
            return
        self.idle += 1
        if self.idle >= FoldLimits.MAX_IDLE and not self.told:
            self.told = True
            _LOGGER.warning(
                "session %r: %d folds in a row freed next to nothing (%d to %d tokens); folding "
                "rests: its tail is too long for its budget, or its summaries are too long",
                session_id, self.idle, before, after,
            )  # fmt: skip

    def note_failure(self, tokens: int) -> None:
        """Count a fold that failed, of a history of *tokens*."""
        self.last_tokens = tokens
        self.idle += 1

    def note_over_budget(self, session_id: str, tokens: int, budget: int) -> None:
        """Say once that what is shown costs more than the budget."""
        if self.told_of_budget:
            return
        self.told_of_budget = True
        _LOGGER.warning(
            "session %r: its history costs %d tokens of a budget of %d, and cannot be brought "
            "into it",
            session_id, tokens, budget,
        )  # fmt: skip

    def note_system(self, session_id: str, tokens: int, target: int) -> None:
        """Say once that the system text alone is more than the budget."""
        if self.told_of_system:
            return
        self.told_of_system = True
        _LOGGER.warning(
            "session %r: the system text alone costs %d tokens of a budget of %d; nothing is "
            "folded, because that cannot help",
            session_id, tokens, target,
        )  # fmt: skip

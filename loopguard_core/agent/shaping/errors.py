"""What makes a fold fail, named by the stage it failed at.

    LoopguardError
    +-- FoldError            what the summariser or the store raised; has the stage
    +-- EmptySummaryError    the summariser answered with nothing; the cause of a FoldError
    +-- NotConvergedError    fold after fold, and the history did not become shorter

Source: agent specification, section 19.
"""

from __future__ import annotations

from typing import Literal

from loopguard_core.errors import LoopguardError

__all__ = ["EmptySummaryError", "FoldError", "NotConvergedError"]


class FoldError(LoopguardError):
    """A fold failed; nothing was written.

    Args:
        stage: Where.
        cause: What was raised there.
    """

    def __init__(self, stage: Literal["summarize", "compact"], cause: BaseException) -> None:
        self.stage = stage
        self.cause = cause
        super().__init__(f"{stage}: {cause}")


class EmptySummaryError(LoopguardError):
    """The summariser answered with nothing but white space."""

    def __init__(self) -> None:
        super().__init__("empty summary")


class NotConvergedError(LoopguardError):
    """One fold takes all that can be folded, and yet there was more, time after time.

    It needs a store that goes on returning what a fold has subsumed.

    Args:
        attempts: The folds that were made.
    """

    def __init__(self, attempts: int) -> None:
        self.attempts = attempts
        super().__init__(f"the history did not converge in {attempts} folds")

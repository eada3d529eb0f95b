"""What earlier folds of a thread came to, in a form that a framework's state can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from loopguard_core.agent.shaping.idle_folds import FoldLimits

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FoldRecord", "folding_is_idle"]


class FoldRecord(BaseModel):
    """One fold, as it is recorded.

    Args:
        summary: The summary.
        messages: Neutral messages that it stands for.
        tokens_before: What was sent before it, in tokens.
        tokens_after: What is sent after it.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", strict=True)

    summary: str
    messages: Annotated[int, Field(ge=0)]
    tokens_before: Annotated[int, Field(ge=0)]
    tokens_after: Annotated[int, Field(ge=0)]

    @property
    def is_idle(self) -> bool:
        """True if it freed next to nothing; see `FoldLimits`."""
        freed = self.tokens_before - self.tokens_after
        return freed < self.tokens_before * FoldLimits.LEAST_FREED_SHARE


def folding_is_idle(records: Sequence[FoldRecord], tokens: int) -> bool:
    """Return True if the newest folds freed so little that no further one is worth a call.

    Args:
        records: The thread's folds, oldest first.
        tokens: What is sent now costs that much.
    """
    newest = records[-FoldLimits.MAX_IDLE :]
    if len(newest) < FoldLimits.MAX_IDLE or not all(record.is_idle for record in newest):
        return False
    return tokens < newest[-1].tokens_after * FoldLimits.GROWTH_TO_TRY_AGAIN

"""How a finder preparer chooses what to tell."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from loopguard_core.agent.entries import EntryKind

__all__ = ["FinderOptions"]


class FinderOptions(BaseModel):
    """How a finder preparer chooses what to tell.

    Args:
        min_score: What a hit needs at least.
        max_hits: Notices of one pass at most, the best first; None for any number.
        tag: The label of the notices.
        kinds: The kinds of entries whose texts are searched for.
        timeout_s: Seconds that a search may take; None waits for ever.
        back_dated: True also searches for entries that came later and are older than what was
            searched for, as where a host merges conversations (quirk Q28).
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", strict=True)

    min_score: float = 0.0
    max_hits: Annotated[int, Field(ge=1)] | None = 3
    tag: str = "rag"
    kinds: frozenset[str] = frozenset({EntryKind.USER, EntryKind.ASSISTANT})
    timeout_s: Annotated[float, Field(gt=0)] | None = 3.0
    back_dated: bool = False

"""What model calls cost, split into cached, new and generated tokens.

Source: agent specification, section 16.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from .entries import EntryUsage

if TYPE_CHECKING:
    from .runner.protocol import TokenReport

__all__ = ["TokenUsage", "cached_tokens", "entry_usage", "new_tokens"]


def cached_tokens(report: TokenReport) -> int:
    """Return the prompt tokens that came from a cache: the nested count, or else the flat one."""
    return report.cached if report.cached > 0 else max(report.cache_read, 0)


def new_tokens(report: TokenReport) -> int:
    """Return the prompt tokens that came from no cache; never below 0."""
    return max(report.prompt - cached_tokens(report), 0)


def entry_usage(report: TokenReport | None, *, latency_ms: int = 0) -> EntryUsage | None:
    """Return what an assistant entry keeps of a report; None if there is nothing to keep.

    Args:
        report: What the endpoint said, if it said anything. Negative counts are taken for 0.
        latency_ms: Milliseconds from the request to the end of the stream.
    """
    if report is None:
        return None
    usage = EntryUsage(
        latency_ms=max(latency_ms, 0),
        cached=cached_tokens(report),
        processed=new_tokens(report),
        generated=max(report.completion, 0),
    )
    return None if usage == EntryUsage() else usage


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """What a session has cost since it was made, and how large its context is.

    As long as an endpoint reports no more cached tokens than its prompt has, *cached*,
    *processed* and *generated* add up to *total*.

    Args:
        total: Tokens of prompts and replies.
        active: The estimated price of the messages that were sent last.
        cached: Prompt tokens that came from a cache.
        processed: Prompt tokens that did not.
        generated: Tokens of replies.
        turns: Model calls that came with a report.
    """

    total: int = 0
    active: int = 0
    cached: int = 0
    processed: int = 0
    generated: int = 0
    turns: int = 0

    def plus(self, report: TokenReport | None) -> Self:
        """Return the totals with one more call; None, a call without a report, adds nothing."""
        if report is None:
            return self
        prompt, completion = max(report.prompt, 0), max(report.completion, 0)
        return replace(
            self,
            total=self.total + prompt + completion,
            cached=self.cached + cached_tokens(report),
            processed=self.processed + new_tokens(report),
            generated=self.generated + completion,
            turns=self.turns + 1,
        )

    def with_active(self, tokens: int) -> Self:
        """Return the totals with another size of the context."""
        return replace(self, active=tokens)

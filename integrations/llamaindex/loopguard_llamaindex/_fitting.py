"""A thread cut down to what fits a budget, by whole exchanges."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from loopguard_core.message import activity_of

from ._shaped import with_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llama_index.core.llms import ChatMessage

    from loopguard_core.thread import Trimmer

    from ._convert import NeutralThread

__all__ = ["fitting"]

_LOGGER: Final = logging.getLogger("loopguard")


def fitting(thread: NeutralThread, trimmer: Trimmer) -> list[ChatMessage]:
    """Return the messages of *thread* that fit; a summary of earlier ones is among them."""
    messages = thread.natives
    plan = trimmer.plan(thread, pinned=thread.pins)
    if plan.over_budget:
        _LOGGER.warning(
            "a history needs %d tokens, its budget is %d", plan.tokens, trimmer.max_tokens
        )
    kept = {thread.native_at(position) for positions in plan.kept for position in positions}
    cut = {thread.native_at(position): part for position, part in plan.replaced.items()}
    # A history of nothing but results without a call holds nothing to send; no model takes an
    # empty one either, so it is left to whoever made it.
    return [_cut(messages[at], cut.get(at)) for at in sorted(kept)] or list(messages)


def _cut(native: ChatMessage, part: Mapping[str, object] | None) -> ChatMessage:
    """Return *native*, or a copy with the result that *part* holds."""
    activity = activity_of(part) if part is not None else None
    return native if activity is None else with_text(native, str(activity.result))

"""Does the thread go round: all heuristics in their order, the first hit named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from loopguard_core.message import text_of, type_of

from .activity import activity_tail
from .identity import checked_messages
from .options import CycleLimits, CycleOptions, cycle_limits, text_run_limits
from .result_run import ends_in_equal_results
from .suffix import ends_in_copies
from .text_run import TextRun, find_text_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "TEXT_RUN_MESSAGES",
    "Cycle",
    "CycleName",
    "describe_thread_cycle",
    "is_thread_cyclic",
    "message_text_run",
]

CycleName: TypeAlias = Literal[
    "repeated_suffix",
    "repeated_activity_tail",
    "repeated_result_run",
    "repeated_message_text_run",
]
"""The heuristics, in the order in which they are tried."""

TEXT_RUN_MESSAGES: Final = 5
"""How many of the newest messages are read for repeated sentences, exempt types included."""

_EXEMPT_TYPES: Final = frozenset({"reasoning", "activity"})
_TEXT_RUN: Final = text_run_limits(None)


@dataclass(frozen=True, slots=True)
class Cycle:
    """A cycle that `ThreadWatch` found.

    Args:
        name: The heuristic.
        count: Copies of the suffix, activities in the tail, equal newest results, or sentences
            looked at.
        evidence: Up to four strings of at most 80 characters: the tools or the starts of texts in
            the pattern, the tool of the run, or the sentence that came most often. Empty where
            the messages in question are too old for anything but their digests to be known.
    """

    name: CycleName
    count: int
    evidence: tuple[str, ...] = ()


def is_thread_cyclic(
    messages: Sequence[Mapping[str, object]], options: CycleOptions | None = None
) -> bool:
    """Return whether any heuristic finds that the thread goes round.

    Source: thread specification, section 7. Arguments and errors as in `describe_thread_cycle`.
    """
    return describe_thread_cycle(messages, options) is not None


def describe_thread_cycle(
    messages: Sequence[Mapping[str, object]], options: CycleOptions | None = None
) -> CycleName | None:
    """Return the name of the first heuristic that finds that the thread goes round, or None.

    Source: thread specification, section 7.

    Args:
        messages: The thread, oldest first; plain dicts serve as messages.
        options: Thresholds; the sentences of messages are always judged with the defaults of
            `TextRunOptions`.

    Raises:
        InvalidInputError: *messages* is no sequence of mappings; the error names the element.
    """
    thread, limits = checked_messages(messages), cycle_limits(options)
    if ends_in_copies(thread, limits):
        return "repeated_suffix"
    tail = activity_tail(thread)
    if tail.is_cyclic and tail.is_stale(limits.stale_activities):
        return "repeated_activity_tail"
    if ends_in_equal_results(thread, limits):
        return "repeated_result_run"
    if any(message_text_run(message, limits) for message in thread[-TEXT_RUN_MESSAGES:]):
        return "repeated_message_text_run"
    return None


def message_text_run(message: Mapping[str, object], limits: CycleLimits) -> TextRun | None:
    """Return the run of sentences in *message*, or None if there is none or its type is exempt."""
    kind, read = type_of(message), limits.text_run_types
    if kind in _EXEMPT_TYPES if read is None else kind not in read:
        return None
    return find_text_run(text_of(message), _TEXT_RUN)

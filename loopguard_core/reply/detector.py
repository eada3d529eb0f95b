"""`ReplyLoopDetector`: settings and totals, shared by all replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_core.errors import checked
from loopguard_core.message import as_messages

from .config import ReplyLoopConfig
from .stems import Stems
from .totals import Totals
from .watch import ReplyWatch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .totals import ReplyCounters

__all__ = ["ReplyLoopDetector"]


class ReplyLoopDetector:
    """Makes the watch of each reply, and adds up what they see; safe for concurrent use.

    Holds no text: only totals, and a bounded cache of word stems.

    Args:
        config: Thresholds; None equals the defaults.
    """

    __slots__ = ("_config", "_stems", "_totals")

    def __init__(self, config: ReplyLoopConfig | None = None) -> None:
        self._config = checked("config", config, ReplyLoopConfig)
        self._totals = Totals()
        self._stems = Stems()

    def begin(self, history: Sequence[Mapping[str, object]] = ()) -> ReplyWatch:
        """Begin a reply.

        Args:
            history: The thread so far, oldest first. What the model said and did since a person
                last spoke is read; it can raise the watch's counts, but never asks for a cut.

        Raises:
            InvalidInputError: *history* is no sequence of mappings.
        """
        messages = as_messages(history, field="history")
        return ReplyWatch(self._config, self._totals, self._stems, messages)

    def counters(self) -> ReplyCounters:
        """Return a copy of the totals since the detector was made."""
        return self._totals.read()

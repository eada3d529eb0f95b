"""Does a reply repeat a phrase again and again while it streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .options import StreamGuardOptions, stream_guard_limits
from .phrase_window import PhraseWindow
from .words import WordStream

__all__ = ["GuardReason", "StreamGuard"]

# A list whose lines have a varying word, or different first words, makes progress although
# its phrases repeat. Settings from the gate on ask for no such mercy.
_AGGRESSIVE_RATIO: Final = 0.5
_LIST_NEWLINES: Final = 2
_LIST_HAPAX_RATIO: Final = 0.1
_LIST_LINE_LEADS: Final = 3


@dataclass(frozen=True, slots=True)
class GuardReason:
    """Why a `StreamGuard` tripped.

    Args:
        phrase: The repeated words in lower case, letters and numbers only, one space between.
        count: How often the phrase stood among the latest words.
        text: The same words as they were emitted last, one space between; UTF-8 can encode it.
        unique_ratio: Distinct words by words in the window at that moment.
        hapax_ratio: Words that stood there exactly once, by words in the window.
    """

    phrase: str
    count: int
    text: str
    unique_ratio: float
    hapax_ratio: float


class StreamGuard:
    """Watches one reply while it streams, and trips for good when it repeats a phrase.

    Pieces may be cut anywhere: unless `min_chars` is set, the answer depends on the text alone.
    A step costs the same however long the stream is, and nothing is kept but the latest words,
    of each at most `loopguard_core.thread.words.MAX_WORD_CHARS` characters and a checksum of the
    rest. A word counts once white space has arrived behind it, so text without white space
    never trips. Make a new guard for each reply. Source: thread specification, section 8.

    Args:
        options: Thresholds; None equals the defaults.
    """

    __slots__ = ("_chars", "_limits", "_reason", "_window", "_words")

    def __init__(self, options: StreamGuardOptions | None = None) -> None:
        self._limits = stream_guard_limits(options)
        self._words = WordStream()
        self._window = PhraseWindow(self._limits.ngram, self._limits.window)
        self._chars = 0
        self._reason: GuardReason | None = None

    @property
    def reason(self) -> GuardReason | None:
        """None until the guard has tripped; from then on always the same value."""
        return self._reason

    def push(self, text: object) -> bool:
        """Take the next piece and return whether the guard has tripped.

        Args:
            text: The piece. Anything that is no string, and an empty one, changes nothing.

        Returns:
            True from the piece on in which a phrase came once too often; later pieces are ignored.
        """
        if self._reason is not None:
            return True
        if not isinstance(text, str) or not text:
            return False
        self._chars += len(text)
        for word in self._words.feed(text):
            count = self._window.add(word)
            if count >= self._limits.max_repeats and self._is_loop():
                self._trip(count)
                return True
        return False

    def _is_loop(self) -> bool:
        """Judge a phrase that came often enough."""
        window, limits = self._window, self._limits
        if self._chars < limits.min_chars or window.unique_ratio > limits.max_unique_ratio:
            return False
        is_list = window.newlines >= _LIST_NEWLINES and (
            window.hapax_ratio >= _LIST_HAPAX_RATIO or window.line_leads >= _LIST_LINE_LEADS
        )
        return not is_list or limits.max_unique_ratio >= _AGGRESSIVE_RATIO

    def _trip(self, count: int) -> None:
        window = self._window
        self._reason = GuardReason(
            phrase=" ".join(window.phrase),
            count=count,
            text=" ".join(window.tokens),
            unique_ratio=window.unique_ratio,
            hapax_ratio=window.hapax_ratio,
        )

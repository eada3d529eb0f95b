"""`GuardedReply`: one reply, watched while it streams."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from loopguard_core.reply import FixedPoints, ReplyLoopDetector
from loopguard_core.thread import StreamGuard

from .evidence import reply_finding, stream_finding
from .listener import VerdictEvent, notify
from .verdict import ALLOWED, Finding, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loopguard_core.reply import LoopFinding, ReplyLoopConfig, ReplyWatch
    from loopguard_core.thread import StreamGuardOptions

    from .config import LoopGuard

__all__ = ["GuardedReply"]

_CONTENT: Final = "content"
# A call's arguments hold code and data, whose phrases are none of the stream guard's business.
_ARGUMENTS: Final = "tool:"
# Of the turn before a reply so much is read. Reading all of a long turn anew for each of its replies
# would cost more than everything else; on the labelled runs 32 messages find what 128 do.
_HISTORY_MESSAGES: Final = 32


class GuardedReply:
    """Watches one reply; made by `GuardedRun.watch_reply`.

    Pieces may be cut anywhere: every detector is fed at fixed characters of a channel's text, so
    the same text gives the same verdict at the same character. A reply that is shorter than one
    such piece, 32 characters, is never judged.
    """

    def __init__(
        self, guard: LoopGuard, run_id: str, history: Sequence[Mapping[str, object]]
    ) -> None:
        self._guard = guard
        self._run_id = run_id
        self._history = history
        self._watch: ReplyWatch | None = None
        self._points = FixedPoints()
        self._phrases: dict[str, _Phrases] = {}
        self._verdict = ALLOWED
        self._keep_chars: int | None = None

    @property
    def finding(self) -> Finding | None:
        """What was found, or None so far."""
        return self._verdict.findings[0] if self._verdict.findings else None

    @property
    def keep_chars(self) -> int | None:
        """How many characters of the content are worth keeping; None means all that came.

        After a block that repeats, one copy of it stays; after any other finding in the content,
        the text up to the end of its last new sentence.
        """
        return self._keep_chars

    def feed(self, text: str | None, channel: str = _CONTENT) -> Verdict:
        """Take the next piece of the reply.

        Args:
            text: The piece; empty or None, as providers send it, changes nothing. Nothing but a bounded part of it is kept.
            channel: What it belongs to: `content`, `reasoning`, or `tool:` and any mark of the
                call whose arguments they are.

        Returns:
            ALLOW, or HALT to cut this reply; from then on always the same verdict. The same
            finding with ALLOW where the policy does not interfere.
        """
        if text and self._verdict is ALLOWED:
            for piece in self._points.feed(channel, text):
                if self._judge(channel, piece):
                    break
        return self._verdict

    def feed_call(self, name: str, arguments: object) -> Verdict:
        """Take a complete call that the reply contains; see `feed`."""
        if self._verdict is ALLOWED:
            found = self._replies().watch_tool_call(name, arguments)
            if found is not None:
                self._take(name, reply_finding(found))
        return self._verdict

    def _judge(self, channel: str, piece: str) -> bool:
        found = self._replies().watch(channel, piece)
        if found is not None:
            self._keep_chars = _worth_keeping(found)
            return self._take(channel, reply_finding(found))
        finding = self._find_phrase(channel, piece)
        return finding is not None and self._take(channel, finding)

    def _replies(self) -> ReplyWatch:
        """Return the watch; history is read when there is a reply to compare with it."""
        if self._watch is None:
            detector = _detector(self._guard.reply, self._guard.policy.disabled_in("reply"))
            self._watch = detector.begin(self._history[-_HISTORY_MESSAGES:])
        return self._watch

    def _find_phrase(self, channel: str, piece: str) -> Finding | None:
        enabled = self._guard.policy.is_enabled("thread.stream_guard")
        if channel.startswith(_ARGUMENTS) or not enabled:
            return None
        phrases = self._phrases.get(channel)
        if phrases is None:
            phrases = self._phrases[channel] = _Phrases(self._guard.stream)
        return phrases.find(channel, piece)

    def _take(self, where: str, finding: Finding) -> bool:
        self._verdict = Verdict(self._guard.policy.on_cut, (finding,))
        event = VerdictEvent(self._run_id, "reply", where, None, self._verdict)
        notify(self._guard.listeners, event)
        return True


class _Phrases:
    """The stream guard on one channel; numbers alone are data, as in a matrix, and no phrase."""

    __slots__ = ("_guard", "_options")

    def __init__(self, options: StreamGuardOptions) -> None:
        self._options = options
        self._guard = StreamGuard(options)

    def find(self, channel: str, piece: str) -> Finding | None:
        if not self._guard.push(piece):
            return None
        reason = self._guard.reason
        if reason is not None and any(map(str.isalpha, reason.phrase)):
            return stream_finding(channel, reason)
        self._guard = StreamGuard(self._options)
        return None


@lru_cache(maxsize=16)
def _detector(config: ReplyLoopConfig, disabled: frozenset[str]) -> ReplyLoopDetector:
    """Make a detector once for each configuration: it keeps the stems of words it has met."""
    return ReplyLoopDetector(config.model_copy(update={"disabled_kinds": disabled}))


def _worth_keeping(found: LoopFinding) -> int | None:
    return found.keep_chars if found.where == _CONTENT else None

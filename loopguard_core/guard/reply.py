"""`GuardedReply`: one reply, watched while it streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard_core.thread import StreamGuard

from .evidence import stream_finding
from .listener import VerdictEvent, notify
from .verdict import ALLOWED, Finding, Verdict

if TYPE_CHECKING:
    from loopguard_core.thread import GuardReason, StreamGuardOptions

    from .config import LoopGuard

__all__ = ["GuardedReply"]

# The stream guard counts the characters of a whole piece before it reads it, so its verdict
# depends on where pieces end. Fed at fixed points of the text, it depends on the text alone.
_STRIDE_CHARS: Final = 64

# A call's arguments hold code and data, whose repetitions are none of a phrase watcher's business.
_ARGUMENTS: Final = "tool:"


class GuardedReply:
    """Watches one reply; made by `GuardedRun.watch_reply`.

    Pieces may be cut anywhere: the same text gives the same verdict at the same character.
    """

    def __init__(self, guard: LoopGuard, run_id: str) -> None:
        self._guard = guard
        self._run_id = run_id
        self._off = "thread.stream_guard" in guard.policy.disabled_detectors
        self._channels: dict[str, _Channel] = {}
        self._verdict = ALLOWED

    @property
    def finding(self) -> Finding | None:
        """What was found, or None so far."""
        return self._verdict.findings[0] if self._verdict.findings else None

    def feed(self, text: str, channel: str = "content") -> Verdict:
        """Take the next piece of the reply.

        Args:
            text: The piece, possibly empty. Nothing but a bounded tail of it is kept.
            channel: What it belongs to: `content`, `reasoning`, or `tool:` and any mark of the
                call whose arguments they are.

        Returns:
            ALLOW, or HALT to cut this reply; from then on always the same verdict. The same
            finding with ALLOW where the policy does not interfere.
        """
        if self._verdict is not ALLOWED or self._off or channel.startswith(_ARGUMENTS):
            return self._verdict
        state = self._channels.get(channel)
        if state is None:
            state = self._channels[channel] = _Channel(self._guard.stream)
        reason = state.feed(text)
        if reason is not None:
            finding = stream_finding(channel, reason)
            self._verdict = Verdict(self._guard.policy.on_cut, (finding,))
            event = VerdictEvent(self._run_id, "reply", channel, None, self._verdict)
            notify(self._guard.listeners, event)
        return self._verdict

    def feed_call(self, name: str, arguments: object) -> Verdict:
        """Take a complete call that the reply contains; see `feed`."""
        del name, arguments
        return self._verdict


class _Channel:
    """One channel's stream guard, fed at fixed points of the channel's text."""

    __slots__ = ("_guard", "_options", "_waiting")

    def __init__(self, options: StreamGuardOptions) -> None:
        self._options = options
        self._guard = StreamGuard(options)
        self._waiting = ""

    def feed(self, text: str) -> GuardReason | None:
        """Take a piece; return why the text so far goes round, or None."""
        text = self._waiting + text
        end = len(text) - len(text) % _STRIDE_CHARS
        self._waiting = text[end:]
        for start in range(0, end, _STRIDE_CHARS):
            if self._guard.push(text[start : start + _STRIDE_CHARS]):
                reason = self._guard.reason
                if reason is not None and any(map(str.isalpha, reason.phrase)):
                    return reason
                self._guard = StreamGuard(self._options)  # equal numbers are data, as in a matrix
        return None

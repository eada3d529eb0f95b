"""One saved run, fed to a guard in the order in which an adapter would have done it live.

    person's message      begin_turn
    before a reply        check_thread
    reasoning and text    watch_reply, then reply_cut or reply_done
    each call             check_call, all of a reply before any result
    each result           observe_result

The saved run went on regardless, so what the guard would have prevented is still in it. Results
of calls that would not have run are not shown to the guard: those it refuses, and those of a
reply that it cuts. The replay ends at the first halt.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Final

from loopguard_core.guard import Action, GuardedReply, LoopGuard, Verdict
from loopguard_core.message import Message, activity_of
from loopguard_core.transcripts import chars_of, index_of

from .stream import stream_text
from .verdict_log import VerdictLog

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["replay"]

_CHANNELS: Final = {"bot": "content", "reasoning": "reasoning"}

# A text agent is told by its environment in messages of the user. None of them is a person's
# turn: live, such an agent begins one turn, with the task.
_OBSERVATION: Final = re.compile(r"\s*observation\b[^\n:]{0,20}:", re.IGNORECASE)


def replay(guard: LoopGuard, run_id: str, messages: Iterable[Message]) -> VerdictLog:
    """Give a saved run to *guard*, and return what it said.

    Args:
        guard: The guard; each replay is a run of its own.
        run_id: What its events call the run.
        messages: Neutral messages with the top-level keys `index` and `chars` of `SavedRun`.
    """
    player = _Replay(guard, run_id)
    for index, group in groupby(messages, key=index_of):
        player.show(list(group), index)
        if player.halted:
            break
    else:
        player.end()
    return player.log


class _Replay:
    """The replay of one run, one saved message at a time."""

    def __init__(self, guard: LoopGuard, run_id: str) -> None:
        self.log = VerdictLog()
        self.halted = False
        self._run = guard.start_run(run_id)
        self._thread: list[Message] = []
        self._newest = -1
        self._running: set[object] = set()

    def show(self, parts: Sequence[Message], index: int) -> None:
        """Take the neutral messages of the saved message with *index*."""
        if _is_by_model(parts[0]):
            self._show_reply(parts, index)
        else:
            self._show_incoming(parts[0], index)
        self._thread += parts
        self._newest = index

    def end(self) -> None:
        """Take note that the file ends here.

        A run that ends with a result was broken off, often by a limit of steps: the model would
        have been called next. After a reply without calls there is nothing left to stop.
        """
        if self._thread and not _is_by_model(self._thread[-1]):
            self._check_thread()

    def _check_thread(self) -> None:
        self._note(self._run.check_thread(self._thread), self._newest)

    def _show_incoming(self, message: Message, index: int) -> None:
        if message.type == "user" and not _OBSERVATION.match(message.text):
            self._run.begin_turn(self._thread)
            self.log.begin_turn()
        activity = activity_of(message)
        call_id = message.get("call_id")
        if activity is not None and isinstance(call_id, str) and call_id in self._running:
            verdict = self._run.observe_result(
                activity.name, activity.arguments, activity.result, call_id=call_id
            )
            self._note(verdict, index)

    def _show_reply(self, parts: Sequence[Message], index: int) -> None:
        self._check_thread()
        if self.halted:
            return
        if self._would_be_cut(parts, index):
            verdict = self._run.reply_cut()
            if verdict.action is Action.HALT:  # else it says no more than the cut, noted already
                self._note(verdict, index)
            return
        self._run.reply_done()
        for part in parts:
            self._show_call(part, index)

    def _would_be_cut(self, parts: Sequence[Message], index: int) -> bool:
        reply = self._run.watch_reply(self._thread)
        unread = sum(map(chars_of, parts))
        for part in parts:
            verdict, read = _stream_part(reply, part)
            if verdict.findings:
                self.log.note(verdict, index, unread_chars=unread - read)
            if verdict.action is Action.HALT:
                return True
            unread -= chars_of(part)
        return False

    def _show_call(self, part: Message, index: int) -> None:
        activity = activity_of(part)
        call_id = part.get("call_id")
        if activity is None or not isinstance(call_id, str):
            return
        verdict = self._run.check_call(activity.name, activity.arguments, call_id)
        if verdict.action < Action.BLOCK:
            self._running.add(call_id)
        self._note(verdict, index)

    def _note(self, verdict: Verdict, at: int) -> None:
        self.log.note(verdict, at)
        self.halted = self.halted or verdict.action is Action.HALT


def _stream_part(reply: GuardedReply, part: Message) -> tuple[Verdict, int]:
    """Feed one part of a reply; return the verdict and how many characters were read."""
    activity = activity_of(part)
    if activity is None:
        return stream_text(reply, part.text, _CHANNELS.get(part.type, part.type))
    return reply.feed_call(activity.name, activity.arguments), chars_of(part)


def _is_by_model(message: Message) -> bool:
    activity = activity_of(message)
    return message.type in _CHANNELS or (activity is not None and activity.type == "request")

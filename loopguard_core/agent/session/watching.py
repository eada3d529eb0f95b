"""Where a turn asks its guard; without one, everything is allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_core.agent.entries import EntryKind
from loopguard_core.guard.verdict import ALLOWED, Action, Verdict

from .thread import EntryThread, arguments_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from loopguard_core.agent.chat import ToolCall
    from loopguard_core.agent.entries import Entry
    from loopguard_core.guard import GuardedReply, GuardedRun
    from loopguard_core.message import Message

    from .options import SessionOptions

__all__ = ["Halted", "Watch"]


class Halted(Exception):  # noqa: N818 - a signal within a turn; nobody else sees it
    """The guard ends the turn. Whoever raises it has answered every call.

    Args:
        verdict: Why.
    """

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        super().__init__(verdict.reason)


class Watch:
    """Shows a session to its guard, if it has one; lives as long as the session.

    Args:
        options: Has the guard, and what it knew in an earlier process.
    """

    def __init__(self, options: SessionOptions) -> None:
        self.run: GuardedRun | None = None
        if options.guard is not None and options.guard_snapshot is not None:
            self.run = options.guard.resume(options.guard_snapshot)
        elif options.guard is not None:
            self.run = options.guard.start_run()
        self._knows_history = options.guard_snapshot is not None
        self._known: set[str] = set()
        self._thread = EntryThread()
        self._messages: list[Message] = []

    def begin(self, entries: Sequence[Entry]) -> None:
        """Take the context as it was before the session's first turn."""
        self._known = {entry.id for entry in entries}

    async def look(self, read: Callable[[], Awaitable[Sequence[Entry]]]) -> str:
        """Judge the context that the model is about to see.

        A person's message that is new begins a turn, and what is older is no evidence any more.
        A marker that is new means that history was folded: a model that starts over what it did
        before is found sooner.

        Args:
            read: Reads the context, in its order; not called without a guard.

        Returns:
            What the model is told beside it; empty for nothing.

        Raises:
            Halted: The turn is over.
        """
        if self.run is None:
            return ""
        entries = await read()
        self._messages = self._thread.of(entries)
        spoken = self._newest_turn(entries)
        if spoken is not None:
            self.run.begin_turn(self._messages[:spoken])
        new = [entry for entry in entries if entry.id not in self._known]
        if any(entry.kind == EntryKind.COMPACTION for entry in new):
            self.run.context_compacted()
        self._known = {entry.id for entry in entries}
        self._knows_history = True
        verdict = self.run.check_thread(self._messages)
        if verdict.action is Action.HALT:
            raise Halted(verdict)
        return verdict.guidance

    def watch_reply(self) -> GuardedReply | None:
        """Start watching a reply while it streams."""
        return None if self.run is None else self.run.watch_reply(self._messages)

    def reply_cut(self) -> str:
        """Take note that a reply was cut, and return what the model is told.

        Raises:
            Halted: It was one cut too many.
        """
        verdict = ALLOWED if self.run is None else self.run.reply_cut()
        if verdict.action is Action.HALT:
            raise Halted(verdict)
        return verdict.guidance

    def reply_done(self) -> None:
        """Take note that a reply ended by itself."""
        if self.run is not None:
            self.run.reply_done()

    def check(self, call: ToolCall) -> Verdict:
        """Judge a call, with the arguments that are stored; all of a batch before any runs."""
        if self.run is None:
            return ALLOWED
        return self.run.check_call(call.name, arguments_of(call.arguments), call.id)

    def allow(self, call: ToolCall) -> None:
        """Take note that a person allowed a call that was blocked."""
        if self.run is not None:
            self.run.allow_call(call.name, arguments_of(call.arguments))

    def observe(self, call: ToolCall, result: str, *, is_error: bool) -> Verdict:
        """Take what a call brought."""
        if self.run is None:
            return ALLOWED
        arguments = arguments_of(call.arguments)
        return self.run.observe_result(
            call.name, arguments, result, call_id=call.id, is_error=is_error
        )

    def _newest_turn(self, entries: Sequence[Entry]) -> int | None:
        """Return where a turn begins that the run has not seen begin; None if there is none."""
        spoken = [at for at, entry in enumerate(entries) if entry.kind == EntryKind.USER]
        new = [at for at in spoken if entries[at].id not in self._known]
        if new:
            return new[0]
        return spoken[-1] if spoken and not self._knows_history else None

"""`Session`: a conversation with a model and its tools, kept in a store.

Source: agent specification, section 6.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from loopguard_core.agent.entries import Entry, EntryKind, new_id
from loopguard_core.agent.errors import RunningLoopError, SessionBusyError
from loopguard_core.agent.render import default_builder
from loopguard_core.agent.store import Inbox
from loopguard_core.agent.usage import TokenUsage
from loopguard_core.errors import InvalidInputError

from .blocking import BlockingLoop, has_running_loop
from .clock import SessionClock
from .options import SessionOptions
from .state import SessionState
from .turn import Turn
from .watching import Watch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loopguard_core.agent.render import ContextBuilder
    from loopguard_core.guard import GuardedRun

    from .result import TurnResult

__all__ = ["Session"]


class Session(SessionOptions):
    """A conversation, one turn at a time.

    A turn takes what arrived, asks the model, runs what it calls, and asks again until the model
    answers without a call and nothing else has arrived. Messages may be queued at any time, also
    while a turn runs. Not for several tasks at once: the second `turn` is refused.

        session = Session(session_id="ada", store=MemoryStore(), runner=OpenAIRunner(model="..."))
        result = await session.turn("Hello")
        print(result.reply)

    Args:
        session_id: The conversation's name in the store.
        store: Keeps the entries.
        runner: Asks the model.
        thread_id: Goes with each model call as its trace id, and on spans.
        system: The system text.
        build: Builds the context; None shows the whole history. `Shaper(...).build` keeps it
            within a budget.
        tools: What the model may call; then `dispatch` is needed.
        dispatch: Runs a call. What it raises is what the model reads, save `SessionClosed`, which
            ends the turn well, and `AbortTurn`, which ends it with an error.
        tool_format: `native`, or `heredoc` for calls that are written as text.
        chat_opts: Goes with every model call.
        on_assistant_token: Called with each piece of text as it comes, placeholders and all.
        on_compaction: Called when history was folded during a turn.
        on_usage: Called with the totals after each model call.
        on_tool_calls: Called with the calls of each reply, also with none; returns the calls to
            make instead. Ignored after a reply that was cut.
        on_blocked_call: Asks a person whether a call that the guard blocks may run; needed where
            the guard's policy says `on_block="ask"`.
        estimate: Prices texts for `usage.active`.
        max_turns: Model calls in one turn; 0 or less is 100.
        forced_terminal_tool: A tool that the model has to call; named in the error if it never
            does.
        max_repetition_retries: Replies in a row that may be cut, or hold a heredoc call that
            cannot be read, before the turn fails; 0 is 2, negative is no limit.
        max_repeated_exchanges: Equal calls with equal results after which the model is told; at
            twice as many the turn fails. 0 is 5, negative never looks.
        preparer: Called with the session's id before each model call.
        span_prefix: Begins the names of spans.
        omit_slot_instructions: True does not teach the model `{OUTPUT}`.
        max_tool_result_chars: Bytes of one result that the model is shown; the rest is cut out of
            its middle, and stored all the same. 0 is no limit.
        encode_tool_result: Rewrites results, as `encode_tight_c` does. What is stored is the
            rewritten text, so `expand_entries` shows that, while `reply` shows what the tool
            returned (quirk Q24).
        now: The clock, in nanoseconds.
        tracer: Traces turns and model calls.
        guard: Watches for loops; see `guarded_run`. None does not.
        guard_snapshot: What `guarded_run.snapshot()` returned in an earlier process.
        count_arguments: True prices calls and parts too.
        repair_pairs: True shows a history in which every call has one result; without `build`.

    Raises:
        InvalidInputError: An argument that cannot work, by its name.
    """

    @cached_property
    def _state(self) -> SessionState:
        return SessionState(SessionClock(self.now), Watch(self), TokenUsage())

    @cached_property
    def _builder(self) -> ContextBuilder:
        return self.build or default_builder(
            self.store,
            tool_format="heredoc" if self.is_heredoc else "native",
            repair_pairs=self.repair_pairs,
        )

    @cached_property
    def _loop(self) -> BlockingLoop:
        return BlockingLoop()

    @property
    def usage(self) -> TokenUsage:
        """What the session has cost since this object was made."""
        return self._state.usage

    @property
    def guarded_run(self) -> GuardedRun | None:
        """The guard's state, whose `snapshot` goes into `guard_snapshot`; None for no guard."""
        return self._state.watch.run

    async def turn(self, message: str | Entry | None = None) -> TurnResult:
        """Run one turn.

        Args:
            message: Queued first: what a person says, or an entry of any kind. None answers what
                was queued before, or goes on.

        Returns:
            The reply, and what the turn did.

        Raises:
            TurnError: The turn failed; `stage` says where, `result` has what it had come to. The
                message is kept, so `turn()` without one tries again.
            Exception: What a callback of the session's own raises, unchanged.
            SessionBusyError: A turn of this session runs; `enqueue` hands it the message.
            InvalidInputError: *message* is something else.
        """
        with self._alone():
            return await self._turn(message)

    def turn_sync(self, message: str | Entry | None = None) -> TurnResult:
        """Run one turn and wait for it, from a program without an event loop; see `turn`.

        The session keeps one event loop for all its turns: clients and their connections belong
        to the loop they were first used on.

        Raises:
            RunningLoopError: An event loop runs in this thread; await `turn` there.
        """
        if has_running_loop():
            raise RunningLoopError("turn_sync", "await session.turn(...)")
        with self._alone():  # before the loop is used, which another thread may be running
            return self._loop.run(self._turn(message))

    async def _turn(self, message: str | Entry | None) -> TurnResult:
        if message is not None:
            await self.enqueue(message)
        return await Turn(self, self._builder, self._state).run()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other turns out.

        Raises:
            SessionBusyError: One runs already, in whatever thread.
        """
        if not self._state.busy.acquire(blocking=False):
            raise SessionBusyError(self.session_id)
        try:
            yield
        finally:
            self._state.busy.release()

    async def enqueue(self, message: str | Entry) -> None:
        """Queue a message until the session takes it: in the running turn, or in the next.

        A store without a queue (see `Inbox`) has it in the context at once.

        Raises:
            InvalidInputError: *message* is neither a text nor an entry.
        """
        if isinstance(message, str):
            message = Entry(kind=EntryKind.USER, content=message)
        if not isinstance(message, Entry):
            raise InvalidInputError("message", message, "a text or an Entry")
        if isinstance(self.store, Inbox):
            await self.store.enqueue(self.session_id, message)
        else:
            await self.inject(message)

    async def inject(self, entry: Entry) -> None:
        """Add an entry to the context at once, with an id and a time if it has none.

        So a host delivers the result of a call that was lifted, or a notice.
        """
        missing = {
            "id": entry.id or new_id(),
            "created_at": entry.created_at or self._state.clock(),
        }
        await self.store.append(self.session_id, entry.model_copy(update=missing))

"""One run while it lives: what the model is shown, what it asks for, and the verdicts on both.

The hooks and the guarded model both drive it: `begin` once, then for each model call `begin_step`
before it and `judge` after it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from loopguard_core import Action, Verdict
from loopguard_core.guard.guidance import unexecuted_text
from loopguard_core.guard.handoffs import said_with_handoff

from ._convert import NeutralThread
from ._items import Call, call_in, is_hosted, text_said
from ._notes import Note, user_note, with_notes
from ._replay import judge_hosted, newest_batch, rebuilt
from ._returned import Returned
from ._shaping import summary_at_head

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents import TResponseInputItem

    from loopguard_core import GuardedReply, LoopGuard

    from ._replay import Approved

__all__ = ["Judged", "LiveRun"]

_ALLOWED: Final = Verdict()


@dataclass(frozen=True, slots=True)
class Judged:
    """What the guard says about the calls of a reply."""

    refused: tuple[tuple[Call, Verdict], ...] = ()
    """Calls that must not run."""
    halt: Verdict | None = None
    """Why the run has to end, if it has to; the last of `refused` is then the call it is about."""


class LiveRun:
    """The state of one run.

    Args:
        guard: What to watch for and what to do about it.
        scope: Sets a run apart from others with the same usage object, as an agent's that is
            used as a tool; None is the outermost one.
    """

    def __init__(self, guard: LoopGuard, scope: str | None = None) -> None:
        self.guard = guard
        self.scope = scope
        self.run = guard.start_run()
        self.begun = False
        """False until the run was seen from its beginning, or rebuilt."""
        self.shown: Sequence[object] = ()
        """The list of items that the model is shown in the step under way, as the SDK made it."""
        self.judged = False
        """True if the guarded model has judged the reply of the step under way."""
        self.calls: list[Call] = []
        self.returned = Returned()
        """What the tools of the run returned, as hooks were told."""
        self.halt: tuple[Verdict, Call | None] | None = None
        """Why the run ends although the calls of its last reply are still to be answered."""
        self._is_delta = False
        self._summary = ""
        self._sent_ids: Counter[str | None] = Counter()
        self._step: Sequence[object] = ()
        self._ahead = False
        self._thread: list[object] = []
        self._neutral = NeutralThread(())
        self._said: Sequence[object] = ()
        self._spoken: Sequence[object] = ()
        self._verdict = Verdict()
        self._refused: dict[str | None, Verdict] = {}
        self._notes: list[Note] = []
        self._pending: list[TResponseInputItem] = []
        self._sending: list[TResponseInputItem] = []

    def begin(self, items: Sequence[object], approved: Approved) -> None:
        """Take the history, and what was done before a run was interrupted; once."""
        if not self.begun:
            self.run, self.calls = rebuilt(self.guard, items, approved)
            self.begun = True

    def begin_step(self, items: Sequence[object]) -> Verdict:
        """Observe what came back and judge the thread, before a model call.

        Args:
            items: What the model is to be shown; the same list again changes nothing.

        Returns:
            HALT if the run has to end; what the model is to be told is in `with_notes`.
        """
        if items is self._step:
            return self._verdict
        self._step = items
        self._note_fold(items)
        batch, self._is_delta = newest_batch(
            items, self.calls, self.returned, said_with_handoff(text_said(self._spoken))
        )
        if self._ahead:
            self._ahead = False
            return self._verdict
        self._sending, self._pending = self._pending, []
        self._notes, self.halt = [], None
        self._thread = [*self._thread, *self._said, *items] if self._is_delta else list(items)
        self._neutral = NeutralThread(self._thread, before=self._neutral, returned=self.returned)
        self._said = ()
        for call, result in batch.results():
            self._verdict = self.run.observe_result(
                call.name, call.arguments, result, call_id=call.key
            )
            self._note(self._verdict, call.call_id)
            if self._verdict.action is Action.HALT:
                return self._verdict
        self._verdict = self.run.check_thread(self.thread())
        self._note(self._verdict)
        return self._verdict

    def _note_fold(self, items: Sequence[object]) -> None:
        """Tell the run that its history was folded, if it begins with another summary now."""
        summary = summary_at_head(items)
        if summary and summary != self._summary:
            self.run.context_compacted()
        self._summary = summary

    def thread(self) -> NeutralThread:
        """Return the thread of the step under way, also where the server keeps most of it."""
        return self._neutral

    def look_ahead(self, answers: Sequence[TResponseInputItem]) -> Verdict:
        """Begin the next step already now that the tools of this one have answered."""
        verdict = self.begin_step([*self._thread, *self._said, *answers])
        self._ahead = True
        return verdict

    def watch(self) -> GuardedReply:
        """Start watching the reply of the step under way."""
        return self.run.watch_reply(self.thread())

    def with_notes(self, items: Sequence[TResponseInputItem]) -> list[TResponseInputItem]:
        """Return *items* with what the model is to be told in this step; they stay as they are."""
        return [*with_notes(items, self._notes, editable=not self._is_delta), *self._sending]

    def judge(self, said: Sequence[object]) -> Judged:
        """Judge all calls of a reply, in their order, before any of them runs."""
        self._said = self._spoken = said
        self.calls, self._refused = [], {}
        refused: list[tuple[Call, Verdict]] = []
        for item in said:
            call = call_in(item)
            if call is None:
                continue
            if is_hosted(item):
                verdict = judge_hosted(self.run, call, item)
                self.tell(verdict)
            else:
                call = self._numbered(call)
                self.calls.append(call)
                verdict = self.run.check_call(call.name, call.arguments, call.key)
                if verdict.action >= Action.BLOCK:
                    refused.append((call, verdict))
                    self._refused[call.key] = verdict
            if verdict.action is Action.HALT:
                self.halt = verdict, call
                return Judged(tuple(refused), verdict)
        return Judged(tuple(refused))

    def tell(self, verdict: Verdict) -> None:
        """Tell the model of *verdict* with its next input."""
        if verdict.guidance and verdict.action is not Action.HALT:
            self.send_later(user_note(verdict.guidance))

    def send_later(self, *items: TResponseInputItem) -> None:
        """Send *items* behind the next input, stored nowhere."""
        self._pending += items

    def refusal(self, call: Call, approved: Approved) -> tuple[Verdict, str] | None:
        """Return why *call* must not run, and what the model reads in its place; None if it may.

        Args:
            call: A call that is about to run.
            approved: Says whether a person allowed it.
        """
        if self.halt is not None:
            verdict, halting = self.halt
            own = halting is not None and halting.call_id == call.call_id
            return verdict, verdict.guidance if own else unexecuted_text(verdict)
        verdict = self.verdict_on(call)
        if verdict.action is Action.BLOCK and self.guard.policy.on_block == "ask":
            if approved(call):
                self.run.allow_call(call.name, call.arguments)
                self.run.check_call(call.name, call.arguments, call.key)
                self._refused.pop(call.key, None)
            return None  # a person is asked, or was
        return (verdict, verdict.guidance) if verdict.action >= Action.BLOCK else None

    def verdict_on(self, call: Call) -> Verdict:
        """Return the verdict on a call that is about to run; most were judged with their reply."""
        if call in self.calls:
            return self._refused.get(call.key, _ALLOWED)
        return self.run.check_call(call.name, call.arguments, call.key)

    def _numbered(self, call: Call) -> Call:
        """Return *call* with how often its id was sent before."""
        again = self._sent_ids[call.call_id]
        self._sent_ids[call.call_id] += 1
        return replace(call, again=again) if again and call.call_id else call

    def _note(self, verdict: Verdict, call_id: str | None = None) -> None:
        if verdict.guidance and verdict.action is not Action.HALT:
            self._notes.append((verdict.guidance, call_id))

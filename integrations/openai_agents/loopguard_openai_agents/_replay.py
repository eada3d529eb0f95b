"""A run's state, rebuilt from the items of its present turn.

The guard's verdicts depend on nothing but what happened, so reading the turn again gives the run
as it stands, whichever process made the calls before. A run that is resumed has nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from loopguard_core import Action
from loopguard_core.guard.handoffs import handoff_result, said_with_handoff

from ._convert import NeutralThread
from ._items import Call, call_in, field, hosted_result, is_hosted, is_output, kind, text_said
from ._returned import Returned

if TYPE_CHECKING:
    from loopguard_core import GuardedRun, LoopGuard, Verdict

__all__ = ["Approved", "Batch", "judge_hosted", "newest_batch", "rebuilt"]

# What the SDK answers a hand-off with (openai-agents 0.24).
_HANDED_OVER: Final = re.compile(r'\{"assistant": "')

Approved: TypeAlias = Callable[[Call], bool]
"""Says whether a person allowed a call."""


class Batch:
    """The calls of one reply that ran on this side, and the answers they got.

    Args:
        calls: The calls, in their order.
        answers: Output items, theirs among them.
        returned: What tools returned, which the answers may no longer say.
        said: The mark of what was said with the calls; see `said_with_handoff`.
        lost: True if neither calls nor answers are in the thread, as after a hand-off whose
            filter took them out.
    """

    def __init__(
        self,
        calls: Sequence[Call],
        answers: Sequence[object],
        returned: Returned,
        *,
        said: str = "",
        lost: bool = False,
    ) -> None:
        self._calls = calls
        self._answers = {field(item, "call_id"): item for item in answers}
        self._returned = returned
        self._said = said
        self._lost = lost

    def results(self) -> list[tuple[Call, object]]:
        """Return the calls that were answered, in their own order, and their results."""
        return [answered for call in self._calls for answered in self._answered(call)]

    def _answered(self, call: Call) -> list[tuple[Call, object]]:
        """Return *call* and its result; nothing if it was not answered.

        A lost call was answered too. One that is alone and that no tool answered is the hand-off,
        which always answers the same; what was beside it is taken for something new.
        """
        item = self._answers.get(call.call_id)
        if item is not None or self._returned.has(call.call_id):
            result = self._returned.of(call.call_id, item)
            is_handoff = _HANDED_OVER.match(result) if isinstance(result, str) else None
            return [(call, handoff_result(result, self._said) if is_handoff else result)]
        if not self._lost:
            return []
        alone = len(self._calls) == 1
        return [(call, handoff_result(call.name, self._said) if alone else call.key)]


def newest_batch(
    items: Sequence[object], calls: Sequence[Call], returned: Returned, said: str
) -> tuple[Batch, bool]:
    """Find the answers to *calls*, the newest ones made, at the end of *items*.

    Returns:
        The batch, and whether *items* lacks the calls themselves: then it is not the thread
        but what is new in it, because the server keeps the rest.
    """
    open_ids = {call.call_id for call in calls}
    answers: list[object] = []
    for item in reversed(items):
        if is_output(item):
            answers.append(item)
        elif field(item, "call_id") in open_ids:
            return Batch(calls, answers, returned, said=said), False
    answered = [item for item in answers if field(item, "call_id") in open_ids]
    batch = Batch(calls, answered, returned, said=said, lost=not answered)
    return batch, bool(answered)


def rebuilt(
    guard: LoopGuard, items: Sequence[object], approved: Approved
) -> tuple[GuardedRun, list[Call]]:
    """Build the run whose thread is *items*.

    Args:
        guard: Its listeners hear nothing: they heard of it when it happened.
        items: The thread; what came since a person last spoke is lived through again.
        approved: Lets a blocked call pass that ran because a person allowed it.

    Returns:
        The run, and the calls of the newest reply, whose results it has not seen yet.
    """
    here = _present_turn(items)
    run = guard.model_copy(update={"listeners": ()}).start_run()
    run.begin_turn(NeutralThread(items, stop=max(here - 1, 0)))
    calls = _Lived(run, items, approved).through(here)
    return guard.resume(run.snapshot()), calls


class _Lived:
    """Lives through a turn, batch by batch."""

    def __init__(self, run: GuardedRun, items: Sequence[object], approved: Approved) -> None:
        self._run = run
        self._items = items
        self._approved = approved

    def through(self, position: int) -> list[Call]:
        """Take all that happened from *position* on; return the newest calls."""
        calls: list[Call] = []
        said = ""
        while position < len(self._items):
            stop = self._end(position, outputs=False)
            end = self._end(stop, outputs=True)
            if stop > position:
                said = said_with_handoff(text_said(self._items[position:stop]))
                self._run.check_thread(NeutralThread(self._items, stop=position))
                calls = self._asked(position, stop)
            if end < len(self._items):
                answers = self._items[stop:end]
                for call, result in Batch(calls, answers, Returned(), said=said).results():
                    self._run.observe_result(
                        call.name, call.arguments, result, call_id=call.call_id
                    )
            position = max(end, position + 1)
        return calls

    def _asked(self, start: int, stop: int) -> list[Call]:
        calls = []
        for item in self._items[start:stop]:
            call = call_in(item)
            if call is None:
                continue
            if is_hosted(item):
                judge_hosted(self._run, call, item)
                continue
            calls.append(call)
            verdict = self._run.check_call(call.name, call.arguments, call.call_id)
            if verdict.action is Action.BLOCK and self._approved(call):
                self._run.allow_call(call.name, call.arguments)
                self._run.check_call(call.name, call.arguments, call.call_id)
        return calls

    def _end(self, position: int, *, outputs: bool) -> int:
        while position < len(self._items) and is_output(self._items[position]) == outputs:
            position += 1
        return position


def judge_hosted(run: GuardedRun, call: Call, item: object) -> Verdict:
    """Take a call that the provider executed within a reply; return the stronger verdict."""
    verdict = run.check_call(call.name, call.arguments, call.call_id)
    if verdict.action >= Action.BLOCK:
        return verdict  # it ran all the same, which nobody here can prevent
    result, is_error = hosted_result(item) or (None, False)
    return run.observe_result(
        call.name, call.arguments, result, call_id=call.call_id, is_error=is_error
    )


def _present_turn(items: Sequence[object]) -> int:
    """Return where what came after the newest message of a person begins."""
    for position in range(len(items) - 1, -1, -1):
        if kind(items[position]) == "message" and field(items[position], "role") == "user":
            return position + 1
    return 0

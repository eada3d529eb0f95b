"""The run that a tool call belongs to, rebuilt from the messages of a graph's state.

The guard's verdicts depend on nothing but what happened, so replaying the present turn gives the
run as it stands, whichever process made the calls before.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langgraph.errors import GraphBubbleUp

from loopguard_core import Action, GuardedRun, LoopGuard, Message, Verdict
from loopguard_core.guard.guidance import append_guidance, nudge_text
from loopguard_core.message import Activity, activity_of

from ._convert import NeutralThread
from ._results import outcome_of, with_note

__all__ = ["CallUnderway", "RunSource"]


@dataclass(slots=True)
class CallUnderway:
    """One call of a guarded tool, from its verdict to its result."""

    name: str
    arguments: object
    call_id: str | None
    run: GuardedRun
    lock: threading.Lock = field(default_factory=threading.Lock)
    verdict: Verdict = field(init=False)

    def __post_init__(self) -> None:
        with self.lock:
            self.verdict = self.run.check_call(self.name, self.arguments, self.call_id)

    @property
    def is_blocked(self) -> bool:
        """True if the call must not be executed."""
        return self.verdict.action >= Action.BLOCK

    def refusal(self) -> ToolMessage | str:
        """Return the result of a blocked call."""
        said = self.verdict.guidance
        if self.call_id is None:
            return said
        return ToolMessage(said, name=self.name, tool_call_id=self.call_id, status="error")

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Take note of a failure of the tool, which goes on to whoever called it."""
        try:
            yield
        except GraphBubbleUp:  # an interrupt: the call runs again when it is answered
            raise
        except Exception as error:  # of the tool, which may raise anything; it goes on
            self._observe(error, True)
            raise

    def answered(self, output: Any) -> Any:  # noqa: ANN401 - a tool may return anything
        """Take note of the result, and return it with what there is to say about it."""
        verdict = self._observe(*outcome_of(output, self.call_id))
        note = verdict.guidance
        if verdict.action is Action.HALT:  # a tool cannot end the run, so the model is told
            note = nudge_text(verdict.findings)
        if not note:
            return output
        if isinstance(output, str):
            return append_guidance(output, note)
        if isinstance(output, ToolMessage):
            return output.model_copy(update={"content": with_note(output.content, note)})
        return output

    def _observe(self, result: object, is_error: bool) -> Verdict:
        with self.lock:
            return self.run.observe_result(
                self.name, self.arguments, result, call_id=self.call_id, is_error=is_error
            )


class RunSource:
    """Finds the run of a call: in the messages of a state, or the one run that goes without."""

    def __init__(self, guard: LoopGuard, messages_key: str) -> None:
        self._guard = guard
        # Listeners heard of the past when it happened.
        self._past = guard.model_copy(update={"listeners": ()})
        self._messages_key = messages_key
        self._shared = guard.start_run()
        self._lock = threading.Lock()

    def open(
        self, name: str, arguments: object, call_id: str | None, state: object
    ) -> CallUnderway:
        """Judge a call.

        Args:
            name: The tool.
            arguments: What the tool was given.
            call_id: The provider's id; None where there is none.
            state: The graph's state; None without a graph.
        """
        messages = _messages(state, self._messages_key)
        if messages is None:
            return CallUnderway(name, arguments, call_id, self._shared, self._lock)
        happened = _activities(_present_turn(messages))
        here = _position(happened, call_id)
        run = self._past.start_run()
        for part, activity in happened[:here]:
            _relive(run, part, activity)
        if here < len(happened):
            arguments = happened[here][1].arguments  # without what a graph injects
        return CallUnderway(name, arguments, call_id, self._guard.resume(run.snapshot()))


def _messages(state: object, key: str) -> list[BaseMessage] | None:
    if isinstance(state, Mapping):
        state = state.get(key)
    elif not isinstance(state, list):
        state = getattr(state, key, None)
    if not isinstance(state, Sequence):
        return None
    return [message for message in state if isinstance(message, BaseMessage)]


def _present_turn(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """Return what came since a person last spoke; what was before is no evidence any more."""
    for position in range(len(messages) - 1, -1, -1):
        if isinstance(messages[position], HumanMessage):
            return messages[position + 1 :]
    return messages


def _activities(messages: Sequence[BaseMessage]) -> list[tuple[Message, Activity]]:
    """Return the calls and results of *messages* that a tool here had to do with."""
    return [
        (part, activity)
        for part in NeutralThread(messages)
        if (activity := activity_of(part)) is not None and "hosted" not in part
    ]


def _position(happened: Sequence[tuple[Message, Activity]], call_id: str | None) -> int:
    """Return where the newest call with *call_id* stands; the end if it is not there."""
    for position in range(len(happened) - 1, -1, -1):
        part, activity = happened[position]
        if call_id is not None and activity.type == "request" and part.get("call_id") == call_id:
            return position
    return len(happened)


def _relive(run: GuardedRun, part: Message, activity: Activity) -> None:
    call_id = part.get("call_id")
    known_id = call_id if isinstance(call_id, str) else None
    if activity.type == "request":
        run.check_call(activity.name, activity.arguments, known_id)
    else:
        run.observe_result(
            activity.name,
            activity.arguments,
            activity.result,
            call_id=known_id,
            is_error="is_error" in part,
        )

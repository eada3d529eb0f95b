"""A guard that writes down what it is asked and answers by a script, and saved runs to ask about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from loopguard_core.guard import Action, Finding, LoopGuard, Verdict
from loopguard_core.transcripts import SavedRun, read_row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def verdict(
    action: Action, detector: str = "d", *, count: int = 1, evidence: tuple[str, ...] = ()
) -> Verdict:
    """Make a verdict with one finding."""
    return Verdict(action, (Finding(detector, "warn", count, f"{detector} seen", evidence),))


class ScriptedGuard:
    """Stands in for `LoopGuard`: one run, whose every question is an event.

    Events are short lines such as `call search`; *script* gives the verdicts on some of them. An
    event can be qualified by its number, counted from 1: `call search 2` is the second one.
    """

    def __init__(self, script: Mapping[str, Verdict] | None = None) -> None:
        self.events: list[str] = []
        self._script = script or {}

    def as_guard(self) -> LoopGuard:
        """Pretend to be a guard."""
        return cast("LoopGuard", self)

    def start_run(self, run_id: str | None = None) -> ScriptedGuard:
        """Be the run, too."""
        del run_id
        return self

    def begin_turn(self, history: Sequence[Mapping[str, object]] = ()) -> None:
        """Write down how long the thread before it is."""
        self._answer(f"turn {len(history)}")

    def check_thread(self, messages: Sequence[Mapping[str, object]]) -> Verdict:
        """Write down how long the thread is."""
        return self._answer(f"thread {len(messages)}")

    def check_call(self, name: str, arguments: object, call_id: str | None = None) -> Verdict:
        """Write down the name."""
        assert arguments == {}
        assert call_id
        return self._answer(f"call {name}")

    def observe_result(
        self, name: str, arguments: object, result: object, *, call_id: str | None = None
    ) -> Verdict:
        """Write down the name and the result."""
        assert arguments == {}
        assert call_id
        return self._answer(f"result {name} {result}")

    def watch_reply(self, history: Sequence[Mapping[str, object]] = ()) -> ScriptedGuard:
        """Be the reply, too."""
        del history
        return self

    def feed(self, text: str, channel: str = "content") -> Verdict:
        """Write down the piece."""
        return self._answer(f"{channel} {text}")

    def feed_call(self, name: str, arguments: object) -> Verdict:
        """Say nothing: each call is checked, and written down, anyway."""
        del name, arguments
        return Verdict()

    def reply_cut(self) -> Verdict:
        """Write it down."""
        return self._answer("cut")

    def reply_done(self) -> None:
        """Write it down."""
        self._answer("done")

    def _answer(self, event: str) -> Verdict:
        self.events.append(event)
        numbered = f"{event} {self.events.count(event)}"
        return self._script.get(numbered) or self._script.get(event) or Verdict()


def user(text: str = "go") -> dict[str, Any]:
    """Write a person's message."""
    return {"role": "user", "content": text}


def bot(text: str, **more: object) -> dict[str, Any]:
    """Write an assistant message without calls."""
    return {"role": "assistant", "content": text, **more}


def call(name: str) -> dict[str, Any]:
    """Write one call; its id is its name."""
    return {"id": name, "function": {"name": name, "arguments": "{}"}}


def calls(*names: str, text: str | None = None) -> dict[str, Any]:
    """Write an assistant message that calls tools."""
    return {"role": "assistant", "content": text, "tool_calls": [call(name) for name in names]}


def result(name: str, content: str = "ok") -> dict[str, Any]:
    """Write the answer to the call with that name."""
    return {"role": "tool", "tool_call_id": name, "content": content}


def run_of(*messages: dict[str, Any]) -> SavedRun:
    """Read a run with the id `r`."""
    saved = read_row({"id": "r", "messages": list(messages)}, source="s", line=1)
    assert isinstance(saved, SavedRun)
    return saved

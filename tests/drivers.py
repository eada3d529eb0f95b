"""Drivers run a scenario: one for the core, one for each framework in each of its modes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Protocol

from loopguard_core import (
    Action,
    GuardedRun,
    LoopGuard,
    Message,
    Verdict,
    VerdictEvent,
)

from .scenarios import Outcome, Scenario, Step, Tool, ToolFailed

PIECE_CHARS = 4
MAX_STEPS = 60
"""More model calls than any row needs: a run that makes them ran away."""


@dataclass
class Report:
    """What a driver saw: the outcome, and every verdict with findings, for comparing drivers."""

    outcome: Outcome
    verdicts: list[tuple[str, str | None, Verdict]]


class Driver(Protocol):
    """Runs scenarios one way."""

    name: str

    def run(self, scenario: Scenario) -> Report:
        """Run *scenario* and report what a user could see."""
        ...


@dataclass
class World:
    """The tools of a scenario, and how often each of them ran."""

    tools: Mapping[str, Tool]
    ran: Counter[str] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def run(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Run a tool; raises `ToolFailed` where the tool fails."""
        with self._lock:
            tool, before = self.tools[name], self.ran[name]
            self.ran[name] += 1
            return tool(arguments, before)

    @property
    def executed(self) -> int:
        """How often tools ran, all together."""
        return sum(self.ran.values())


@dataclass
class Ear:
    """A listener that keeps what it hears."""

    events: list[VerdictEvent] = field(default_factory=list)

    def __call__(self, event: VerdictEvent) -> None:
        """Keep *event*."""
        self.events.append(event)

    def on(self, guard: LoopGuard) -> LoopGuard:
        """Return *guard* with this listener."""
        return guard.model_copy(update={"listeners": (*guard.listeners, self)})

    @property
    def cuts(self) -> int:
        """How many replies were to be cut."""
        return sum(
            event.kind == "reply" and bool(event.name) and event.verdict.action is Action.HALT
            for event in self.events
        )

    @property
    def first(self) -> str | None:
        """The first detector that found something."""
        return self.events[0].verdict.reason if self.events else None

    @property
    def verdicts(self) -> list[tuple[str, str | None, Verdict]]:
        """Kind, subject and verdict of each event, findings in full."""
        return [(e.kind, e.name, e.verdict) for e in self.events]


class Ended(Exception):  # noqa: N818 - control flow of the core driver
    """The guard ended the run."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict


class CoreDriver:
    """Plays a host that has no framework: the shortest loop that uses the whole guard."""

    name = "core"

    def run(self, scenario: Scenario) -> Report:
        """Run *scenario* on a bare `GuardedRun`."""
        ear, world = Ear(), World(scenario.tools)
        host = _Host(ear.on(scenario.guard), world)
        end, detector = "done", ear.first
        for turn in scenario.turns:
            steps = list(turn.steps)
            try:
                host.turn(turn.person, steps, forever=turn.forever)
            except Ended as ended:
                end, detector = scenario.guard.policy.on_halt, ended.verdict.reason
        detector = detector or ear.first
        outcome = Outcome(world.executed, host.blocked, host.nudges, ear.cuts, end, detector)
        return Report(outcome, ear.verdicts)


class _Host:
    def __init__(self, guard: LoopGuard, world: World) -> None:
        self._run: GuardedRun = guard.start_run()
        self._world = world
        self._thread: list[Message] = []
        self._ids = 0
        self.blocked = 0
        self.nudges = 0

    def turn(self, person: str, steps: list[Step], *, forever: bool) -> None:
        self._run.begin_turn()
        self._thread.append(Message.user(person))
        retried = False
        for number in range(MAX_STEPS):
            if number >= len(steps) and not forever:
                return
            if not retried:
                self._tell(self._run.check_thread(self._thread))
            step = steps[min(number, len(steps) - 1)]
            retried = not self._says(step)
            if retried:
                continue
            if not step.calls:
                return
            self._calls(step)
        raise AssertionError("the run ran away")

    def _tell(self, verdict: Verdict) -> None:
        if verdict.action is Action.HALT:
            raise Ended(verdict)
        self.nudges += bool(verdict.guidance)

    def _says(self, step: Step) -> bool:
        """Stream the reply; return False if it was cut and the model is to try again."""
        watch = self._run.watch_reply(self._thread)
        for channel, text in (("reasoning", step.reasoning), ("content", step.text)):
            for start in range(0, len(text), PIECE_CHARS):
                if watch.feed(text[start : start + PIECE_CHARS], channel).action is Action.HALT:
                    kept = text[: start + PIECE_CHARS][: watch.keep_chars]
                    if channel == "content" and kept.strip():
                        self._thread.append(Message.bot(kept))
                    verdict = self._run.reply_cut()
                    if verdict.action is Action.HALT:
                        raise Ended(verdict)
                    return False
        self._run.reply_done()
        self._thread += [Message.reasoning(step.reasoning)] if step.reasoning else []
        self._thread += [Message.bot(step.text)] if step.text or not step.calls else []
        return True

    def _calls(self, step: Step) -> None:
        calls = [(f"c{self._ids + i}", *call) for i, call in enumerate(step.calls)]
        self._ids += len(calls)
        self._thread += [Message.tool_request(name, args, key) for key, name, args in calls]
        verdicts = [self._run.check_call(name, args, key) for key, name, args in calls]
        for verdict in verdicts:
            if verdict.action is Action.HALT:
                raise Ended(verdict)
        for (key, name, args), verdict in zip(calls, verdicts, strict=True):
            if verdict.action is Action.BLOCK:
                self.blocked += 1
                answer = Message.tool_response(name, args, verdict.guidance, key, is_error=True)
                self._thread.append(answer)
        ran = [
            (*call, *self._execute(*call[1:]))
            for call, verdict in zip(calls, verdicts, strict=True)
            if verdict.action < Action.BLOCK
        ]
        for key, name, args, result, failed in ran:
            self._thread.append(Message.tool_response(name, args, result, key, is_error=failed))
        for key, name, args, result, failed in ran:
            self._tell(self._run.observe_result(name, args, result, call_id=key, is_error=failed))

    def _execute(self, name: str, args: Mapping[str, Any]) -> tuple[str, bool]:
        try:
            return self._world.run(name, args), False
        except ToolFailed as error:
            return str(error), True
        except KeyError:
            return f"There is no tool {name}.", True

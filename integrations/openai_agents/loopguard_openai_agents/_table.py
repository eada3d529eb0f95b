"""Which guarded run something belongs to: the SDK's usage object is what a run is known by.

Hooks, guardrails and tools of one run share it, and no other run does. It is held weakly, so what
is kept of a run goes with it.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from agents.tool_context import ToolContext

from ._live import LiveRun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents import RunContextWrapper, Usage

    from loopguard_core import LoopGuard

__all__ = ["RunTable"]


class RunTable:
    """The runs that are under way, of any number of agents.

    Args:
        guard: What starts a guarded run.
    """

    def __init__(self, guard: LoopGuard) -> None:
        self.guard = guard
        # By the id of the usage object, which can neither be hashed nor changed.
        self._runs: dict[int, list[LiveRun]] = {}

    def __len__(self) -> int:
        return len(self._runs)

    def of(self, context: RunContextWrapper[Any]) -> LiveRun:
        """Return the run that a hook is called for; an agent that is used as a tool has its own."""
        scope = context.tool_call_id if isinstance(context, ToolContext) else None
        runs = self._under(context.usage)
        return next((run for run in runs if run.scope == scope), None) or self._start(runs, scope)

    def calling(self, context: RunContextWrapper[Any], call_id: str) -> LiveRun:
        """Return the run whose model made the call *call_id*; the outermost one if none did."""
        runs = self._under(context.usage)
        made = (run for run in runs if any(call.call_id == call_id for call in run.calls))
        outermost = (run for run in runs if run.scope is None)
        return next(made, None) or next(outermost, None) or self._start(runs, None)

    def shown(self, items: Sequence[object]) -> LiveRun | None:
        """Return the run whose model is being shown the very list *items*; None if none is."""
        for runs in list(self._runs.values()):
            for run in runs:
                if run.shown is items:
                    return run
        return None

    def _under(self, usage: Usage) -> list[LiveRun]:
        runs = self._runs.get(id(usage))
        if runs is None:
            runs = self._runs[id(usage)] = []
            weakref.finalize(usage, self._runs.pop, id(usage), None).atexit = False
        return runs

    def _start(self, runs: list[LiveRun], scope: str | None) -> LiveRun:
        run = LiveRun(self.guard, scope)
        runs.append(run)
        return run

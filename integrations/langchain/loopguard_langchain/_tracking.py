"""Which guarded run an event belongs to.

LangChain tells a handler of runs within runs. The outermost one that the handler sees is the run
that is guarded; everything below shares its `LiveRun`, and it is forgotten with it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import BaseCallbackHandler
from typing_extensions import override

from ._live import LiveRun

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from loopguard_core import LoopGuard

__all__ = ["LiveRuns", "RunTracker"]


class LiveRuns:
    """Finds the guarded run that a LangChain run belongs to; safe to use from many threads."""

    def __init__(self, guard: LoopGuard) -> None:
        self._guard = guard
        self._lock = threading.Lock()
        self._live: dict[UUID, LiveRun] = {}

    def __len__(self) -> int:
        return len(self._live)

    def enter(self, run_id: UUID, parent_run_id: UUID | None) -> LiveRun:
        """Return the guarded run of *run_id*, which starts; a new one if its parent is unknown."""
        with self._lock:
            live = self._live.get(parent_run_id) if parent_run_id else None
            if live is None:
                live = LiveRun(run_id, self._guard.start_run(str(run_id)))
            self._live[run_id] = live
            return live

    def get(self, run_id: UUID) -> LiveRun | None:
        """Return the guarded run that *run_id* belongs to, or None if it is over."""
        return self._live.get(run_id)

    def leave(self, run_id: UUID) -> LiveRun | None:
        """Forget *run_id*, which ended; with the outermost run everything below it goes too.

        Not every run that starts reports its end: one that a handler refuses to start does not.
        """
        with self._lock:
            live = self._live.pop(run_id, None)
            if live is not None and live.root == run_id:
                self._live = {key: other for key, other in self._live.items() if other is not live}
            return live


class RunTracker(BaseCallbackHandler):
    """Follows chains, retrievers and plain completions, in which nothing is judged.

    Args:
        guard: What starts a guarded run.
    """

    def __init__(self, guard: LoopGuard) -> None:
        self._runs = LiveRuns(guard)

    @override
    def on_chain_start(
        self,
        serialized: dict[str, Any],
        inputs: dict[str, Any],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        self._runs.enter(run_id, parent_run_id)

    @override
    def on_chain_end(self, outputs: dict[str, Any], *, run_id: UUID, **kwargs: Any) -> None:
        self._runs.leave(run_id)

    @override
    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._runs.leave(run_id)

    @override
    def on_retriever_start(
        self,
        serialized: dict[str, Any],
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        self._runs.enter(run_id, parent_run_id)

    @override
    def on_retriever_end(self, documents: Sequence[Any], *, run_id: UUID, **kwargs: Any) -> None:
        self._runs.leave(run_id)

    @override
    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._runs.leave(run_id)

    @override
    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: list[str],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        self._runs.enter(run_id, parent_run_id)

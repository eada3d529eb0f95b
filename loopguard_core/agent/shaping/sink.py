"""What a turn and the builds of its requests tell each other: folds, and what else is sent.

Source: agent specification, section 5 ("Sink"). A turn wants to know of the folds of its own
builds, and only of these; a context variable belongs to the turn's task.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from loopguard_core.agent.entries import CompactionInfo

__all__ = ["beside_texts", "report_compaction", "reporting_compactions", "sending_beside"]

_SINK: Final[ContextVar[Callable[[CompactionInfo], None] | None]] = ContextVar(
    "loopguard_compactions", default=None
)


_BESIDE: Final[ContextVar[Sequence[str]]] = ContextVar("loopguard_beside", default=())


@contextmanager
def sending_beside(texts: Sequence[str]) -> Iterator[None]:
    """Have builds within the block know what a request holds beside messages, such as tools."""
    token = _BESIDE.set(texts)
    try:
        yield
    finally:
        _BESIDE.reset(token)


def beside_texts() -> Sequence[str]:
    """Return what the request that is built in this task holds beside messages."""
    return _BESIDE.get()


@contextmanager
def reporting_compactions(sink: Callable[[CompactionInfo], None]) -> Iterator[None]:
    """Have *sink* called for each fold that a build makes within the block."""
    token = _SINK.set(sink)
    try:
        yield
    finally:
        _SINK.reset(token)


def report_compaction(info: CompactionInfo) -> None:
    """Tell the sink of this task, if there is one."""
    sink = _SINK.get()
    if sink is not None:
        sink(info)

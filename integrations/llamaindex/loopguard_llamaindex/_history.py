"""A history that is read again and again while it grows: what is old is not read anew."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from llama_index.core.llms import MessageRole

from ._convert import NeutralThread

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.llms import ChatMessage

    from loopguard_core import LoopGuard, Verdict

__all__ = ["HistoryReading"]


class HistoryReading:
    """The neutral views of one history, and the run that judges it.

    It is shared by the copies that `edit_state` makes of a memory, as other live handles are.

    Args:
        guard: Starts the run.

    Attributes:
        is_folding: True while a reading folds the history.
    """

    def __init__(self, guard: LoopGuard) -> None:
        self._run = guard.start_run()
        self._told: set[str] = set()
        self.is_folding = False
        self.forget()

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def forget(self) -> None:
        """Forget the views, after the history was replaced."""
        self._compared = NeutralThread(())
        self._sent = NeutralThread((), as_sent=True)

    def compacted(self, messages: Sequence[ChatMessage]) -> None:
        """Take note that the history is *messages* now, of which a summary stands for a part."""
        self.forget()
        self._compared.extend(messages)
        self._run.context_compacted()

    @contextmanager
    def folding(self) -> Iterator[None]:
        """Mark that one reading folds the history; others at the same time do not."""
        self.is_folding = True
        try:
            yield
        finally:
            self.is_folding = False

    def tells_once(self, what: str) -> bool:
        """Return True if this was not told yet."""
        is_new = what not in self._told
        self._told.add(what)
        return is_new

    def as_sent(self, messages: Sequence[ChatMessage]) -> NeutralThread:
        """Return *messages* as they are priced."""
        self._sent, _ = _grown(self._sent, messages)
        return self._sent

    def judge(self, messages: Sequence[ChatMessage]) -> Verdict:
        """Judge *messages*, in which a message of a person begins a turn."""
        self._compared, start = _grown(self._compared, messages)
        if any(message.role == MessageRole.USER for message in messages[start:]):
            self._run.begin_turn()
        return self._run.check_thread(self._compared)


def _grown(view: NeutralThread, messages: Sequence[ChatMessage]) -> tuple[NeutralThread, int]:
    """Return the view of *messages*, and the index of the first one that was not in *view*."""
    known = view.natives
    size = len(known)
    if size <= len(messages) and all(known[i] is messages[i] for i in _samples(size)):
        view.extend(messages[size:])
        return view, size
    return NeutralThread(messages, as_sent=view.as_sent), 0


def _samples(size: int) -> Sequence[int]:
    """Return where a history that only grew must hold the same objects as before."""
    return (0, size // 2, size - 1) if size else ()

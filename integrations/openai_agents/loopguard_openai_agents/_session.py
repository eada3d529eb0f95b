"""`TrimmedSession`: any session of the SDK, read within a token budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from ._items import kind
from ._trim import InputTrimmer
from ._wrapped_session import WrappedSession

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agents import Session, TResponseInputItem

    from loopguard_core.thread import TrimPlan
    from loopguard_core.tokens import Estimator

__all__ = ["TrimmedSession"]


class TrimmedSession(WrappedSession):
    """A session whose history fits a budget when it is read; what is stored stays whole.

        session = TrimmedSession(SQLiteSession("user-1"), max_tokens=8_000)
        result = await Runner.run(agent, "...", session=session)

    The oldest exchanges are left out: a reply goes with its calls, their results, and the
    reasoning in front of them. System messages at the head, the newest compaction (it stands for
    all that was said before it, older ones included), pinned items, the newest exchange, and if
    possible the newest message of a person stay. Everything else that
    *session* can do, this one can do. The new input of a run is not part of the history, nor of
    the budget. A conversation that the server keeps has no session, so nothing of it is rewritten.

    Args:
        session: Where the history is stored.
        max_tokens: The budget for the history, at least 1.
        estimate: Names the tokens of a message; None counts with tiktoken where its vocabulary
            is on the machine, else by characters.
        pinned: Says of an item whether it must stay.

    Raises:
        pydantic.ValidationError: *max_tokens* cannot be used.
        InvalidInputError: *session* is none, or *estimate* or *pinned* cannot be called.
    """

    def __init__(
        self,
        session: Session,
        *,
        max_tokens: int,
        estimate: Estimator | None = None,
        pinned: Callable[[TResponseInputItem], bool] | None = None,
    ) -> None:
        super().__init__(session)
        self._trimmer = InputTrimmer(max_tokens=max_tokens, estimate=estimate, pinned=pinned)

    @override
    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the newest items that fit, at most *limit* of them before trimming."""
        items = await self._session.get_items(limit)
        return self._trimmer.fitting(items, kept=_newest_compaction(items))

    async def plan(self) -> TrimPlan:
        """Say what reading would keep, and at what price; positions are those of the items."""
        items = await self._session.get_items()
        return self._trimmer.plan(items, kept=_newest_compaction(items))


def _newest_compaction(items: Sequence[TResponseInputItem]) -> tuple[int, ...]:
    """Return where the newest compaction stands; behind people's messages as often as first."""
    for position in range(len(items) - 1, -1, -1):
        if kind(items[position]) == "compaction":
            return (position,)
    return ()

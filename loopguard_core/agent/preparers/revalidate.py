"""Notices whose reason is gone are taken away before the model sees them.

Source: agent specification, section 13.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard_core.errors import checked_callable, checked_methods

if TYPE_CHECKING:
    from collections.abc import Callable

    from loopguard_core.agent.notices import NoticeKey

    from .protocol import RevalidateStore, Revalidator

__all__ = ["MCPPreparer", "is_resolved_truth"]

_RESOLVED: Final = frozenset({"", "null", "{}", "[]", '""'})


def is_resolved_truth(answer: str) -> bool:
    """Say whether a tool's answer means that there is nothing left to report.

    That is no text, `null`, `{}`, `[]` or `""`, with white space around it or not. `false`, `0`
    and `{ }` are answers.
    """
    return answer.strip() in _RESOLVED


class MCPPreparer:
    """A preparer that asks about each pending notice, and clears those that are resolved.

    A notice stays if nobody can be asked or asking fails: a stale notice does less harm than a
    lost one. What listing and clearing raise is raised.

    Args:
        store: Knows the pending notices.
        revalidator: Asks, one notice after the other.
        on_error: Told of each notice that could not be asked about, and why.
    """

    def __init__(
        self,
        store: RevalidateStore,
        revalidator: Revalidator,
        *,
        on_error: Callable[[NoticeKey, Exception], None] | None = None,
    ) -> None:
        checked_methods("store", store, "a RevalidateStore", "pending_notices", "clear_notice")
        checked_methods("revalidator", revalidator, "a Revalidator", "truth")
        checked_callable("on_error", on_error, optional=True)
        self._store = store
        self._revalidator = revalidator
        self._on_error = on_error

    async def __call__(self, session_id: str) -> None:
        """Look at every pending notice of one session."""
        for notice in await self._store.pending_notices(session_id):
            if await self._is_resolved(notice):
                await self._store.clear_notice(session_id, notice)

    async def _is_resolved(self, notice: NoticeKey) -> bool:
        try:
            truth = await self._revalidator.truth(notice)
        except Exception as error:  # noqa: BLE001 - a tool may fail in any way; the notice stays
            if self._on_error is not None:
                self._on_error(notice, error)
            return False
        return truth is not None and is_resolved_truth(truth)

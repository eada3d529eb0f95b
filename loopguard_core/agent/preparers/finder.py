"""Documents that fit what is spoken of are pointed out, each once.

Source: agent specification, section 13.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from loopguard_core.agent.notices import notice
from loopguard_core.errors import checked, checked_callable, checked_methods

from .options import FinderOptions
from .pointer import pointer_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from loopguard_core.agent.entries import Entry
    from loopguard_core.agent.store import Store

    from .protocol import DocFinder, DocHit

__all__ = ["FinderPreparer"]


@dataclass(slots=True)
class _Told:
    """What one session was searched for and told.

    Args:
        searched: Ids of entries in its context that were searched for.
        documents: Ids of documents that were pointed out.
        until: The time of the newest entry that was searched for.
    """

    searched: set[str] = field(default_factory=set)
    documents: set[str] = field(default_factory=set)
    until: int = 0


class FinderPreparer:
    """A preparer that searches documents for what is new, and adds a notice for each good hit.

    A document is pointed out once in a session. A search that fails or takes too long tells
    nothing, and the same texts are searched for before the next model call. What the store
    raises is raised. Entries are known by their ids; one that came later and is older than what
    was searched for before is passed over unless `FinderOptions.back_dated` (quirk Q28).

    One preparer serves many sessions, with a small state for each: `forget` those that ended.

    Args:
        store: Has the entries, and gets the notices.
        finder: Searches.
        options: What counts as a good hit; None equals the defaults.
        render: Writes the text of a notice.
        now: The session's clock, in nanoseconds; dates the notices.
        on_error: Told of each search that failed, with the session's id.
    """

    def __init__(  # noqa: PLR0913 - keyword-only, each with its own default
        self,
        store: Store,
        finder: DocFinder,
        *,
        options: FinderOptions | None = None,
        render: Callable[[DocHit], str] = pointer_text,
        now: Callable[[], int] = time.time_ns,
        on_error: Callable[[str, Exception], None] | None = None,
    ) -> None:
        checked_methods("store", store, "a Store", "context", "append")
        checked_methods("finder", finder, "a DocFinder", "find")
        checked_callable("render", render)
        checked_callable("now", now)
        checked_callable("on_error", on_error, optional=True)
        self._store = store
        self._finder = finder
        self._options = checked("options", options, FinderOptions)
        self._render = render
        self._now = now
        self._on_error = on_error
        self._told: dict[str, _Told] = {}

    async def __call__(self, session_id: str) -> None:
        """Search for what one session has said since the last search that succeeded."""
        observed = self._observed(await self._store.context(session_id))
        told = self._told.setdefault(session_id, _Told())
        told.searched &= observed.keys()  # what a fold has hidden does not come back
        texts = [entry.content for entry in observed.values() if self._is_new(entry, told)]
        if not texts:
            return
        hits = await self._search(session_id, texts)
        if hits is None:
            return
        for hit in self._best(hits, told.documents):
            await self._tell(session_id, hit)
            told.documents.add(hit.doc_id)
        told.searched |= observed.keys()
        told.until = max(entry.created_at for entry in observed.values())

    def _is_new(self, entry: Entry, told: _Told) -> bool:
        is_late = entry.created_at >= told.until or self._options.back_dated
        return is_late and entry.id not in told.searched

    def forget(self, session_id: str) -> None:
        """Drop what is known of a session that has ended."""
        self._told.pop(session_id, None)

    def _observed(self, context: Sequence[Entry]) -> dict[str, Entry]:
        """Return the entries with texts to search for by id, in the order of the store."""
        kinds = self._options.kinds
        return {entry.id: entry for entry in context if entry.kind in kinds and entry.content}

    async def _search(self, session_id: str, texts: Sequence[str]) -> Sequence[DocHit] | None:
        try:
            async with asyncio.timeout(self._options.timeout_s):
                return await self._finder.find(texts)
        except Exception as error:  # noqa: BLE001 - a search may fail in any way; a turn goes on
            if self._on_error is not None:
                self._on_error(session_id, error)
            return None

    def _best(self, hits: Sequence[DocHit], known: set[str]) -> list[DocHit]:
        """Return the hits to tell, best first, equal ones in their order, each document once."""
        good = [
            hit
            for hit in hits
            if hit.score >= self._options.min_score and hit.doc_id and hit.doc_id not in known
        ]
        best: dict[str, DocHit] = {}
        for hit in sorted(good, key=lambda hit: hit.score, reverse=True):
            best.setdefault(hit.doc_id, hit)
        return list(best.values())[: self._options.max_hits]

    async def _tell(self, session_id: str, hit: DocHit) -> None:
        entry = notice(self._render(hit), tag=self._options.tag, at=self._now())
        await self._store.append(session_id, entry)

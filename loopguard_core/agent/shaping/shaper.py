"""`Shaper`: builds the context of a session within a budget, and folds what does not fit.

Source: agent specification, section 5.
"""

from __future__ import annotations

import inspect
import logging
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from loopguard_core.agent.budget import CharsByFour, TokenEstimator
from loopguard_core.agent.chat import ChatMessage
from loopguard_core.agent.entries import (
    Compaction,
    CompactionInfo,
    Entry,
    EntryKind,
    in_order,
    new_id,
)
from loopguard_core.agent.errors import StoreConflictError
from loopguard_core.agent.tracing import span
from loopguard_core.errors import InvalidInputError, checked_callable, checked_methods

from .errors import EmptySummaryError, FoldError, NotConvergedError
from .idle_folds import SessionFolds
from .order import KeptOrder
from .plan import foldable, kept_task, plan_shape, stubs_of, tail_start
from .policy import ShaperPolicy
from .prices import PriceList
from .rendering import Rendering
from .sink import beside_texts, report_compaction
from .summary import Summarize, bounded_summary, runner_summarizer, summary_in, summary_prompt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard_core.agent.runner import LLMRunner
    from loopguard_core.agent.store import Store
    from loopguard_core.agent.tracing import Tracer

    from .plan import ShapePlan

__all__ = ["Shaper"]

_LOGGER: Final = logging.getLogger("loopguard")
_MAX_FOLDS: Final = 4
_MAX_KEPT_SESSIONS: Final = 64


class Shaper:
    """Shows a session's history within a budget.

    What fits is shown whole. If it does not, long entries before the tail are shown as stubs. If
    that is not enough, everything before the tail is folded into a summary, which is stored; a
    policy that keeps the task leaves the newest message of a person out. What is stored is never
    shortened.

        shaper = Shaper(store, summarizer=runner, policy=ShaperPolicy.for_context(128_000))
        session = Session(..., store=store, build=shaper.build)

    One shaper serves any number of sessions. Folds that free next to nothing three builds in a
    row rest until the session's history has grown by a quarter, and a system text over the budget
    is shown all the same, as is a tail that cannot be cut short enough; all are logged once, as a
    warning of `loopguard`. A summariser that fails while the history still fits its budget is
    logged, and left alone for as long.

    Args:
        store: Keeps the entries. What its `context` raises passes through.
        summarizer: A runner that is asked for summaries, or what answers their prompts itself.
        policy: The limits.
        estimate: Prices one text.
        tracer: Starts a span for each build; None traces nothing.
        span_prefix: Begins the span's name.

    Raises:
        InvalidInputError: An argument that cannot be used, by its name.
    """

    def __init__(  # noqa: PLR0913 - keyword-only options, each with a default
        self,
        store: Store,
        *,
        summarizer: LLMRunner | Summarize,
        policy: ShaperPolicy,
        estimate: TokenEstimator = CharsByFour.estimate,
        tracer: Tracer | None = None,
        span_prefix: str = "agent",
    ) -> None:
        checked_methods("store", store, "a Store", "context", "compact")
        if not isinstance(policy, ShaperPolicy):
            raise InvalidInputError("policy", policy, "a ShaperPolicy")
        checked_callable("estimate", estimate)
        self._store = store
        self._summarize = _summarize_with(summarizer)
        self._policy = policy
        self._estimate = estimate
        self._tracer = tracer
        self._span_name = f"{span_prefix}.Shaper.Build"
        self._priced_beside: tuple[Sequence[str], int] = (), 0
        self._sessions: OrderedDict[str, _Kept] = OrderedDict()

    async def build(self, session_id: str, system: str = "") -> list[ChatMessage]:
        """Return the messages of a model call; fold first if they cannot fit otherwise.

        Args:
            session_id: Whose history.
            system: The system text; counts against the budget.

        Raises:
            FoldError: The summariser or the store failed.
            NotConvergedError: The store goes on returning what was folded.
        """
        budget_tokens = self._policy.budget_tokens
        with span(
            self._tracer, self._span_name, session_id=session_id, budget_tokens=budget_tokens
        ) as building:
            messages: list[ChatMessage] = []
            try:
                messages = await self._built(session_id, system)
            finally:
                building.set("n_messages", len(messages))
        return messages

    async def compact(self, session_id: str) -> CompactionInfo | None:
        """Fold everything before the tail, whatever the budget.

        Returns:
            What was done; None if there was nothing to fold.

        Raises:
            FoldError: The summariser or the store failed; nothing was written.
        """
        entries = in_order(await self._store.context(session_id))
        fold = foldable(entries, self._policy, tail_start(entries, self._policy))
        kept = self._kept(session_id)
        kept.folds = SessionFolds()  # whoever asks for a fold may have changed the rest
        return await self._fold(session_id, kept, entries, fold) if fold else None

    async def _built(self, session_id: str, system: str) -> list[ChatMessage]:
        kept = self._kept(session_id)
        folds = kept.folds
        system_tokens = kept.prices.system(system) + self._beside()
        planned = partial(
            plan_shape, policy=self._policy, system_tokens=system_tokens, prices=kept.prices
        )
        before: int | None = None
        for _ in range(_MAX_FOLDS):
            entries = kept.order.of(await self._store.context(session_id))
            plan = planned(entries)
            hopeless = 0 < plan.budget < system_tokens
            if hopeless:
                folds.note_system(session_id, system_tokens, plan.budget)
            if before is not None and not plan.fold:
                folds.note(session_id, before, plan.tokens)
            if plan.fold and (hopeless or folds.given_up(plan.tokens)):
                plan = planned(entries, may_fold=False)
            if plan.fold:
                before = plan.tokens if before is None else before
                if await self._folded(session_id, kept, entries, plan):
                    continue
                plan = planned(entries, may_fold=False)
            if plan.over_budget and not hopeless:
                folds.note_over_budget(session_id, plan.tokens, plan.budget)
            head = [ChatMessage(role="system", content=system)] if system else []
            return [*head, *kept.rendering.messages(entries, plan.shown)]
        raise NotConvergedError(_MAX_FOLDS)

    async def _folded(
        self, session_id: str, kept: _Kept, entries: Sequence[Entry], plan: ShapePlan
    ) -> bool:
        """Fold as planned; return False if that failed and the history fits without.

        Only the headroom is missed then, which is no reason to end a turn.
        """
        try:
            report_compaction(await self._fold(session_id, kept, entries, plan.fold))
        except FoldError as error:
            if isinstance(error.cause, StoreConflictError):
                return True  # another process has folded meanwhile, so there is room
            if error.stage != "summarize" or plan.over_budget:
                raise
            kept.folds.note_failure(plan.tokens)
            _LOGGER.warning("session %r was not folded: %s", session_id, error)
            return False
        return True

    def _beside(self) -> int:
        """Price what the request that is being built has beside messages; tools seldom change."""
        texts = beside_texts() if self._policy.count_arguments else ()
        if texts != self._priced_beside[0]:
            self._priced_beside = texts, sum(map(self._estimate, texts))
        return self._priced_beside[1]

    async def _fold(
        self, session_id: str, kept: _Kept, entries: Sequence[Entry], fold: range
    ) -> CompactionInfo:
        task = kept_task(entries, self._policy)
        older = [entries[at] for at in fold if at != task]
        before = kept.prices.total(entries)
        summary = await self._summary(older)
        heading = self._policy.summary_heading
        created_at = max(entry.created_at for entry in older)
        if task in fold:  # a record stands in front of what is to be done
            created_at = max(1, min(created_at, entries[task].created_at - 1))  # 0 is no time
        marker = Entry(
            kind=EntryKind.COMPACTION,
            id=new_id(),
            content=f"{heading}\n\n{summary}" if heading else summary,
            created_at=created_at,
        )
        subsumed = tuple(
            entry
            for entry in older
            if entry.kind != EntryKind.COMPACTION or self._policy.merge_markers
        )
        try:
            await self._store.compact(session_id, Compaction(marker=marker, subsumed=subsumed))
        except Exception as error:  # a host's store raises what it likes
            raise FoldError("compact", error) from error
        return CompactionInfo(
            summary=summary,
            subsumed_count=len(subsumed),
            tokens_before=before,
            tokens_after=await self._tokens_after(session_id, kept.prices),
        )

    async def _summary(self, older: Sequence[Entry]) -> str:
        try:
            answer = self._summarize(summary_prompt(older, self._policy, self._estimate))
            summary = summary_in(await answer if inspect.isawaitable(answer) else answer)
        except Exception as error:  # a host's model raises what it likes
            raise FoldError("summarize", error) from error
        if not summary:
            raise FoldError("summarize", EmptySummaryError())
        return bounded_summary(summary, self._policy, self._estimate)

    async def _tokens_after(self, session_id: str, prices: PriceList) -> int:
        """Price what a fold has left; 0 if the store cannot say, for the fold itself is done."""
        try:
            entries = in_order(await self._store.context(session_id))
        except Exception:  # noqa: BLE001 - a host's store raises what it likes
            return 0
        whole = prices.total(entries)
        _, saved = stubs_of(entries, self._policy, prices, tail_start(entries, self._policy))
        return whole - saved

    def _kept(self, session_id: str) -> _Kept:
        """Return what is kept of a session, as the newest of those that are remembered."""
        kept = self._sessions.pop(session_id, None) or _Kept(
            PriceList(self._policy, self._estimate), Rendering(self._policy)
        )
        self._sessions[session_id] = kept
        if len(self._sessions) > _MAX_KEPT_SESSIONS:
            self._sessions.popitem(last=False)
        return kept


@dataclass(slots=True)
class _Kept:
    """What is kept of one session from build to build.

    Args:
        prices: Of its entries.
        rendering: Of its messages.
        order: Of its entries.
        folds: How they went.
    """

    prices: PriceList
    rendering: Rendering
    order: KeptOrder = field(default_factory=KeptOrder)
    folds: SessionFolds = field(default_factory=SessionFolds)


def _summarize_with(summarizer: LLMRunner | Summarize) -> Summarize:
    if hasattr(summarizer, "stream"):
        return runner_summarizer(summarizer)
    if not callable(summarizer):
        raise InvalidInputError("summarizer", summarizer, "an LLMRunner or a callable")
    return summarizer

"""What is done with each entry of a history: kept, shown as a stub, or folded away.

A plan touches no message, so it can be applied to a framework's own. Source: agent specification,
sections 5 and 23.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from loopguard_core.agent.budget import CharsByFour, TokenEstimator
from loopguard_core.agent.entries import Entry, EntryKind

from .oversized import cuts_in_tail
from .prices import PriceList
from .tail import tail_length, whole_rounds

if TYPE_CHECKING:
    from .policy import ShaperPolicy

__all__ = ["ShapePlan", "foldable", "kept_task", "plan_shape", "stubs_of", "tail_start"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapePlan:
    """What becomes of a history.

    Args:
        tail_start: The index of the first entry that is left alone.
        stubs: What is shown in the place of an entry's content, by index; empty if it fits.
        fold: The indices that a fold would take; empty unless only a fold can make it fit.
        cuts: What is shown of results in the tail whose middle is cut out; like stubs.
        tokens: What the history costs as planned, without the fold, and with the system text.
        target: What stubs and folds are to bring it down to; 0 for no limit.
        budget: What it may cost at most; 0 for no limit. Results are cut to keep it.
    """

    tail_start: int
    stubs: Mapping[int, str] = field(default_factory=dict)
    fold: range = range(0)
    cuts: Mapping[int, str] = field(default_factory=dict)
    tokens: int = 0
    target: int = 0
    budget: int = 0

    @property
    def shown(self) -> Mapping[int, str]:
        """What is shown in the place of contents, stubs and cuts."""
        return {**self.stubs, **self.cuts}

    @property
    def over_budget(self) -> bool:
        """True if it costs more than the budget all the same."""
        return 0 < self.budget < self.tokens


def plan_shape(  # noqa: PLR0913 - keyword-only options, each with a default
    entries: Sequence[Entry],
    policy: ShaperPolicy,
    *,
    system_tokens: int = 0,
    estimate: TokenEstimator = CharsByFour.estimate,
    prices: PriceList | None = None,
    may_fold: bool = True,
) -> ShapePlan:
    """Plan how a history is brought into its budget.

    What fits is left alone, for a provider's prompt cache. Then what is long is shown as a stub.
    Then a fold is planned. Where there is nothing to fold, the last stubs before the tail no
    longer wait for a whole step, and results in the tail are cut, until the budget is met; the
    headroom is no reason to cut what was just asked for.

    Args:
        entries: In their order; see `in_order`.
        policy: The limits.
        system_tokens: What the request costs beside the entries.
        estimate: Prices one text.
        prices: Prices from earlier plans of the same history; None prices all of it.
        may_fold: False plans for a request that is sent without a further fold, be it that
            nobody summarises or that folding rests.
    """
    prices = prices or PriceList(policy, estimate)
    start = tail_start(entries, policy)
    budget = max(policy.budget_tokens, 0)
    target = policy.target_beside(system_tokens) if budget else 0
    whole = system_tokens + prices.total(entries)
    plan = ShapePlan(tail_start=start, tokens=whole, target=target, budget=budget)
    if policy.always_lod:
        stubs, saved = stubs_of(entries, policy, prices, start)
        plan = replace(plan, stubs=stubs, tokens=whole - saved)
    elif 0 < target < whole:
        stubs, saved = stubs_of(entries, policy, prices, start - start % policy.step_entries)
        plan = replace(plan, stubs=stubs, tokens=whole - saved)
    fold = foldable(entries, policy, start) if may_fold and 0 < target < plan.tokens else range(0)
    if fold:
        return replace(plan, fold=fold)
    if plan.over_budget and start % policy.step_entries:
        stubs, saved = stubs_of(entries, policy, prices, start)
        plan = replace(plan, stubs=stubs, tokens=whole - saved)
    if plan.over_budget and system_tokens < budget and policy.cut_newest_results:
        return _with_cuts(plan, entries, prices)
    return plan


def tail_start(entries: Sequence[Entry], policy: ShaperPolicy) -> int:
    """Return the index of the first entry that is left alone."""
    newest_first = (entry.kind for entry in reversed(entries))
    kept = tail_length(newest_first, policy.preserve_last_messages, policy.preserve_last_tool_calls)
    start = len(entries) - kept
    return whole_rounds(entries, start) if policy.repair_pairs else start


def foldable(entries: Sequence[Entry], policy: ShaperPolicy, start: int) -> range:
    """Return what a fold takes: all before the tail, unless that is markers alone.

    A task that is kept may stand among it; the fold leaves it where it is.
    """
    task = kept_task(entries, policy)
    older = [entry for at, entry in enumerate(entries[:start]) if at != task]
    if policy.merge_markers and len(older) > 1:
        return range(start)
    return range(start if any(entry.kind != EntryKind.COMPACTION for entry in older) else 0)


def kept_task(entries: Sequence[Entry], policy: ShaperPolicy) -> int:
    """Return the index of the newest user entry if the policy keeps it; -1 for none."""
    if policy.keep_task:
        for at in range(len(entries) - 1, -1, -1):
            if entries[at].kind == EntryKind.USER:
                return at
    return -1


def stubs_of(
    entries: Sequence[Entry], policy: ShaperPolicy, prices: PriceList, border: int
) -> tuple[dict[int, str], int]:
    """Return the stubs of the entries before *border*, a kept task left out, and what they save."""
    stubs, saved = prices.stubs(entries, border)
    shown = dict(stubs)
    task = kept_task(entries, policy)
    if task in shown:
        saved -= prices.saved(entries[task], shown.pop(task))
    return shown, saved


def _with_cuts(plan: ShapePlan, entries: Sequence[Entry], prices: PriceList) -> ShapePlan:
    cuts, saved = cuts_in_tail(entries, plan.tail_start, prices, plan.tokens - plan.budget)
    return replace(plan, cuts=cuts, tokens=plan.tokens - saved)

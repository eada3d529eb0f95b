"""`ThreadShaper`: one plan for the threads of every framework."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from loopguard_core.agent.budget import CharsByFour, TokenEstimator
from loopguard_core.agent.entries import Entry, EntryKind
from loopguard_core.agent.neutral import neutralize_special_tokens
from loopguard_core.agent.result_cut import cut_result, is_cut
from loopguard_core.agent.shaping import ShaperPolicy, plan_shape, summary_prompt
from loopguard_core.agent.shaping.prices import PriceList
from loopguard_core.agent.shaping.summary import bounded_summary
from loopguard_core.errors import InvalidInputError
from loopguard_core.message import as_messages, type_of
from loopguard_core.thread import exchanges
from loopguard_core.tokens import BLOCK_TOKENS

from .entries import COMPACTED, entry_of, sent_text
from .fold_record import FoldRecord, folding_is_idle
from .pairs import paired
from .shape import ThreadShape

if TYPE_CHECKING:
    from loopguard_core.agent.shaping import ShapePlan
    from loopguard_core.thread import Exchange

__all__ = ["ThreadShaper"]


class ThreadShaper:
    """Decides what is sent of a thread; it keeps no state, so any number of runs share it.

    System messages at the head, pinned messages, and the newest message of a person, which is the
    task, are sent as they are and never folded. Reasoning, which providers sign, and messages with
    the key `sealed` can be folded, but their texts are never shortened. A fold takes whole
    exchanges, and the summaries of earlier folds with them.

    Args:
        policy: The limits; see `ShaperPolicy.for_context`.
        max_result_bytes: Bytes of one result that are sent; the rest is cut out of its middle.
            0 is no limit.
        estimate: Prices one text.

    Raises:
        InvalidInputError: An argument that cannot be used, by its name.
    """

    def __init__(
        self,
        policy: ShaperPolicy,
        *,
        max_result_bytes: int = 0,
        estimate: TokenEstimator = CharsByFour.estimate,
    ) -> None:
        if not isinstance(policy, ShaperPolicy):
            raise InvalidInputError("policy", policy, "a ShaperPolicy")
        if type(max_result_bytes) is not int or max_result_bytes < 0:
            raise InvalidInputError("max_result_bytes", max_result_bytes, "a whole number from 0")
        # One summary is what a framework's thread begins with; a row of them helps nobody.
        self._policy = policy.model_copy(update={"merge_markers": True})
        self._max_result_bytes = max_result_bytes
        self._estimate = estimate

    @property
    def policy(self) -> ShaperPolicy:
        """The limits in force."""
        return self._policy

    def shape(
        self,
        messages: Sequence[Mapping[str, object]],
        *,
        beside_tokens: int = 0,
        folds: Sequence[FoldRecord] = (),
        expandable: bool = False,
        may_fold: bool = True,
    ) -> ThreadShape:
        """Decide what is sent of a thread.

        Args:
            messages: The whole thread, as it is sent. Nothing in it is changed.
            beside_tokens: What the request costs beside it, such as tools and a system prompt.
            folds: The thread's earlier folds. After three in a row that freed next to nothing, no
                further one is planned until the thread has grown by a quarter.
            expandable: True says in a cut result of this turn that `{OUTPUT}` shows the whole.
            may_fold: False for what is sent without a further fold, as where nobody summarises.
                Results in the tail are then cut if they are too much.

        Raises:
            InvalidInputError: *messages* is no sequence of mappings.
        """
        messages = as_messages(messages)
        units = exchanges(messages)
        apart = _apart(messages, units)
        task = _newest_person(messages)
        shaped = [at for at in range(len(messages)) if at not in apart]
        sealed = {at for at in shaped if at == task or _is_sealed(messages[at])}
        entries = {at: entry_of(messages[at], at, is_sealed=at in sealed) for at in shaped}
        beside = beside_tokens + self._fixed(messages, apart, apart)
        # What is no text, or sealed, goes with its message in a fold: no reason to give up on one.
        fixed = beside + self._fixed(messages, sealed, shaped)
        prices = PriceList(self._policy, self._estimate)
        planned = partial(plan_shape, [*entries.values()], self._policy, prices=prices)
        plan = planned(system_tokens=fixed, may_fold=may_fold)
        hopeless = 0 < plan.budget < beside or folding_is_idle(folds, plan.tokens)
        fold = () if hopeless else _whole(units, apart | {task}, [shaped[at] for at in plan.fold])
        if plan.fold and not _is_worth(messages, fold):
            fold = ()
            plan = planned(system_tokens=fixed, may_fold=False)
        texts = self._texts(messages, entries, sealed, plan, expandable=expandable)
        pairs = self._policy.repair_pairs
        return ThreadShape(
            sent=paired(messages, units, texts) if pairs else tuple(range(len(messages))),
            texts=texts,
            fold=fold,
            tokens=plan.tokens,
            target=plan.target,
            budget=plan.budget,
        )

    def summary_prompt(self, messages: Sequence[Mapping[str, object]], shape: ThreadShape) -> str:
        """Return what a summariser is asked about the fold of *shape*."""
        entries = [entry_of(messages[at], at) for at in shape.fold]
        return summary_prompt(entries, self._policy, self._estimate)

    def bounded_summary(self, summary: str) -> str:
        """Return a summary as it is kept: without white space around it, and not without end."""
        return bounded_summary(summary.strip(), self._policy, self._estimate)

    def summary_text(self, summary: str) -> str:
        """Return the text of the user message that stands for what was folded."""
        heading = self._policy.summary_heading
        return "\n".join(filter(None, ["[compacted]", heading, self.bounded_summary(summary)]))

    def _fixed(
        self, messages: Sequence[Mapping[str, object]], texts: Iterable[int], blocks: Iterable[int]
    ) -> int:
        """Price what cannot be shortened: texts and blocks, each at their positions."""
        counted = sum(_block_count(messages[at]) for at in blocks)
        return BLOCK_TOKENS * counted + sum(self._estimate(sent_text(messages[at])) for at in texts)

    def _texts(
        self,
        messages: Sequence[Mapping[str, object]],
        entries: Mapping[int, Entry],
        sealed: set[int],
        plan: ShapePlan,
        *,
        expandable: bool,
    ) -> dict[int, str]:
        """Return what is sent in the place of texts: stubs, harmless results, cut results."""
        turn = _newest_person(messages)
        shown = plan.shown
        texts: dict[int, str] = {}
        for index, (at, entry) in enumerate(entries.items()):
            if at in sealed:
                continue
            text = shown.get(index, entry.content)
            if entry.kind == EntryKind.TOOL_RESULT:
                if not self._policy.verbatim_tool_results:
                    text = neutralize_special_tokens(text)
                if not is_cut(text, self._max_result_bytes):  # where a thread is shaped twice
                    hint = expandable and at > turn
                    text = cut_result(text, self._max_result_bytes, expandable=hint)
            if text != entry.content:
                texts[at] = text
        return texts


def _newest_person(messages: Sequence[Mapping[str, object]]) -> int:
    """Return the position of the newest message of a person; -1 without one."""
    for at in range(len(messages) - 1, -1, -1):
        if type_of(messages[at]) == "user" and messages[at].get(COMPACTED) is not True:
            return at
    return -1


def _apart(messages: Sequence[Mapping[str, object]], units: Sequence[Exchange]) -> set[int]:
    """Return the positions that are sent as they are: the head's system, and what is pinned."""
    apart: set[int] = set()
    for at, message in enumerate(messages):
        if type_of(message) != "system":
            break
        apart.add(at)
    for unit in units:
        if any(message.get("pinned") is True for message in unit.messages):
            apart.update(unit.positions)
    return apart


def _whole(units: Sequence[Exchange], apart: set[int], fold: Sequence[int]) -> tuple[int, ...]:
    """Return the positions of the units that a fold takes whole, in their order."""
    taken = set(fold)
    whole = [
        unit
        for unit in units
        if taken.issuperset(unit.positions) and apart.isdisjoint(unit.positions)
    ]
    return tuple(sorted(at for unit in whole for at in unit.positions))


def _is_worth(messages: Sequence[Mapping[str, object]], fold: Sequence[int]) -> bool:
    """Return False if a fold would take nothing but an earlier summary."""
    return any(entry_of(messages[at], at).kind != EntryKind.COMPACTION for at in fold)


def _is_sealed(message: Mapping[str, object]) -> bool:
    return type_of(message) == "reasoning" or message.get("sealed") is True


def _block_count(message: Mapping[str, object]) -> int:
    blocks = message.get("blocks")
    return len(blocks) if isinstance(blocks, Sequence) and not isinstance(blocks, str) else 0

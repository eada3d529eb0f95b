"""The shaper beyond the reference: plans, prices, markers, and what users complain about."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.agent.budget import CharsByFour, budget, tokens_of
from loopguard_core.agent.entries import Entry, EntryKind, in_order
from loopguard_core.agent.pairing import UNANSWERED, repair_pairs
from loopguard_core.agent.render import render
from loopguard_core.agent.shaping import (
    HISTORY_HEADING,
    FoldError,
    Shaper,
    ShaperPolicy,
    plan_shape,
    reporting_compactions,
    summary_prompt,
)
from loopguard_core.agent.shaping.order import KeptOrder
from loopguard_core.agent.shaping.prices import PriceList
from loopguard_core.agent.shaping.rendering import Rendering
from loopguard_core.agent.shaping.summary import summary_in
from loopguard_core.agent.store import MemoryStore
from loopguard_core.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loopguard_core.agent.entries import CompactionInfo

POLICY = ShaperPolicy(
    budget_tokens=1_000,
    lod_headroom_tokens=-1,
    preserve_last_messages=4,
    preserve_last_tool_calls=4,
    lod_truncate_above_chars=400,
)


def entry(number: int, kind: str = "user", content: str = "x" * 80, **more: Any) -> Entry:
    """Make an entry whose id and time are *number*."""
    return Entry(kind=kind, id=f"e{number:05}", content=content, created_at=number, **more)


def talk(rounds: int, size: int = 80, start: int = 1) -> list[Entry]:
    """Make rounds of a question, a call, its result and an answer."""
    entries: list[Entry] = []
    for number in range(start, start + 4 * rounds, 4):
        call = {"tool_call_id": f"c{number}", "tool_name": "look"}
        entries += [
            entry(number, "user", f"question {number} " + "q" * size),
            entry(number + 1, "tool_call", json.dumps({"n": number}), **call),
            entry(number + 2, "tool_result", "r" * size, **call),
            entry(number + 3, "assistant", f"answer {number}"),
        ]
    return entries


async def stored(entries: Iterable[Entry]) -> MemoryStore:
    """Return a store that holds *entries* in session `s`."""
    store = MemoryStore()
    for some in entries:
        await store.append("s", some)
    return store


def test_what_fits_is_left_alone() -> None:
    """No stub, no fold, no cut."""
    plan = plan_shape(talk(2), POLICY)
    assert (dict(plan.shown), len(plan.fold), plan.over_budget) == ({}, 0, False)


def test_stubs_come_before_folds() -> None:
    """Long entries before the tail are shown as stubs, and that is enough here."""
    plan = plan_shape(talk(5, size=500), POLICY)
    assert plan.stubs
    assert max(plan.stubs) < plan.tail_start
    assert not plan.fold
    assert plan.tokens <= POLICY.target_tokens


def test_the_price_of_a_plan_is_the_price_of_what_is_sent() -> None:
    """Planned and rendered history cost the same."""
    entries = talk(6, size=500)
    plan = plan_shape(entries, POLICY, system_tokens=7)
    assert plan.tokens == 7 + tokens_of(render(entries, stubs=plan.shown))


@pytest.mark.parametrize(("count_arguments", "folds"), [(True, True), (False, False)])
def test_arguments_count(*, count_arguments: bool, folds: bool) -> None:
    """A history of large calls is over its budget, though the reference says no (Q21)."""
    call = {"tool_call_id": "c", "tool_name": "write"}
    entries = [entry(1), entry(2, "tool_call", "a" * 8_000, **call)]
    entries += [entry(3, "tool_result", "ok", **call), *talk(2, start=4)]
    policy = POLICY.model_copy(update={"count_arguments": count_arguments})
    assert bool(plan_shape(entries, policy).fold) is folds


def test_stubbed_arguments_are_json() -> None:
    """With `stub_arguments` long arguments before the tail shrink and can still be parsed."""
    call = {"tool_call_id": "c", "tool_name": "write"}
    entries = [entry(1), entry(2, "tool_call", json.dumps({"a": "b" * 8_000}), **call)]
    entries += [entry(3, "tool_result", "ok", **call), *talk(2, start=4)]
    policy = POLICY.model_copy(update={"stub_arguments": True})
    plan = plan_shape(entries, policy)
    assert not plan.fold
    assert json.loads(plan.stubs[1])["_truncated"].startswith("event_id=e00002")


async def test_one_entry_more_is_one_price_more() -> None:
    """A turn that adds an entry prices that entry, and not the whole history again."""
    priced: list[str] = []

    def estimate(text: str) -> int:
        priced.append(text)
        return CharsByFour.estimate(text)

    store = await stored(talk(500))
    policy = ShaperPolicy.for_context(1_000_000)
    shaper = Shaper(store, summarizer=_summary, policy=policy, estimate=estimate)
    await shaper.build("s")
    first = len(priced)
    await store.append("s", entry(9_999, "user", "one more"))
    await shaper.build("s")
    assert first > 2_000
    assert priced[first:] == ["one more"]


def _summary(prompt: str) -> str:
    return f"{prompt.count(chr(10))} lines before"


async def test_a_fold_takes_what_is_before_the_tail() -> None:
    """The marker stands in its place, under the heading that says what it is."""
    store = await stored(talk(40))
    shaper = Shaper(store, summarizer=_summary, policy=POLICY.model_copy(
        update={"summary_heading": HISTORY_HEADING}
    ))  # fmt: skip
    infos: list[CompactionInfo] = []
    with reporting_compactions(infos.append):
        messages = await shaper.build("s", "system")
    assert len(infos) == 1
    assert infos[0].tokens_before > 1_000 > infos[0].tokens_after
    assert messages[1].content.startswith(f"[compacted]\n{HISTORY_HEADING}\n\n")
    assert messages[-1].content == talk(40)[-1].content
    assert await shaper.build("s", "system") == messages


async def test_markers_can_be_merged() -> None:
    """With `merge_markers` two folds leave one summary; by default they leave two (Q22)."""
    counts = []
    for merged in (False, True):
        store = await stored(talk(10))
        policy = POLICY.model_copy(update={"merge_markers": merged})
        shaper = Shaper(store, summarizer=_summary, policy=policy)
        await shaper.compact("s")
        for some in talk(10, start=100):
            await store.append("s", some)
        await shaper.compact("s")
        assert await shaper.compact("s") is None
        kinds = [some.kind for some in await store.context("s")]
        counts.append(kinds.count(EntryKind.COMPACTION))
    assert counts == [2, 1]


async def test_no_fold_parts_a_round() -> None:
    """The tail begins with the message that made a call if it holds the call's result (Q11)."""
    policy = POLICY.model_copy(update={"preserve_last_tool_calls": 1, "preserve_last_messages": 1})
    store = await stored(talk(3))
    shaper = Shaper(store, summarizer=_summary, policy=policy)
    await shaper.compact("s")
    messages = await shaper.build("s")
    assert [some.role for some in messages] == ["user", "assistant", "tool", "assistant"]


# What users complain about in compaction.

# A summary that is allowed, and more than the target all the same.
IDLE = {"lod_truncate_above_chars": 0, "merge_markers": True, "lod_headroom_tokens": 600}


async def test_folds_that_free_nothing_are_given_up(caplog: pytest.LogCaptureFixture) -> None:
    """After three in a row there is no fourth model call, and it is said once."""
    asked: list[str] = []

    def wordy(prompt: str) -> str:
        asked.append(prompt)
        return "s" * 1_900

    store = await stored([entry(at, content="t" * (1_900 if at == 1 else 5)) for at in range(1, 6)])
    policy = POLICY.model_copy(update=IDLE)
    shaper = Shaper(store, summarizer=wordy, policy=policy)
    with caplog.at_level(logging.WARNING, "loopguard"):
        for number in range(10, 20):
            await store.append("s", entry(number, content="short"))
            await shaper.build("s")
    assert len(asked) == 3
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "next to nothing" in caplog.text


async def test_a_fold_that_frees_room_keeps_folding() -> None:
    """A long healthy conversation folds as often as it has to."""
    infos: list[CompactionInfo] = []
    store = await stored([])
    shaper = Shaper(store, summarizer=lambda _: "short", policy=POLICY)
    with reporting_compactions(infos.append):
        for some in talk(200):
            await store.append("s", some)
            await shaper.build("s")
    assert len(infos) > 5
    assert tokens_of(await shaper.build("s")) <= POLICY.target_tokens


async def test_a_system_text_over_the_budget(caplog: pytest.LogCaptureFixture) -> None:
    """It is said once, no model is asked for a summary that cannot help, and it goes on."""
    store = await stored(talk(3))
    shaper = Shaper(store, summarizer=_never, policy=POLICY)
    with caplog.at_level(logging.WARNING, "loopguard"):
        for _ in range(3):
            messages = await shaper.build("s", "s" * 8_000)
    assert messages[0].role == "system"
    assert len(messages) > 10
    assert len(caplog.records) == 1
    assert "system text alone" in caplog.text


def _never(prompt: str) -> str:
    raise AssertionError(prompt)


async def test_an_oversized_newest_result_is_cut() -> None:
    """Its start and end are sent, the request fits, and the store keeps the whole."""
    call = {"tool_call_id": "c", "tool_name": "read"}
    huge = "head " + "x" * 100_000 + " tail"
    entries = [entry(1), entry(2, "tool_call", "{}", **call)]
    entries.append(entry(3, "tool_result", huge, **call))
    store = await stored(entries)
    messages = await Shaper(store, summarizer=_never, policy=POLICY).build("s")
    assert tokens_of(messages) <= POLICY.target_tokens
    assert messages[-1].content.startswith("head ")
    assert messages[-1].content.endswith(" tail")
    assert [some.content for some in await store.context("s")][-1] == huge


def newest_result(size: int, rounds: int = 0) -> list[Entry]:
    """Make rounds of talk, and a call whose result of *size* bytes is the newest entry."""
    call = {"tool_call_id": "newest", "tool_name": "read"}
    at = 4 * rounds
    return [
        *talk(rounds),
        entry(at + 1),
        entry(at + 2, "tool_call", "{}", **call),
        entry(at + 3, "tool_result", "r" * size, **call),
    ]


def test_the_headroom_is_no_reason_to_cut() -> None:
    """A result between the target and the budget is sent whole; one over the budget fits it."""
    policy = POLICY.model_copy(update={"budget_tokens": 2_000, "lod_headroom_tokens": 1_500})
    whole = plan_shape(newest_result(5_000), policy)
    assert (whole.target, whole.tokens > whole.target) == (500, True)
    assert (dict(whole.cuts), whole.over_budget) == ({}, False)
    cut = plan_shape(newest_result(9_000), policy)
    assert list(cut.cuts) == [2]
    assert whole.target < cut.tokens <= cut.budget


def test_a_cut_promises_nothing() -> None:
    """The shaper does not know whether anybody expands placeholders, so it names none."""
    plan = plan_shape(newest_result(9_000), POLICY)
    assert "truncated" in plan.cuts[2]
    assert "{OUTPUT}" not in plan.cuts[2]


def test_without_a_fold_results_are_cut() -> None:
    """Where nobody folds, an oversized newest result is cut although there is much to fold."""
    entries = newest_result(9_000, rounds=6)
    assert plan_shape(entries, POLICY).fold
    plan = plan_shape(entries, POLICY, may_fold=False)
    assert not plan.fold
    assert list(plan.cuts) == [len(entries) - 1]


async def test_while_folding_rests_results_are_cut() -> None:
    """Idle folds are no reason to send a result that the model cannot take."""
    asked: list[str] = []

    def wordy(prompt: str) -> str:
        asked.append(prompt)
        return "s" * 1_900

    store = await stored([entry(at, content="t" * (1_900 if at == 1 else 5)) for at in range(1, 6)])
    policy = POLICY.model_copy(update=IDLE)
    shaper = Shaper(store, summarizer=wordy, policy=policy)
    for number in range(10, 20):
        await store.append("s", entry(number, content="short"))
        await shaper.build("s")
    call = {"tool_call_id": "newest", "tool_name": "read"}
    await store.append("s", entry(30, "tool_call", "{}", **call))
    await store.append("s", entry(31, "tool_result", "r" * 2_200, **call))
    assert len((await shaper.build("s"))[-1].content) < 2_200
    assert len(asked) == 4  # there was a quarter more, so it was tried once more


async def test_a_system_text_over_the_budget_is_no_reason_to_cut() -> None:
    """No cut helps, so the model gets its results whole, and the provider decides."""
    store = await stored(newest_result(9_000, rounds=1))
    messages = await Shaper(store, summarizer=_never, policy=POLICY).build("s", "s" * 8_000)
    assert messages[-1].content == "r" * 9_000


def test_a_stub_is_for_bytes() -> None:
    """150 characters can be 450 bytes."""
    entries = [entry(0, content="\N{CJK UNIFIED IDEOGRAPH-4E16}" * 150), *talk(20)]
    assert 0 in plan_shape(entries, POLICY).stubs


def test_a_tail_that_grows_backwards_takes_its_stubs_back() -> None:
    """The first result of an old call brings its round into the tail, and what came since."""
    call = {"tool_call_id": "old", "tool_name": "job"}
    entries = [entry(1, content="x" * 900), entry(2, "tool_call", "{}", **call)]
    entries += [entry(at, content="x" * 900) for at in range(3, 12)]
    prices = PriceList(POLICY)
    assert max(plan_shape(entries, POLICY, prices=prices).stubs) == 6
    entries.append(entry(12, "tool_result", "done", **call))
    plan = plan_shape(entries, POLICY, prices=prices)
    assert plan == plan_shape(entries, POLICY)
    assert list(plan.stubs) == [0]


@pytest.mark.parametrize("context_tokens", [4_000, 13_500, 16_000, 20_000, 128_000])
async def test_a_small_window_is_used(context_tokens: int) -> None:
    """Beside an ordinary system text a long conversation folds, and never leaves its budget."""
    policy = ShaperPolicy.for_context(context_tokens)
    store = await stored([])
    shaper = Shaper(store, summarizer=lambda _: "short", policy=policy)
    system = "s" * context_tokens  # a quarter of the window
    folds: list[CompactionInfo] = []
    with reporting_compactions(folds.append):
        for some in talk(60, size=context_tokens // 8):
            await store.append("s", some)
            assert tokens_of(await shaper.build("s", system)) <= policy.budget_tokens
    assert folds
    assert policy.target_tokens >= policy.budget_tokens * 3 // 4


def test_a_headroom_that_leaves_no_room_is_not_taken() -> None:
    """A system text between the target and the budget leaves the rest of the budget."""
    policy = POLICY.model_copy(update={"budget_tokens": 12_000, "lod_headroom_tokens": 10_000})
    assert plan_shape(talk(3), policy, system_tokens=1_999).target == 2_000
    assert plan_shape(talk(3), policy, system_tokens=2_000).target == 12_000


async def test_a_summariser_is_asked_what_it_can_read() -> None:
    """A history of stubs stands for far more than a window; its start and end are asked about."""
    asked: list[str] = []

    def summarize(prompt: str) -> str:
        asked.append(prompt)
        return "short"

    policy = ShaperPolicy.for_context(16_000)
    store = await stored([])
    shaper = Shaper(store, summarizer=summarize, policy=policy)
    for some in talk(40, size=60_000):
        await store.append("s", some)
        await shaper.build("s")
    assert asked
    assert max(map(CharsByFour.estimate, asked)) <= policy.budget_tokens
    assert "question 1 " in asked[0]
    assert "…[truncated " in asked[0]


@pytest.mark.parametrize(
    ("size", "budget_tokens", "is_whole"),
    [
        (20_000, 500, True),  # a small budget is not taken for a window
        (60_000, 20_000, True),
        (60_000, 10_000, False),
        (600_000, 0, True),  # nobody has named a limit
    ],
)
def test_a_summary_prompt_is_whole_where_it_can_be(
    size: int, budget_tokens: int, *, is_whole: bool
) -> None:
    """Only a prompt over the budget, and over 8,000 tokens, is shortened; short lines never."""
    entries = [entry(1, content="short"), entry(2, content="x" * size)]
    policy = POLICY.model_copy(update={"budget_tokens": budget_tokens})
    prompt = summary_prompt(entries, policy)
    assert ("x" * size in prompt) is is_whole
    assert "1. [user] short\n" in prompt
    assert is_whole or CharsByFour.estimate(prompt) <= budget_tokens


def test_control_tokens_are_harmless_to_a_summariser() -> None:
    """Those in results are; what a person wrote is asked about as it was written."""
    entries = [entry(1, content="<|a|>"), entry(2, "tool_result", "<|b|>")]
    assert summary_prompt(entries).endswith("1. [user] <|a|>\n2. [tool_result] &lt;|b|>\n")
    verbatim = POLICY.model_copy(update={"verbatim_tool_results": True})
    assert summary_prompt(entries, verbatim).endswith("2. [tool_result] <|b|>\n")


def test_the_reply_has_its_share() -> None:
    """A policy for a context window leaves a part of it to the reply."""
    policy = ShaperPolicy.for_context(128_000, reserve_pct=30)
    assert policy.budget_tokens == budget(128_000, 30) == 89_600
    assert policy.target_tokens < policy.budget_tokens


async def test_the_cut_does_not_move_every_turn() -> None:
    """From turn to turn most prompts begin with all of the one before, but for its tail."""
    store = await stored([])
    policy = ShaperPolicy.for_context(20_000, lod_headroom_tokens=500, lod_truncate_above_chars=400)
    shaper = Shaper(store, summarizer=lambda _: "short", policy=policy)
    before: list[Any] = []
    shared = []
    for some in talk(150, size=600):
        await store.append("s", some)
        if some.kind == EntryKind.TOOL_CALL:
            continue  # no model is called before the result is there
        messages = await shaper.build("s", "system")
        shared.append(messages[: len(before)] == before)
        before = messages
    assert sum(shared) / len(shared) > 0.8


@pytest.mark.parametrize("failing", ["model", "store"])
async def test_a_fold_that_fails_writes_nothing(failing: str) -> None:
    """The error names the stage, and the history is as it was."""

    def broken(prompt: str) -> str:
        raise OSError(prompt[:3])

    store = await stored(talk(40))
    if failing == "store":
        store.compact = broken  # type: ignore[method-assign, assignment]
    shaper = Shaper(store, summarizer=_summary if failing == "store" else broken, policy=POLICY)
    with pytest.raises(FoldError, match="compact" if failing == "store" else "summarize"):
        await shaper.build("s")
    assert len(await store.context("s")) == 160


@pytest.mark.parametrize(
    ("field", "arguments"),
    [("policy", {"policy": {"budget_tokens": 3}}), ("summarizer", {"summarizer": "gpt"})],
)
def test_bad_arguments_are_named(field: str, arguments: dict[str, Any]) -> None:
    """The error names the argument."""
    with pytest.raises(InvalidInputError, match=field):
        Shaper(**{"store": MemoryStore(), "summarizer": _summary, "policy": POLICY} | arguments)


def test_a_lone_budget_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    """It folds everything at every overflow; a policy with a tail or stubs says nothing."""
    with caplog.at_level(logging.WARNING, "loopguard"):
        ShaperPolicy.for_context(1_000)
        ShaperPolicy()
        assert not caplog.records
        ShaperPolicy(budget_tokens=1_000)
    assert "for_context" in caplog.text


KINDS = st.sampled_from(["user", "assistant", "tool_call", "tool_result", "note", "compaction"])


@given(
    st.lists(st.tuples(KINDS, st.integers(0, 900), st.integers(1, 3)), max_size=25),
    st.integers(0, 6),
    st.integers(0, 6),
    st.integers(1, 900),
)
@settings(derandomize=True, max_examples=150, deadline=None)
def test_every_plan_is_sound(
    shape: list[tuple[str, int, int]], messages: int, tools: int, tokens: int
) -> None:
    """Stubs and folds end before the tail, prices are those of what is sent, pairs hold."""
    entries = [
        entry(at, kind, "x" * size, tool_call_id=str(call), tool_name="f")
        for at, (kind, size, call) in enumerate(shape, 1)
    ]
    policy = ShaperPolicy(
        budget_tokens=tokens,
        lod_headroom_tokens=-1,
        preserve_last_messages=messages,
        preserve_last_tool_calls=tools,
        lod_truncate_above_chars=100,
    )
    plan = plan_shape(entries, policy)
    assert all(at < plan.tail_start for at in plan.stubs)
    assert all(at >= plan.tail_start for at in plan.cuts)
    assert plan.fold in {range(0), range(plan.tail_start)}
    rendered = render(entries, stubs=plan.shown)
    assert plan.tokens == tokens_of(rendered)
    assert not (plan.fold and plan.cuts)
    sent = repair_pairs(rendered)
    assert sum(some.role == "tool" for some in sent) == sum(len(s.tool_calls) for s in sent)


@given(
    st.lists(st.tuples(KINDS, st.integers(0, 300), st.integers(1, 2)), max_size=25),
    st.lists(st.integers(1, 25), max_size=8),
    st.integers(50, 900),
)
@settings(derandomize=True, max_examples=400, deadline=None)
def test_a_history_that_grows_is_shown_as_if_it_were_new(
    shape: list[tuple[str, int, int]], stops: list[int], tokens: int
) -> None:
    """Whatever was kept from earlier builds, messages and prices are those of a fresh start."""
    entries = [
        entry(at, kind, "x" * size, tool_call_id=str(call), tool_name="f")
        for at, (kind, size, call) in enumerate(shape, 1)
    ]
    policy = POLICY.model_copy(update={"budget_tokens": tokens, "lod_truncate_above_chars": 100})
    prices, rendering = PriceList(policy), Rendering(policy)
    for stop in [*sorted(stops), 25, 3, 25]:
        some = entries[:stop]
        plan = plan_shape(some, policy, prices=prices)
        assert plan == plan_shape(some, policy)
        fresh = repair_pairs(render(some, stubs=plan.shown))
        assert rendering.messages(some, plan.shown) == fresh


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 3)), max_size=12), st.data())
@settings(derandomize=True, max_examples=200, deadline=None)
def test_the_order_of_a_history_that_grows(
    times: list[tuple[int, int]], data: st.DataObject
) -> None:
    """However it comes, grows or shrinks, it is in the order of `in_order`."""
    entries = [
        Entry(kind="user", id=f"{name}{at}", created_at=time)
        for at, (time, name) in enumerate(times)
    ]
    order = KeptOrder()
    for stop in data.draw(st.lists(st.integers(0, 12), max_size=5)):
        assert order.of(entries[:stop]) == in_order(entries[:stop])


def test_a_result_that_comes_late_changes_what_was_shown() -> None:
    """A first result stands behind its call, however much has come in between."""
    call = {"tool_call_id": "c", "tool_name": "job"}
    entries = [entry(1, "tool_call", "{}", **call)]
    entries += [entry(3), entry(4, "assistant"), entry(5)]
    rendering = Rendering(POLICY)
    assert rendering.messages(entries, {})[1].content == UNANSWERED
    entries.append(entry(6, "tool_result", "done at last", **call))
    assert rendering.messages(entries, {})[1].content == "done at last"


def test_what_has_come_of_a_lifted_call_is_shown_last() -> None:
    """The model has read that it is pending, and what it has read stays as it was."""
    call = {"tool_call_id": "c", "tool_name": "job"}
    entries = [entry(1, "tool_call", "{}", **call), entry(2, "tool_result", "PENDING", **call)]
    entries += [entry(3), entry(4, "assistant"), entry(5)]
    rendering = Rendering(POLICY)
    before = rendering.messages(entries, {})
    entries.append(entry(6, "tool_result", "done <|at|> last", **call))
    after = rendering.messages(entries, {})
    assert after[:-1] == before
    assert (after[-1].role, after[-1].content) == ("user", "[tool_result c] done &lt;|at|> last")


def test_the_border_of_the_stubs_moves_in_steps() -> None:
    """Entries that have left the tail are shown whole until as many as a step have."""
    policy = POLICY.model_copy(update={"step_entries": 8, "budget_tokens": 3_000})
    borders = set()
    for count in range(24, 34):
        entries = [entry(at, content="x" * 500) for at in range(count)]
        plan = plan_shape(entries, policy)
        assert not plan.fold
        borders.add(max(plan.stubs) + 1)
    assert borders == {16, 24}


class _Message:
    def __init__(self, **fields: object) -> None:
        self.__dict__.update(fields)


@pytest.mark.parametrize(
    ("answer", "summary"),
    [
        (" so ", "so"),
        ("", ""),
        (_Message(text="so"), "so"),
        (_Message(content="so"), "so"),
        (_Message(text=None, content="so"), "so"),
    ],
)
def test_the_summary_in_an_answer(answer: object, summary: str) -> None:
    """A text, or a message of any framework."""
    assert summary_in(answer) == summary


@pytest.mark.parametrize("answer", [None, 5, b"so", _Message(content=["so"])])
async def test_an_answer_without_a_summary(answer: Any) -> None:
    """The fold fails, and the error says what came."""
    shaper = Shaper(await stored(talk(40)), summarizer=lambda _: answer, policy=POLICY)
    with pytest.raises(FoldError, match="has to answer with a text"):
        await shaper.build("s")


@pytest.mark.parametrize("rounds", [20, 60])
async def test_the_task_outlives_every_fold(rounds: int) -> None:
    """In one long turn it stays, whole, behind the record of what was done for it."""
    task = entry(2, "user", "THE TASK " + "t" * 900)  # 1 leaves no time before it
    work = [some for some in talk(rounds, size=300, start=3) if some.kind != EntryKind.USER]
    store = await stored([task])
    policy = ShaperPolicy.for_context(1_500, lod_truncate_above_chars=400)
    shaper = Shaper(store, summarizer=_summary, policy=policy)
    messages = await shaper.build("s")
    for some in work:
        await store.append("s", some)
        if some.kind != EntryKind.TOOL_CALL:
            messages = await shaper.build("s")
    contents = [message.content for message in messages]
    assert contents.count(task.content) == 1
    assert contents[0].startswith("[compacted]\n")
    assert contents[1] == task.content
    assert tokens_of(messages) <= policy.budget_tokens


async def test_without_keep_task_a_fold_takes_it() -> None:
    """As the reference does."""
    store = await stored([entry(1, "user", "TASK"), *talk(40)[1:]])
    await Shaper(store, summarizer=_summary, policy=POLICY).build("s")
    assert "TASK" not in [some.content for some in await store.context("s")]


def test_a_task_alone_is_nothing_to_fold() -> None:
    """Before the tail there is nothing else."""
    policy = POLICY.model_copy(update={"keep_task": True, "preserve_last_messages": 1})
    entries = [entry(1, "user", "t" * 9_000), entry(2, "assistant", "a" * 9_000)]
    assert not plan_shape(entries, policy).fold


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("context_tokens", (0,)),
        ("context_tokens", (-5,)),
        ("context_tokens", (1,)),
        ("context_tokens", ("128000",)),
        ("context_tokens", (1e5,)),
    ],
)
def test_a_window_without_room_is_refused(field: str, arguments: tuple[Any, ...]) -> None:
    """A policy without a budget would never fold, and nobody would notice."""
    with pytest.raises(InvalidInputError, match=field):
        ShaperPolicy.for_context(*arguments)

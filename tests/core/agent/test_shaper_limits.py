"""What is sent keeps to the window, whatever a summariser says or tools cost."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import pytest

from loopguard_core.agent.budget import CharsByFour, tokens_of
from loopguard_core.agent.chat import ToolDefinition
from loopguard_core.agent.entries import Compaction, EntryKind
from loopguard_core.agent.shaping import FoldError, Shaper, ShaperPolicy, plan_shape
from loopguard_core.agent.shaping.summary import bounded_summary
from loopguard_core.agent.store import MemoryStore

from .session.scripted import Scripted, session
from .test_shaper import entry, stored, talk

if TYPE_CHECKING:
    from loopguard_core.agent.entries import Entry

LIMITS = ShaperPolicy.for_context(4_000)


def long_result(before_tail: int) -> list[Entry]:
    """Return a history whose long result stands so many entries before the tail of messages."""
    call = {"tool_call_id": "c", "tool_name": "look"}
    return [
        entry(1),
        entry(2, "tool_call", "{}", **call),
        entry(3, "tool_result", "r" * 20_000, **call),
        *[entry(4 + number, content="short") for number in range(before_tail + 5)],
    ]


@pytest.mark.parametrize("before_tail", range(1, 9))
def test_what_no_fold_follows_is_stubbed_up_to_the_tail(before_tail: int) -> None:
    """Stubs wait for whole steps, so that prompts keep beginning alike, but not over the budget."""
    plan = plan_shape(long_result(before_tail), LIMITS, may_fold=False)
    assert 2 in plan.shown
    assert plan.tokens <= LIMITS.budget_tokens


def test_stubs_wait_for_a_whole_step_while_the_budget_is_kept() -> None:
    """Then only the headroom is missed, and a cache is worth more."""
    policy = ShaperPolicy.for_context(8_000, lod_truncate_above_chars=400)
    entries = talk(3, size=3_200)
    plan = plan_shape(entries, policy, may_fold=False)
    assert plan.target < plan.tokens <= plan.budget
    assert plan.tail_start % policy.step_entries
    assert not any(at >= plan.tail_start - plan.tail_start % 8 for at in plan.stubs)


@pytest.mark.parametrize("context", [600, 2_000, 128_000])
@pytest.mark.parametrize("size", [10, 10_000, 1_000_000])
def test_a_summary_is_bounded(context: int, size: int) -> None:
    """It is sent with every later request, so one that runs away is cut in its middle."""
    policy = ShaperPolicy.for_context(context)
    most = min(max(1_000, policy.budget_tokens // 8), policy.budget_tokens // 2)
    summary = "".join(f"fact {number}. " for number in range(size // 10))
    short = bounded_summary(summary, policy)
    assert CharsByFour.estimate(short) <= most
    assert (short == summary) == (CharsByFour.estimate(summary) <= most)
    assert short.startswith("fact 0.")


def test_a_policy_without_a_budget_bounds_no_summary() -> None:
    """As when a fold is asked for by hand."""
    assert len(bounded_summary("s" * 99_999, ShaperPolicy())) == 99_999


@pytest.mark.parametrize("size", [400, 20_000, 200_000])
async def test_prompts_keep_to_the_budget_whatever_a_summariser_says(size: int) -> None:
    """Turn after turn, fold after fold."""
    model = Scripted("answer " + "w" * 600)
    policy = ShaperPolicy.for_context(3_000)
    store = await stored([])
    shaper = Shaper(store, summarizer=lambda _: "s" * size, policy=policy)
    some = session(runner=model, store=store, build=shaper.build)
    for _ in range(30):
        await some.turn("x" * 100)
    assert max(tokens_of(sent) for sent in model.sent) <= policy.budget_tokens


@pytest.mark.parametrize("is_heredoc", [False, True])
async def test_tools_count_against_the_window(*, is_heredoc: bool) -> None:
    """What is left of it for the reply is no place for their schemas."""
    schema = {"type": "object", "properties": {f"field_{n}": {"type": "string"} for n in range(60)}}
    tool = ToolDefinition(name="look", parameters=schema)
    model = Scripted("w" * 900)
    store = await stored([])
    shaper = Shaper(store, summarizer=lambda _: "so", policy=LIMITS)
    tools: dict[str, Any] = {"tools": [tool], "dispatch": lambda _: "", "tool_format": "native"}
    if is_heredoc:
        tools["tool_format"] = "heredoc"
    some = session(runner=model, store=store, build=shaper.build, **tools)
    for _ in range(20):
        await some.turn("x" * 400)
    beside = 0 if is_heredoc else CharsByFour.estimate(json.dumps(tool.wire()))
    assert max(tokens_of(sent) for sent in model.sent) + beside <= LIMITS.budget_tokens


# A failing summariser.


async def test_a_failed_fold_ends_no_turn_whose_prompt_fits(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Only the headroom is missed; after three failures it is left alone for a while."""
    asked: list[str] = []

    def fail(prompt: str) -> str:
        asked.append(prompt)
        raise OSError("unreachable")

    policy = ShaperPolicy.for_context(4_000, lod_headroom_tokens=2_600)
    store = await stored([entry(1, content="t" * 2_000)])
    shaper = Shaper(store, summarizer=fail, policy=policy)
    with caplog.at_level(logging.WARNING, "loopguard"):
        for number in range(2, 12):
            await store.append("s", entry(number, content="short"))
            messages = await shaper.build("s")
    assert len(messages) == 11
    assert len(asked) == 3
    assert "unreachable" in caplog.text


async def test_a_failed_fold_is_an_error_where_nothing_else_helps() -> None:
    """A prompt that is over the budget is not sent."""
    store = await stored([entry(number, content="t" * 3_000) for number in range(1, 20)])
    shaper = Shaper(store, summarizer=lambda _: "", policy=LIMITS)
    with pytest.raises(FoldError, match="summarize"):
        await shaper.build("s")


class _Raced(MemoryStore):
    """A store whose history another process folds just before this one does."""

    async def compact(self, session_id: str, compaction: Compaction) -> None:
        """Let the other process be first, once."""
        if not any(some.kind == EntryKind.COMPACTION for some in await self.context(session_id)):
            marker = compaction.marker.model_copy(update={"id": "theirs"})
            theirs = Compaction(marker=marker, subsumed=compaction.subsumed)
            await super().compact(session_id, theirs)
        await super().compact(session_id, compaction)


async def test_a_fold_that_another_process_made_first_is_theirs() -> None:
    """There is room then, so the turn goes on with what it finds."""
    store = _Raced()
    for some in talk(40, size=400):
        await store.append("s", some)
    messages = await Shaper(store, summarizer=lambda _: "so", policy=LIMITS).build("s")
    assert [m.content for m in messages].count(f"[compacted]\n{LIMITS.summary_heading}\n\nso") == 1
    assert tokens_of(messages) <= LIMITS.budget_tokens


async def test_a_budget_that_cannot_be_kept_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """What a person says is never cut, and the model is asked all the same."""
    store = await stored([entry(1, content="w" * 40_000)])
    shaper = Shaper(store, summarizer=lambda _: "so", policy=LIMITS)
    with caplog.at_level(logging.WARNING, "loopguard"):
        for _ in range(3):
            (message,) = await shaper.build("s")
    assert len(message.content) == 40_000
    assert ["cannot be brought" in record.getMessage() for record in caplog.records] == [True]

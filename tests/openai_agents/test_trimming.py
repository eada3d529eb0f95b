"""Trimming: `TrimmedSession` and `hooks.trim_input`."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from agents import Agent, RunConfig, SQLiteSession
from agents.extensions.memory import AdvancedSQLiteSession
from agents.memory import is_openai_responses_compaction_aware_session
from agents.run_config import CallModelData, ModelInputData
from agents.testing import ScriptedModel
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from loopguard_core.tokens import chars_estimate
from loopguard_openai_agents import LoopGuardHooks, TrimmedSession, guarded_run

from .driver import assert_valid
from .harness import CONFIG, MODES, calling, run, saying, search_tool


def one_each(_message: object) -> int:
    """Price every message at one token."""
    return 1


def user(text: str) -> dict[str, Any]:
    """Return a person's message."""
    return {"role": "user", "content": text}


def turn(number: int, *, thought: bool = True, calls: int = 1) -> list[Any]:
    """Return a turn: a question, reasoning, calls and their results, an answer."""
    ids = [f"c{number}.{n}" for n in range(calls)]
    return [
        user(f"question {number}"),
        *([{"type": "reasoning", "id": f"rs{number}", "summary": []}] if thought else []),
        *[{"type": "function_call", "call_id": i, "name": "f", "arguments": "{}"} for i in ids],
        *[{"type": "function_call_output", "call_id": i, "output": f"result {i}"} for i in ids],
        {"type": "message", "role": "assistant", "content": f"answer {number}"},
    ]


class ListSession:
    """A session that is a list, and compacts itself."""

    session_id = "list"
    session_settings = None

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.compacted: list[Any] = []

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the newest items."""
        return list(self.items if limit is None else self.items[-limit:])

    async def add_items(self, items: list[Any]) -> None:
        """Add items."""
        self.items += items

    async def pop_item(self) -> Any:
        """Remove the newest item."""
        return self.items.pop() if self.items else None

    async def clear_session(self) -> None:
        """Remove all."""
        self.items.clear()

    async def run_compaction(self, args: Any = None) -> None:
        """Take note of having been asked."""
        self.compacted.append(args)


def read(items: list[Any], max_tokens: int, **options: Any) -> list[Any]:
    """Return what a trimmed session reads of *items*."""
    session = TrimmedSession(
        ListSession(items), max_tokens=max_tokens, estimate=one_each, **options
    )
    return asyncio.run(session.get_items())


@settings(derandomize=True, max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 3)), min_size=1, max_size=12),
    st.integers(1, 60),
)
def test_oa29_whatever_is_left_out_no_item_is_left_alone(
    shape: list[tuple[bool, int]], max_tokens: int
) -> None:
    """OA29: the SDK does not mend what a filter returns: calls, results and reasoning stay whole."""
    items = [
        x for n, (thought, calls) in enumerate(shape) for x in turn(n, thought=thought, calls=calls)
    ]
    kept = read(items, max_tokens)
    positions = [next(i for i, x in enumerate(items) if x is item) for item in kept]
    assert positions == sorted(positions)
    assert_valid([item for item in kept if item.get("type") != "reasoning"])
    for position in positions:
        if items[position].get("type") == "reasoning":
            assert position + 1 in positions
        if position and items[position - 1].get("type") == "reasoning":
            assert position - 1 in positions
    assert kept[-1] is items[-1]


def test_what_fits_is_left_as_it_is() -> None:
    """Items come back as the very objects that are stored."""
    items = [*turn(0), *turn(1)]
    assert all(a is b for a, b in zip(read(items, 100), items, strict=True))


def test_items_that_are_not_read_pass_through_unedited() -> None:
    """A compaction at the head stays as a system message does; others are never edited."""
    head = {"type": "compaction", "id": "cmp", "encrypted_content": "secret"}
    reference = {"type": "item_reference", "id": "ref"}
    items = [head, *turn(0), *turn(1), reference, *turn(2)]
    kept = read(items, 9)
    assert kept[0] is head
    assert len(kept) < len(items)
    assert any(item is reference for item in read(items, 40))


def test_the_newest_compaction_stays_wherever_it_stands() -> None:
    """It stands for all that was before it, and comes behind the messages that were kept whole."""
    older, newer = ({"type": "compaction", "id": i, "encrypted_content": "x"} for i in "ab")
    items = [user("1"), older, *turn(0), user("2"), newer, *[x for n in range(5) for x in turn(n)]]
    for max_tokens in range(1, 12):
        kept = read(items, max_tokens)
        assert any(item is newer for item in kept)
        assert not any(item is older for item in kept)
    assert all(a is b for a, b in zip(read(items, 100), items, strict=True))


def test_what_is_not_read_is_priced_by_all_of_its_text() -> None:
    """A long string costs what it is long, in an item, in a hosted call, and in a tool's words."""
    long = "word " * 8_000
    hosted = {"type": "mcp_call", "id": "m", "name": "f", "arguments": "{}", "output": long}
    for item in (hosted, {"type": "mcp_list_tools", "id": "l", "tools": [{"description": long}]}):
        session = TrimmedSession(
            ListSession([item, *turn(0)]), max_tokens=2_000, estimate=chars_estimate
        )
        assert item not in asyncio.run(session.get_items())
    search, _ = search_tool(description_override=long)
    hooks = LoopGuardHooks(max_tokens=10_100, estimate=chars_estimate)
    given = ModelInputData([x for n in range(20) for x in turn(n)], None)
    left = hooks.trim_input(CallModelData(given, Agent(name="a", tools=[search]), None)).input
    assert len(left) < len(given.input)


def test_a_hosted_call_stays_behind_its_reasoning() -> None:
    """A call that the provider ran has no result elsewhere, and is no orphan."""
    thought = {"type": "reasoning", "id": "rs", "summary": []}
    hosted = {"type": "mcp_call", "id": "m", "name": "f", "arguments": "{}", "output": "x"}
    for tokens in range(1, 8):
        kept = read(
            [*turn(0), user("?"), thought, hosted, {"role": "assistant", "content": "!"}], tokens
        )
        assert (thought in kept) == (hosted in kept)


def test_pinned_items_stay() -> None:
    """`pinned` says of an item that trimming must keep it."""
    items = [user("remember this"), *[x for n in range(9) for x in turn(n)]]
    kept = read(items, 8, pinned=lambda item: item.get("content") == "remember this")
    assert kept[0] is items[0]


def test_an_oversized_newest_result_is_cut_on_a_copy(caplog: pytest.LogCaptureFixture) -> None:
    """Its head and its tail stay; what is stored does not change; what cannot fit is logged."""
    items = turn(0)[:-1]
    items[-1] = {**items[-1], "output": "begin " + "x" * 20_000 + " end"}
    session = TrimmedSession(
        ListSession(items), max_tokens=200, estimate=lambda m: len(str(m.get("meta"))) / 4
    )
    kept = asyncio.run(session.get_items())
    assert kept[-1]["output"].startswith("begin")
    assert kept[-1]["output"].endswith("end")
    assert len(kept[-1]["output"]) < 2_000
    assert len(items[-1]["output"]) > 20_000
    with caplog.at_level(logging.WARNING, "loopguard"):
        read(turn(0)[:-1], 1)
    assert "more than the budget" in caplog.text


def test_everything_else_is_the_wrapped_sessions() -> None:
    """It stores, pops, clears and compacts where the wrapped session does."""
    inner = ListSession([])
    session = TrimmedSession(inner, max_tokens=5)
    assert session.session_id == "list"
    session.session_id = "renamed"
    assert inner.session_id == "renamed"
    assert session.session_settings is None
    session.session_settings = None
    assert is_openai_responses_compaction_aware_session(session)

    async def use() -> None:
        await session.add_items([user("a"), user("b")])
        assert await session.pop_item() == user("b")
        assert (await session.plan()).tokens > 0
        await session.run_compaction({"force": True})
        await session.clear_session()

    asyncio.run(use())
    assert inner.compacted == [{"force": True}]
    assert inner.items == []
    with pytest.raises(AttributeError):
        _ = session.no_such_thing


def test_a_budget_that_cannot_be_used_is_named() -> None:
    """The error names the field and the value."""
    with pytest.raises(ValidationError, match="max_tokens"):
        TrimmedSession(ListSession([]), max_tokens=0)
    with pytest.raises(ValidationError, match="max_tokens"):
        LoopGuardHooks(max_tokens=0)


@pytest.mark.parametrize("mode", MODES)
def test_a_long_run_is_shown_what_fits_and_stored_whole(mode: str) -> None:
    """In-run items pass no session: the filter is what trims them."""
    search, _ = search_tool()
    model = ScriptedModel(
        [
            *[
                [call.model_copy(update={"call_id": f"c{n}"})]
                for n in range(9)
                for (call,) in calling(1, q=f"{n}")
            ],
            *saying("Done."),
        ]
    )
    hooks = LoopGuardHooks(max_tokens=8, estimate=one_each)
    config = RunConfig(tracing_disabled=True, call_model_input_filter=hooks.trim_input)
    result = run(
        Agent(name="a", model=model, tools=[search]), mode=mode, hooks=hooks, run_config=config
    )
    shown = [call.input for call in model.calls]
    assert max(map(len, shown)) <= 9
    for items in shown:
        assert_valid(items)
        assert items[0] == user("Go.")
    assert len(result.to_input_list()) == 1 + 9 * 2 + 1


def test_instructions_and_tools_count_against_the_budget() -> None:
    """What a request costs beside its items is taken off first."""
    search, _ = search_tool()
    items = [x for n in range(20) for x in turn(n)]
    hooks = LoopGuardHooks(max_tokens=200, estimate=lambda m: max(1, len(m.get("text") or "") // 4))
    plain = ModelInputData(list(items), None)
    told = ModelInputData(list(items), "Be brief. " * 50)
    bare = hooks.trim_input(CallModelData(plain, Agent(name="a"), None)).input
    full = hooks.trim_input(CallModelData(told, Agent(name="a", tools=[search]), None)).input
    assert len(full) < len(bare) <= len(items)


def test_oa30_an_input_that_continues_a_conversation_of_the_server_is_passed_on() -> None:
    """OA30: it begins with answers to calls that are on the server, and must not be rewritten."""
    items: list[Any] = [
        {"type": "function_call_output", "call_id": f"c{n}", "output": "x" * 999} for n in range(9)
    ]
    data = CallModelData(ModelInputData(items, "Be brief."), Agent(name="a"), None)
    assert LoopGuardHooks(max_tokens=1).trim_input(data) is data.model_data
    assert LoopGuardHooks().trim_input(data) is data.model_data


def test_a_guarded_run_trims_behind_the_users_own_filter() -> None:
    """What the user's filter leaves is what is trimmed."""
    model = ScriptedModel(saying("Done."))
    seen: list[int] = []

    async def own(data: CallModelData[Any]) -> ModelInputData:
        seen.append(len(data.model_data.input))
        return ModelInputData(data.model_data.input[2:], data.model_data.instructions)

    config = RunConfig(tracing_disabled=True, call_model_input_filter=own)
    items = [user(f"{n} " + "word " * 50) for n in range(40)]
    asyncio.run(guarded_run(Agent(name="a", model=model), items, max_tokens=500, run_config=config))
    (call,) = model.calls
    assert seen == [40]
    assert 0 < len(call.input) < 20
    assert call.input[-1] == items[-1]


@pytest.mark.parametrize("kind", [SQLiteSession, AdvancedSQLiteSession])
def test_a_session_is_trimmed_where_a_run_reads_it(kind: Any) -> None:
    """The runner takes a trimmed session as any other, and what it stores stays whole."""
    inner = kind(session_id="s", **({"create_tables": True} if kind is not SQLiteSession else {}))
    session = TrimmedSession(inner, max_tokens=6, estimate=one_each)
    model = ScriptedModel(saying(*[f"answer {n}" for n in range(9)]))
    for n in range(9):
        run(Agent(name="a", model=model), f"question {n}", session=session, run_config=CONFIG)
    assert len(model.calls[-1].input) <= 7
    assert len(asyncio.run(inner.get_items())) == 18
    inner.close()

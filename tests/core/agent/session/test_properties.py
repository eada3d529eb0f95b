"""Whatever a model says and a tool does, a turn ends and leaves a whole history."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core import LoopGuard, Policy
from loopguard_core.agent.chat import ToolCall, ToolDefinition
from loopguard_core.agent.dispatch import AbortTurn, SessionClosed
from loopguard_core.agent.entries import in_order
from loopguard_core.agent.errors import TurnError
from loopguard_core.agent.runner import REPETITION, Chunk, TokenReport
from loopguard_core.reply import ExactFinding

from .scripted import session

if TYPE_CHECKING:
    from loopguard_core.agent.session import TurnResult

TEXTS = st.sampled_from(
    ["", "fine", "{OUTPUT} {a}", "@@call look\n{}\n@@end", "@@call look\n{x", "\ud800"]
)
ARGUMENTS = st.sampled_from(
    ["", "{}", '{"a": 1}', '{"a": ', "{'a': 1,}", "[1]", "nonsense", "\udfff"]
)
CALLS = st.builds(
    ToolCall, st.sampled_from(["", "c", "d"]), st.sampled_from(["look", "x", ""]), ARGUMENTS
)
CUT = Chunk(
    done=True, stop_reason=REPETITION, finding=ExactFinding("content", 2, 3, 4, b"\xff\xfe")
)
PIECES = st.one_of(
    TEXTS,
    CALLS,
    st.just(CUT),
    st.just(Chunk(usage=TokenReport(prompt=3, completion=1, cached=9))),
    st.just(Chunk(error=ConnectionError("gone"))),
)
REPLIES = st.lists(st.lists(PIECES, max_size=4), min_size=1, max_size=6)
ANSWERS = st.lists(
    st.sampled_from(
        ["", "<a>b</a>", "long " * 50, ValueError("no"), SessionClosed("bye"), AbortTurn("stop")]
    ),
    min_size=1,
    max_size=4,
)
OPTIONS = st.fixed_dictionaries(
    {
        "guard": st.sampled_from([None, LoopGuard(), LoopGuard(policy=Policy.strict())]),
        "max_turns": st.integers(1, 8),
        "tool_format": st.sampled_from(["native", "heredoc"]),
        "tools": st.sampled_from([(), (ToolDefinition(name="look"),)]),
        "max_tool_result_chars": st.sampled_from([0, 30]),
        "max_repetition_retries": st.sampled_from([-1, 1]),
        "encode_tool_result": st.sampled_from([None, str.upper]),
        "now": st.sampled_from([lambda: 7, lambda: -7]),
    }
)


class Answers:
    """Gives or raises the answers in turn, for ever."""

    def __init__(self, answers: list[Any]) -> None:
        self._answers = answers
        self._next = 0

    def __call__(self, _: ToolCall) -> str:
        """Give the next answer."""
        answer = self._answers[self._next % len(self._answers)]
        self._next += 1
        if isinstance(answer, Exception):
            raise answer
        return str(answer)


async def check(replies: list[list[Any]], answers: list[Any], options: dict[str, Any]) -> None:
    """Run two turns and look at what they leave."""
    some = session(*replies, dispatch=Answers(answers), **options)
    for message in ("hi", "and?"):
        result: TurnResult | None
        try:
            result = await some.turn(message)
        except TurnError as error:
            result = error.result
        assert result is not None
        assert result.usage == some.usage
    entries = in_order(await some.store.context("s"))
    calls = [entry.tool_call_id for entry in entries if entry.kind == "tool_call"]
    assert sorted(calls) == sorted(e.tool_call_id for e in entries if e.kind == "tool_result")
    assert all(calls)
    assert len({entry.created_at for entry in entries}) == len(entries)
    said = [entry.content for entry in entries if entry.kind == "user"]
    assert said == ["hi", "and?"]


@settings(derandomize=True, max_examples=150, deadline=None)
@given(REPLIES, ANSWERS, OPTIONS)
def test_a_history_is_whole(
    replies: list[list[Any]], answers: list[Any], options: dict[str, Any]
) -> None:
    """Every call has its result, no two entries have one time, and an error has its result."""
    asyncio.run(check(replies, answers, options))

"""A session that cannot work is refused when it is made, by the name of its argument."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from loopguard_core import InvalidInputError, LoopGuard, Policy
from loopguard_core.agent.chat import ToolDefinition
from loopguard_core.agent.session import Session
from loopguard_core.agent.store import MemoryStore

from .scripted import Scripted, session

TOOL = ToolDefinition(name="look")


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("session_id", {"session_id": ""}),
        ("session_id", {"session_id": 3}),
        ("store", {"store": object()}),
        ("runner", {"runner": object()}),
        ("thread_id", {"thread_id": None}),
        ("system", {"system": b"x"}),
        ("build", {"build": "native"}),
        ("tools", {"tools": TOOL}),
        (r"tools\[1\]", {"tools": [TOOL, {"name": "x"}]}),
        (r"tools\[1\]\.name", {"tools": [TOOL, TOOL]}),
        (r"tools\[0\]\.name", {"tools": [ToolDefinition(name="")]}),
        ("dispatch", {"dispatch": "look"}),
        ("dispatch", {"tools": [TOOL], "dispatch": None}),
        ("tool_format", {"tool_format": "xml"}),
        ("chat_opts", {"chat_opts": {"temperature": 0}}),
        ("on_usage", {"on_usage": 1}),
        ("estimate", {"estimate": None}),
        ("max_turns", {"max_turns": "5"}),
        ("max_turns", {"max_turns": True}),
        ("max_tool_result_chars", {"max_tool_result_chars": 1.5}),
        ("repair_pairs", {"repair_pairs": 1}),
        ("forced_terminal_tool", {"tools": [TOOL], "forced_terminal_tool": "submit"}),
        ("encode_tool_result", {"encode_tool_result": "tight"}),
        ("now", {"now": 5}),
        ("tracer", {"tracer": object()}),
        ("guard", {"guard": Policy()}),
        ("guard_snapshot", {"guard_snapshot": {}}),
        ("snapshot", {"guard": LoopGuard(), "guard_snapshot": {"version": 99}}),
        ("on_blocked_call", {"guard": LoopGuard(policy=Policy(on_block="ask"))}),
    ],
)
def test_what_cannot_work_is_named(field: str, options: dict[str, Any]) -> None:
    """The error begins with the argument, and is also a ValueError."""
    with pytest.raises(InvalidInputError, match=f"^{field}"):
        session("hello", **options)


def test_an_unknown_argument_is_named() -> None:
    """As with every function."""
    with pytest.raises(TypeError, match="temperature"):
        session("hello", temperature=0)


def test_a_session_needs_three_things() -> None:
    """A name, a store and a model; all by name."""
    with pytest.raises(TypeError, match="session_id"):
        Session(store=MemoryStore(), runner=Scripted("x"))  # type: ignore[call-arg] - on purpose
    assert Session(session_id="s", store=MemoryStore(), runner=Scripted("x")).max_turns == 100


def test_options_do_not_change() -> None:
    """A session is what it was made as."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        session("hello").max_turns = 3  # type: ignore[misc] - on purpose


@pytest.mark.parametrize(
    ("options", "limits"),
    [
        ({}, (100, 2, 5)),
        ({"max_turns": 0, "max_repetition_retries": 0, "max_repeated_exchanges": 0}, (100, 2, 5)),
        ({"max_turns": -1, "max_repetition_retries": -1}, (100, -1, 5)),
        ({"max_turns": 3, "max_repeated_exchanges": 1}, (3, 2, 1)),
    ],
)
def test_limits(options: dict[str, int], limits: tuple[int, int, int]) -> None:
    """Zero is the default, negative the default or no limit."""
    some = session("hello", **options)
    assert (some.round_limit, some.retry_limit, some.repeat_limit) == limits


def test_a_guard_object_is_used_by_many() -> None:
    """Each session has a run of its own."""
    guard = LoopGuard()
    runs = [session("hello", guard=guard).guarded_run for _ in range(2)]
    assert runs[0] is not runs[1]
    assert session("hello").guarded_run is None

"""What cannot be used is refused where it is passed, by an error that names it."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import pytest
from agents import Agent, SQLiteSession
from agents.testing import ScriptedModel

from loopguard_core import InvalidInputError
from loopguard_core.agent import ShaperPolicy
from loopguard_openai_agents import (
    ContextShaper,
    GuardedModel,
    LoopGuardHooks,
    ShapedSession,
    TrimmedSession,
    guard_agent,
    guarded_run,
    prepare_tools,
)

if TYPE_CHECKING:
    from collections.abc import Callable

AGENT = Agent(name="a")
SESSION = SQLiteSession("s")
MODEL = ScriptedModel([])


def shaper(**wrong: Any) -> ContextShaper:
    """Return a shaper with an argument that is wrong."""
    return ContextShaper(policy=ShaperPolicy.for_context(1_000), **wrong)


def go(agent: Any, **wrong: Any) -> object:
    """Run an agent with arguments of which one is wrong."""
    return asyncio.run(guarded_run(agent, "Go.", **wrong))


MISTAKES: list[tuple[str, Callable[[], object]]] = [
    ("guard", lambda: LoopGuardHooks(guard=5)),  # type: ignore[arg-type]
    ("estimate", lambda: LoopGuardHooks(estimate=5)),  # type: ignore[arg-type]
    ("pinned", lambda: LoopGuardHooks(pinned=5)),  # type: ignore[arg-type]
    ("existing", lambda: LoopGuardHooks().tool_use_behavior("bogus")),
    ("existing", lambda: LoopGuardHooks().tool_use_behavior(5)),  # type: ignore[arg-type]
    ("tools", lambda: LoopGuardHooks().guard_tools("search")),  # type: ignore[arg-type]
    ("tools[0]", lambda: LoopGuardHooks().guard_tools(["search"])),  # type: ignore[list-item]
    ("tools", lambda: prepare_tools(None)),  # type: ignore[arg-type]
    ("tools[0]", lambda: prepare_tools([len])),  # type: ignore[list-item]
    ("hygiene", lambda: prepare_tools([], hygiene=3)),  # type: ignore[arg-type]
    ("guard", lambda: guard_agent(AGENT, guard=5)),  # type: ignore[arg-type]
    ("agent", lambda: guard_agent(5)),  # type: ignore[arg-type]
    ("guard", lambda: go(AGENT, guard=5)),
    ("agent", lambda: go("a")),
    ("run_config", lambda: go(AGENT, run_config={})),
    ("guard", lambda: GuardedModel(MODEL, guard=5)),  # type: ignore[arg-type]
    ("model", lambda: GuardedModel(5)),  # type: ignore[arg-type]
    ("runs", lambda: GuardedModel(MODEL, runs=3)),  # type: ignore[arg-type]
    ("session", lambda: TrimmedSession(5, max_tokens=4)),  # type: ignore[arg-type]
    ("pinned", lambda: TrimmedSession(SESSION, max_tokens=4, pinned=5)),  # type: ignore[arg-type]
    ("shaper", lambda: ShapedSession(SESSION, shaper=5)),  # type: ignore[arg-type]
    ("policy", lambda: ContextShaper(policy=5)),  # type: ignore[arg-type]
    ("summarizer", lambda: shaper(summarizer="model")),
    ("max_result_bytes", lambda: shaper(max_result_bytes="x")),
    ("on_fold", lambda: shaper(on_fold=3)),
    ("estimate", lambda: shaper(estimate=3)),
    ("transclude", lambda: shaper(transclude="yes")),
]


@pytest.mark.parametrize(("name", "make"), MISTAKES)
def test_a_mistake_is_named(name: str, make: Callable[[], object]) -> None:
    """The error says which argument, and what it was."""
    with pytest.raises(InvalidInputError, match=rf"^{re.escape(name)}: expected .*, got "):
        make()

"""What cannot be used is refused where it is passed, by an error that names it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from loopguard_core import InvalidInputError, Policy
from loopguard_core.agent import ShaperPolicy
from loopguard_llamaindex import LoopGuardMemory, guard_tools, prepare_tools

if TYPE_CHECKING:
    from collections.abc import Callable


def memory(**wrong: Any) -> object:
    """Return a memory with an argument that is wrong."""
    return LoopGuardMemory.from_defaults(**wrong)


MISTAKES: list[tuple[str, Callable[[], object]]] = [
    ("token_limt", lambda: memory(token_limt=5)),
    ("chat_history", lambda: memory(chat_history="x")),
    ("chat_history", lambda: memory(chat_history=["x"])),
    ("guard", lambda: memory(guard=Policy())),
    ("shaper", lambda: memory(shaper=ShaperPolicy())),
    ("guard", lambda: guard_tools([], guard=Policy())),  # type: ignore[arg-type]
    ("tools", lambda: guard_tools(5)),  # type: ignore[arg-type]
    ("tools[0]", lambda: guard_tools([5])),  # type: ignore[list-item]
    ("tools[1]", lambda: prepare_tools([len, 5])),  # type: ignore[list-item]
    ("hygiene", lambda: prepare_tools([], hygiene=3)),  # type: ignore[arg-type]
    ("max_result_bytes", lambda: prepare_tools([], max_result_bytes=-3)),
    ("max_result_bytes", lambda: prepare_tools([], max_result_bytes=True)),
    ("transclude", lambda: prepare_tools([], transclude="x")),  # type: ignore[arg-type]
    ("slots", lambda: prepare_tools([], slots={})),  # type: ignore[arg-type]
    ("reserve_pct", lambda: ShaperPolicy.for_context(1_000, reserve_pct=150)),
    ("reserve_pct", lambda: ShaperPolicy.for_context(1_000, reserve_pct=-1)),
]


@pytest.mark.parametrize(("name", "make"), MISTAKES)
def test_a_mistake_is_named(name: str, make: Callable[[], object]) -> None:
    """The error says which argument, and what it was."""
    with pytest.raises(InvalidInputError, match=rf"^{re.escape(name)}: expected .*, got "):
        make()

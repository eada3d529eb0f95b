"""What cannot be used is refused where it is passed, by an error that names it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from loopguard_core import InvalidInputError
from loopguard_core.agent import (
    FinderPreparer,
    MCPPreparer,
    MemoryStore,
    Session,
    Shaper,
    ShaperPolicy,
    SqliteStore,
    ToolDefinition,
    validating_dispatcher,
)

if TYPE_CHECKING:
    from collections.abc import Callable

STORE = MemoryStore()
POLICY = ShaperPolicy.for_context(1_000)


def shaper(**wrong: Any) -> Shaper:
    """Return a shaper with arguments of which one is wrong."""
    given = {"store": STORE, "summarizer": str, "policy": POLICY} | wrong
    return Shaper(given.pop("store"), **given)


def session(**wrong: Any) -> Session:
    """Return a session with arguments of which one is wrong."""
    given: dict[str, Any] = {"session_id": "s", "store": STORE, "runner": _Runner()}
    return Session(**given | wrong)


class _Runner:
    async def stream(self, *_: Any) -> Any:
        """Say nothing."""


class _Finder:
    async def find(self, texts: Any) -> Any:
        """Find nothing."""
        return texts


MISTAKES: list[tuple[str, Callable[[], object]]] = [
    ("store", lambda: shaper(store=None)),
    ("store", lambda: shaper(store=MemoryStore)),
    ("policy", lambda: shaper(policy=None)),
    ("estimate", lambda: shaper(estimate=4)),
    ("summarizer", lambda: shaper(summarizer="model")),
    ("name", lambda: ToolDefinition(name=5)),  # type: ignore[arg-type]
    ("description", lambda: ToolDefinition(name="a", description=None)),  # type: ignore[arg-type]
    (
        "tools[0].parameters",
        lambda: session(tools=[ToolDefinition(name="a", parameters="s")], dispatch=str),  # type: ignore[arg-type]
    ),
    ("timeout_s", lambda: SqliteStore(":memory:", timeout_s="a")),  # type: ignore[arg-type]
    ("store", lambda: FinderPreparer(None, _Finder())),  # type: ignore[arg-type]
    ("finder", lambda: FinderPreparer(STORE, None)),  # type: ignore[arg-type]
    ("options", lambda: FinderPreparer(STORE, _Finder(), options=3)),  # type: ignore[arg-type]
    ("render", lambda: FinderPreparer(STORE, _Finder(), render="x")),  # type: ignore[arg-type]
    ("store", lambda: MCPPreparer(None, None)),  # type: ignore[arg-type]
    ("inner", lambda: validating_dispatcher(5, None)),  # type: ignore[arg-type]
    ("validator", lambda: validating_dispatcher(str, 5)),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("name", "make"), MISTAKES)
def test_a_mistake_is_named(name: str, make: Callable[[], object]) -> None:
    """The error says which argument, and what it was."""
    with pytest.raises(InvalidInputError, match=rf"^{re.escape(name)}: expected .*, got "):
        make()

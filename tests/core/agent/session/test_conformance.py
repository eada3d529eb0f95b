"""Every conformance case of the turn loop, through the public session.

A case whose quirk is mended is changed first to what is advised; see `quirks.FIXED`.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from loopguard_core.agent.entries import Entry
from loopguard_core.agent.errors import (
    MaxTurnsError,
    ModelLoopedError,
    ToolCallLoopError,
    TurnError,
)
from loopguard_core.agent.session import Session
from loopguard_core.agent.store import MemoryStore
from tests.core.agent.cases import cases, ids
from tests.core.agent.quirks import FIXED

from .advised import ADVISED
from .driver import Driver
from .wording import Wording

NAMES = [
    "turn_args",
    "turn_clock",
    "turn_cut",
    "turn_encode",
    "turn_heredoc",
    "turn_hook",
    "turn_inbox",
    "turn_loop",
    "turn_prompt",
    "turn_repeat",
    "turn_shaper",
    "turn_spans",
    "turn_transclusion",
    "turn_usage",
]
CASES = [case for name in NAMES for case in cases(name)]
INJECTED = cases("inject")


def test_no_case_is_missing() -> None:
    """The files hold as many cases as they did."""
    assert (len(CASES), len(INJECTED)) == (86, 2)


def test_what_is_advised_is_named() -> None:
    """A case that is changed is in the table of mended quirks."""
    assert ADVISED.keys() <= FIXED.keys()


@pytest.mark.parametrize("case", CASES, ids=ids(CASES))
async def test_a_turn(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is stored, sent, streamed, dispatched, counted and raised."""
    monkeypatch.setattr("loopguard_core.agent.session.chat_reader.perf_counter", lambda: 0.0)
    expected = deepcopy(case["out"] | ADVISED.get(case["id"], {}))
    wording = Wording(case["in"])
    actual = await Driver(case["in"]).run()
    errors = [turn.pop("error") for turn in actual["turns"]]
    wanted = [turn.pop("error") for turn in expected["turns"]]
    for key, value in expected.items():
        assert wording.agrees(value, actual[key]), (key, value, actual[key])
    assert all(map(is_error, wanted, errors)), (wanted, errors)


@pytest.mark.parametrize("case", INJECTED, ids=ids(INJECTED))
async def test_an_entry_is_injected(case: dict[str, Any]) -> None:
    """What is missing is filled, what is given is kept."""
    store = MemoryStore()
    session = Session(
        session_id="s",
        store=store,
        runner=Driver({}),
        now=lambda: case["in"]["now"],
    )
    await session.inject(Entry(**case["in"]["entry"]))
    [stored] = await store.context("s")
    [expected] = case["out"]["stored"]
    if expected["id"] == "~001":
        expected = expected | {"id": stored.id}
    assert stored.id
    assert stored == Entry(**expected)


def is_error(expected: dict[str, Any] | None, error: BaseException | None) -> bool:
    """Return True if *error* is what a case describes."""
    match expected:
        case None:
            return error is None
        case {"message": message}:
            return str(error) == message
        case {"stage": stage, "cause": cause}:
            return getattr(error, "stage", None) == stage and is_error(cause, error.cause)
        case {"kind": kind}:
            parts = expected["must_contain"]
            return _is_own(kind, expected, error) and all(part in str(error) for part in parts)
        case _:
            return False


def _is_own(kind: str, given: dict[str, Any], error: BaseException | None) -> bool:
    match kind, error:
        case "model_looped", ModelLoopedError(times=times):
            return times == given["times"]
        case "tool_call_loop", ToolCallLoopError(tools=tools, rounds=rounds):
            return (", ".join(tools), rounds) == (given["tools"], given["rounds"])
        case "max_turns", MaxTurnsError(max_turns=limit, forced_tool=""):
            return limit == given["max_turns"]
        case "max_turns_forced_tool_never_called", MaxTurnsError(max_turns=limit, forced_tool=tool):
            return (limit, tool) == (given["max_turns"], given["tool"])
        case _:
            return isinstance(error, TurnError) and False

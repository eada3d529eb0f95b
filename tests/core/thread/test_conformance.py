"""Every case of `thread.jsonl` but those of `build_thread`: the functions and the stream guard."""

from __future__ import annotations

import copy
import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from loopguard_core import thread
from loopguard_core.thread import CycleOptions, StreamGuard, StreamGuardOptions, TextRunOptions

_FILE = Path(__file__).parents[2] / "data" / "thread.jsonl"
_ROWS = [json.loads(line) for line in _FILE.read_text("utf-8").split("\n") if line]
CASES = [row for row in _ROWS if row["fn"] != "build_thread"]
NUMBER_OF_CASES = {
    "describe_thread_cycle": 78,
    "guard": 101,
    "has_repeated_activity_tail": 46,
    "has_repeated_result_run": 40,
    "has_repeated_suffix": 36,
    "has_repeated_text_run": 65,
}


def _cases(*functions: str) -> list[Any]:
    found = [case for case in CASES if case["fn"] in functions]
    return [pytest.param(case, id=f"{case['fn']}-{row}") for row, case in enumerate(found)]


def test_no_case_is_lost() -> None:
    """The copy holds as many cases of each function as it was made with."""
    assert Counter(case["fn"] for case in CASES) == NUMBER_OF_CASES


@pytest.mark.parametrize(
    "case",
    _cases(
        "describe_thread_cycle",
        "has_repeated_activity_tail",
        "has_repeated_result_run",
        "has_repeated_suffix",
    ),
)
def test_messages(case: dict[str, Any]) -> None:
    """A heuristic says of the thread what the case says, and leaves the thread as it was."""
    messages = copy.deepcopy(case["messages"])
    heuristic = getattr(thread, case["fn"])
    assert heuristic(messages, CycleOptions(**case["options"])) == case["expect"]
    assert messages == case["messages"]


@pytest.mark.parametrize("case", _cases("has_repeated_text_run"))
def test_text(case: dict[str, Any]) -> None:
    """The text run says of the text what the case says."""
    options = TextRunOptions(**case["options"])
    assert thread.has_repeated_text_run(case["text"], options) == case["expect"]


@pytest.mark.parametrize("case", _cases("guard"))
def test_stream(case: dict[str, Any]) -> None:
    """The guard trips at the piece and for the reason of the case."""
    guard = StreamGuard(StreamGuardOptions(**case["options"]))
    answers = [guard.push(piece) for piece in case["pushes"]]
    tripped_at = answers.index(True) if True in answers else None
    reason = None if guard.reason is None else asdict(guard.reason)
    assert (case["tripped_at"], case["expect"]) == (tripped_at, reason)

"""Every case of `converge.jsonl`: one run's events, and the verdict that each must get."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loopguard_core.converge import ConvergeConfig, ConvergeVerdict, Monitor

_FILE = Path(__file__).parents[2] / "data" / "converge.jsonl"
CASES = [json.loads(line) for line in _FILE.read_text("utf-8").split("\n") if line]
NUMBER_OF_CASES = 22

_SETTINGS = {
    "k": "oscillation_k",
    "w": "oscillation_window",
    "z": "zero_progress_k",
    "depth": "max_depth",
    "response": "response",
    "osc": "oscillation_response",
    "zero": "zero_progress_response",
}


def test_no_case_is_lost() -> None:
    """The copy holds as many cases as it was made with."""
    assert len(CASES) == NUMBER_OF_CASES


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    """Each event of the case gets the verdict that the case names, in every field it names."""
    monitor = Monitor(ConvergeConfig(**{_SETTINGS[k]: v for k, v in case["settings"].items()}))
    verdicts = [_feed(monitor, event) for event in case["events"]]
    named = [
        {field: getattr(verdict, field) for field in expected}
        for verdict, expected in zip(verdicts, case["expect"], strict=True)
    ]
    assert case["expect"] == named


def _feed(monitor: Monitor, event: list[str]) -> ConvergeVerdict:
    match event:
        case ["i", state_hash]:
            return monitor.observe_iteration(state_hash)
        case ["c", tool, arguments_hash]:
            return monitor.observe_tool_call(tool, arguments_hash)
    raise AssertionError(event)

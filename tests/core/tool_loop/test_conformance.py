"""Every case of `tool_loop.jsonl` and `tool_loop_random.jsonl`, with every verdict it names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loopguard_core.tool_loop import (
    Decision,
    ToolLoopConfig,
    ToolLoopDetector,
    call_fingerprint,
    result_fingerprint,
)

_DATA = Path(__file__).parents[2] / "data"


def _cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (_DATA / name).read_text("utf-8").split("\n") if line]


CASES = _cases("tool_loop.jsonl")
RANDOM_CASES = _cases("tool_loop_random.jsonl")
FINGERPRINT_CASES = _cases("tool_loop_fingerprints.jsonl")


def test_no_case_is_lost() -> None:
    """The copies hold as many cases as they were made with."""
    assert (len(CASES), len(RANDOM_CASES), len(FINGERPRINT_CASES)) == (57, 150, 22)


def run_event(detector: ToolLoopDetector, event: dict[str, Any]) -> Decision | None:
    """Do what *event* says, as often as it says."""
    match event["op"]:
        case "observe":
            for _ in range(event.get("repeat", 1)):
                detector.observe_result(
                    event["tool"],
                    event["args"],
                    event["text"],
                    is_error=event.get("is_error", False),
                )
        case "check":
            return detector.check(event["tool"], event["args"])
        case "arm":
            detector.arm_post_compaction()
        case "reset":
            detector.reset()
        case "reset_fingerprint" if "hash" in event:
            detector.reset_fingerprint(event["hash"])
        case "reset_fingerprint":
            detector.reset_fingerprint(call_fingerprint(event["tool"], event["args"]))
        case unknown:
            raise AssertionError(unknown)
    return None


def new_detector(event: dict[str, Any]) -> ToolLoopDetector:
    """Make the detector of a `new` event; a zero base has every number 0 and is off."""
    zero = dict.fromkeys(event["expect_config"], 0) | {"enabled": False}
    base = zero if event["base"] == "zero" else {}
    return ToolLoopDetector(ToolLoopConfig(**{**base, **event["config"]}))


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    """Each check gets the decision, and each set of settings resolves to what the case names."""
    detector = ToolLoopDetector()
    for event in case["events"]:
        if event["op"] == "new":
            detector = new_detector(event)
            resolved = detector.config.model_dump(include=set(event["expect_config"]))
            assert event["expect_config"] == resolved
            continue
        decision = run_event(detector, event)
        expected = event.get("expect", {})
        assert expected == {field: getattr(decision, field) for field in expected}


@pytest.mark.parametrize("case", RANDOM_CASES)
def test_random_case(case: dict[str, Any]) -> None:
    """Each check of a long random run gets the reference's decision."""
    detector = ToolLoopDetector(ToolLoopConfig(**case["config"]))
    for op in case["ops"]:
        match op:
            case ["o", tool, arg, text, error]:
                detector.observe_result(f"t{tool}", {"a": arg}, f"r{text}", is_error=bool(error))
            case ["c", tool, arg, *expected]:
                found = detector.check(f"t{tool}", {"a": arg})
                assert expected == [found.level, found.detector, found.count, found.terminate]
            case ["a"]:
                detector.arm_post_compaction()
            case ["f", tool, arg]:
                detector.reset_fingerprint(call_fingerprint(f"t{tool}", {"a": arg}))
            case ["r"]:
                detector.reset()
            case unknown:
                raise AssertionError(unknown)


def _fingerprint(item: dict[str, Any]) -> str:
    if item["op"] == "args_hash":
        return call_fingerprint(item["tool"], item.get("args"))
    text = item.get("text", "") + "".join(
        part["text"] if "text" in part else json.dumps(part) for part in item.get("parts", [])
    )
    return result_fingerprint(item["tool"], text, is_error=item.get("is_error", False))


@pytest.mark.parametrize(
    "case", FINGERPRINT_CASES, ids=[case["about"] for case in FINGERPRINT_CASES]
)
def test_fingerprint_case(case: dict[str, Any]) -> None:
    """Items of one set have one fingerprint, and different sets have different ones."""
    fingerprints = [{_fingerprint(item) for item in items} for items in case["equal_sets"]]
    assert [1] * len(fingerprints) == [len(found) for found in fingerprints]
    assert len(set.union(*fingerprints)) == len(fingerprints)

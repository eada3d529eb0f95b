"""A saved detector goes on as if it had never been saved."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from loopguard_core.tool_loop import Decision, ToolLoopConfig, ToolLoopDetector

_STEPS = st.lists(st.sampled_from(["a1", "a2", "b1", "b2", "c1", "arm", "forget a"]), max_size=20)
_CONFIG = ToolLoopConfig(
    window=6,
    generic_warn=3,
    no_progress_critical=4,
    ping_pong_warn=4,
    post_compaction_identical=2,
    post_compaction_watch=4,
)


def feed(detector: ToolLoopDetector, steps: list[str]) -> list[Decision]:
    """Do the steps, with a check of every call after each."""
    decisions = []
    for step in steps:
        if step == "arm":
            detector.arm_post_compaction()
        elif step == "forget a":
            detector.reset_fingerprint("a")
        else:
            detector.observe_outcome(step[0], step[1])
        decisions += [detector.check_fingerprint("t", name) for name in "abc"]
    return decisions


@given(_STEPS, _STEPS)
@settings(max_examples=100, derandomize=True, deadline=None)
def test_a_restored_detector_goes_on(before: list[str], later: list[str]) -> None:
    """A detector that went through JSON gives the decisions that the original gives."""
    original = ToolLoopDetector(_CONFIG)
    feed(original, before)
    restored = ToolLoopDetector.restore(json.loads(json.dumps(original.snapshot())), _CONFIG)
    assert restored.snapshot() == original.snapshot()
    assert feed(restored, later) == feed(original, later)


def test_a_snapshot_is_bounded() -> None:
    """However long the run, a snapshot has 140 characters per call kept and 80 besides."""
    detector = ToolLoopDetector()
    detector.arm_post_compaction()
    for n in range(200):
        detector.observe_result("tool", {"n": n}, "x" * n)
    snapshot = detector.snapshot()
    assert len(json.dumps(snapshot)) <= (30 + 10) * 140 + 80
    detector.observe_result("tool", {"n": -1}, "")
    assert detector.snapshot() != snapshot


def test_other_settings_hold_from_now_on() -> None:
    """What exceeds the new settings is forgotten, oldest first."""
    detector = ToolLoopDetector(_CONFIG)
    feed(detector, ["arm", "a1", "b1", "c1"])
    narrow = ToolLoopConfig(window=2, post_compaction_watch=1)
    assert ToolLoopDetector.restore(detector.snapshot(), narrow).snapshot() == {
        "version": 1,
        "history": [["b", "1"], ["c", "1"]],
        "watched": [["c", "1"]],
        "remaining": 0,
    }


@pytest.mark.parametrize(
    ("field", "value"),
    [("version", 2), ("history", [["a"]]), ("watched", [[1, 2]]), ("remaining", -1), ("more", 1)],
)
def test_a_foreign_snapshot_is_refused(field: str, value: object) -> None:
    """A snapshot of another version or shape is an error that names the field."""
    with pytest.raises(ValidationError, match=field):
        ToolLoopDetector.restore({**ToolLoopDetector().snapshot(), field: value})

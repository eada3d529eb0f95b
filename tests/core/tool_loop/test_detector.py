"""Rules of `ToolLoopDetector` that the conformance cases do not reach."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from loopguard_core.errors import InvalidInputError
from loopguard_core.tool_loop import (
    Decision,
    ToolLoopConfig,
    ToolLoopDetector,
    call_fingerprint,
    result_fingerprint,
)

OFF = ToolLoopConfig(enabled=False)


def after(script: str, config: ToolLoopConfig | None = None) -> ToolLoopDetector:
    """Return a detector that saw *script*: `a1` is call a with result 1, `^` a compaction."""
    detector = ToolLoopDetector(config)
    for step in script.split():
        if step == "^":
            detector.arm_post_compaction()
        else:
            detector.observe_outcome(step[0], step[1:])
    return detector


@pytest.mark.parametrize(
    ("script", "attempt", "level", "detector", "count"),
    [
        ("", "a", "", "", 0),
        ("a1 " * 3, "a", "", "", 0),
        ("a1 a2 a3", "a", "", "", 0),
        ("a1 b1 a1 b1", "a", "", "", 0),
        ("a1 b1 a2 b2 a3 b3 a4 b4", "c", "", "", 0),
        ("a1 b2 c3 d4 e5 f6 g7 h8 i9 j1 k2", "a", "", "", 0),
        ("^ a1 a1", "a", "", "", 0),
        ("^ a1 a2 a1 a2", "b", "", "", 0),
        ("a1 " * 9, "b", "", "", 0),
        ("^ a1 a1 a1", "b", "", "", 0),
        ("a1 a2 a3 a4", "a", "warn", "generic_repeat", 5),
        ("a1 a2 a3 a4 a5 a6 a7 a8 a9", "a", "critical", "generic_repeat", 10),
        ("a1 " * 7, "a", "critical", "no_progress", 8),
        ("a1 b1 " * 3, "a", "warn", "ping_pong", 7),
        ("a1 b1 " * 5, "a", "critical", "ping_pong", 11),
        ("^ a1 a1 a1", "a", "critical", "post_compaction", 3),
        ("^ a1 b1 a1 c1 a1", "a", "critical", "post_compaction", 3),
        ("a1 " * 19, "a", "critical", "global_circuit_breaker", 20),
    ],
)
def test_check(script: str, attempt: str, level: str, detector: str, count: int) -> None:
    """Each heuristic fires at its number and not before; other calls stay free."""
    found = after(script).check_fingerprint("tool", attempt)
    assert (found.level, found.detector, found.count) == (level, detector, count)
    assert found.stuck == bool(level)
    assert found.terminate == (detector in {"post_compaction", "global_circuit_breaker"})
    assert found.fingerprint == attempt


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("^ a1 a1 a1", ["CRITICAL", "'tool'", "3", "after compaction"]),
        ("a1 " * 19, ["CRITICAL", "'tool'", "20", "global circuit breaker"]),
        ("a1 " * 7, ["BLOCKED", "'tool'", "8"]),
        ("a1 b1 " * 3, ["WARN", "'tool'", "7", "ping-pong"]),
        ("a1 b1 " * 5, ["BLOCKED", "'tool'", "11", "ping-pong"]),
        ("a1 a2 a3 a4", ["WARN", "'tool'", "5"]),
        ("a1 a2 a3 a4 a5 a6 a7 a8 a9", ["BLOCKED", "'tool'", "10"]),
    ],
)
def test_messages_name_what_happened(script: str, words: list[str]) -> None:
    """A message carries its mark, the tool, the count and the heuristic's own words."""
    message = after(script).check_fingerprint("tool", "a").message
    assert [word for word in words if word not in message] == []


def test_a_long_tool_name_is_cut_in_the_message() -> None:
    """A model may have made up the name; a message stays one short sentence."""
    assert len(after("a1 " * 7).check_fingerprint("t" * 10**6, "a").message) < 250


def test_without_a_finding_only_the_fingerprint_is_filled() -> None:
    """A quiet decision still says which call it was about."""
    assert after("b1").check_fingerprint("t", "a") == Decision(fingerprint="a")


def test_a_decision_is_frozen_and_slotted() -> None:
    """A decision is a value."""
    assert dataclasses.is_dataclass(Decision)
    assert not hasattr(Decision(), "__dict__")
    with pytest.raises(dataclasses.FrozenInstanceError):
        Decision().count = 1  # type: ignore[misc]  # assigning is what must fail


@pytest.mark.parametrize(
    ("script", "attempts", "detector", "count"),
    [
        ("", 0, "", 0),
        ("", 3, "", 0),
        ("a1", 3, "generic_repeat", 5),
        ("a1 a1 a1", 4, "no_progress", 8),
        ("a1 a1 a1", 3, "generic_repeat", 7),
        ("", 4, "generic_repeat", 5),
        ("", 30, "generic_repeat", 31),
        ("a1", 18, "global_circuit_breaker", 20),
        ("a2 a1", 6, "no_progress", 8),
        ("b1 b1 b1", 3, "", 0),
        ("a1 b1", 3, "generic_repeat", 5),
        ("a1 b1 a1 b1", 0, "", 0),
        ("^ a1 a1", 1, "", 0),
    ],
)
def test_unanswered_calls_count_as_attempts(
    script: str, attempts: int, detector: str, count: int
) -> None:
    """They add to generic-repeat, and to the streak of a call that has finished before."""
    found = after(script).check_fingerprint("t", "a", attempts=attempts)
    assert (found.detector, found.count) == (detector, count)


def test_a_negative_number_of_attempts_is_refused() -> None:
    """It cannot be, so the caller has made a mistake."""
    with pytest.raises(InvalidInputError, match=r"attempts.*-1"):
        ToolLoopDetector().check_fingerprint("t", "a", attempts=-1)


@pytest.mark.parametrize(
    ("script", "skip", "detector"),
    [
        ("a1 " * 9, {"no_progress"}, "generic_repeat"),
        ("a1 " * 9, {"generic_repeat"}, "no_progress"),
        ("a1 " * 9, {"no_progress", "generic_repeat"}, ""),
        ("a1 " * 19, {"global_circuit_breaker"}, "no_progress"),
        ("^ a1 a1 a1 a1", {"post_compaction"}, "generic_repeat"),
        ("a1 b1 " * 4, {"ping_pong"}, "generic_repeat"),
        ("a1 a2 a3 a4", {"generic_repeat"}, ""),
        ("a1 " * 9, {"something else"}, "no_progress"),
    ],
)
def test_skipped_heuristics_are_passed_over(script: str, skip: set[str], detector: str) -> None:
    """Those after a skipped one are still tried."""
    assert after(script).check_fingerprint("t", "a", skip=skip).detector == detector


@pytest.mark.parametrize(
    ("given", "detector", "level"),
    [
        ({}, "generic_repeat", "warn"),
        ({"no_progress_critical": 5}, "no_progress", "critical"),
        ({"generic_warn": 6}, "", ""),
        ({"generic_warn": 2, "generic_critical": 3}, "generic_repeat", "critical"),
        ({"global_circuit_breaker": 5}, "global_circuit_breaker", "critical"),
        ({"window": 2}, "generic_repeat", "warn"),
        ({"enabled": False}, "", ""),
    ],
)
def test_thresholds_of_one_check(given: dict[str, Any], detector: str, level: str) -> None:
    """They replace the detector's for this check; what is remembered stays the same."""
    watcher = after("a1 a1 a1 a1")
    found = watcher.check_fingerprint("t", "a", config=ToolLoopConfig(**given))
    assert (found.detector, found.level) == (detector, level)
    assert watcher.config == ToolLoopConfig()
    assert watcher.check_fingerprint("t", "a").detector == "generic_repeat"


def test_thresholds_of_one_check_cannot_switch_a_detector_on() -> None:
    """A detector that is off has seen nothing, and stays silent."""
    detector = after("a1 " * 9, OFF)
    assert detector.check_fingerprint("t", "a", config=ToolLoopConfig()) == Decision()


def test_off_does_nothing_at_all() -> None:
    """Off, a detector records nothing, arms nothing and answers with an empty decision."""
    detector = after("^ " + "a1 " * 9, OFF)
    detector.observe_result("t", {}, "r")
    assert detector.check("t", {}) == Decision()
    assert detector.snapshot() == ToolLoopDetector().snapshot()


@pytest.mark.parametrize(("fingerprint", "outcome"), [("", "1"), ("a", ""), ("", "")])
def test_an_empty_fingerprint_or_outcome_is_not_recorded(fingerprint: str, outcome: str) -> None:
    """What a switched-off detector answers cannot be counted by another one."""
    detector = ToolLoopDetector()
    detector.observe_outcome(fingerprint, outcome)
    assert detector.snapshot() == ToolLoopDetector().snapshot()


def test_forgetting_works_while_off() -> None:
    """A run that was resumed with the detector off can still be cleared."""
    saved = after("^ a1 b1").snapshot()
    detector = ToolLoopDetector.restore(saved, OFF)
    detector.reset_fingerprint("a")
    assert detector.snapshot()["history"] == [["b", "1"]]
    detector.reset()
    assert detector.snapshot() == ToolLoopDetector().snapshot()


def test_both_levels_see_the_same_history() -> None:
    """Calls and their fingerprints are two ways of saying the same."""
    high, low = ToolLoopDetector(), ToolLoopDetector()
    call = call_fingerprint("t", {"b": 1, "a": [2]})
    for _ in range(7):
        high.observe_result("t", {"a": [2.0], "b": 1}, "x", is_error=True)
        low.observe_outcome(call, result_fingerprint("t", "x", is_error=True))
    assert high.snapshot() == low.snapshot()
    decision = high.check("t", {"a": [2], "b": 1})
    assert decision == low.check_fingerprint("t", call)
    assert (decision.detector, decision.fingerprint) == ("no_progress", call)


@pytest.mark.parametrize(
    ("script", "fingerprint", "outcome", "seen"),
    [
        ("", "a", "1", False),
        ("a1", "a", "1", True),
        ("a1 a2", "a", "1", True),
        ("a1", "a", "2", False),
        ("b1", "a", "1", False),
        ("a1 b2", "a", "2", False),
        ("a1" + " b1" * 30, "a", "1", False),
        ("^ a1" + " b1" * 30, "a", "1", False),
    ],
)
def test_has_seen(script: str, fingerprint: str, outcome: str, seen: bool) -> None:
    """A pair is seen while the history holds it; the watch list does not count."""
    assert after(script).has_seen(fingerprint, outcome) == seen


@pytest.mark.parametrize(
    ("settings", "script", "tool", "results", "detector"),
    [
        ({}, "", "log", ["x" * 5000 + str(n) for n in range(7)], "no_progress"),
        (
            {"max_result_bytes": None},
            "",
            "log",
            ["x" * 5000 + str(n) for n in range(7)],
            "generic_repeat",
        ),
        ({"max_result_bytes": 3}, "", "log", [f"abc{n}" for n in range(7)], "no_progress"),
        ({}, "", "run_code", [f"pid={n} ok" for n in range(7)], "no_progress"),
        ({}, "", "bash", [f"pid={n} ok" for n in range(7)], "generic_repeat"),
        ({"cleaned_tools": {"bash"}}, "", "bash", [f"pid={n} ok" for n in range(7)], "no_progress"),
        ({"cleaned_tools": ()}, "", "run_code", [f"pid={n}" for n in range(7)], "generic_repeat"),
    ],
)
def test_how_results_are_compared_is_a_setting(
    settings: dict[str, Any], script: str, tool: str, results: list[str], detector: str
) -> None:
    """How much of a result counts, and whose results are cleaned, is the config's."""
    watcher = after(script, ToolLoopConfig(**settings))
    for result in results:
        watcher.observe_result(tool, {"a": 1}, result)
    assert watcher.check(tool, {"a": 1}).detector == detector

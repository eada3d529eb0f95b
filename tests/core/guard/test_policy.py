"""Policies: presets, rules, what severities lead to, and what is refused."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from loopguard_core import Action, LoopGuard, Policy, ToolRule
from loopguard_core.guard import DETECTORS
from loopguard_core.guard.escalation import Escalation
from loopguard_core.guard.policy import BLIND_TO_RESULTS
from loopguard_core.guard.verdict import Finding, Severity


@pytest.mark.parametrize(
    ("severity", "action"),
    [
        ("warn", Action.NUDGE),
        ("critical", Action.BLOCK),
        ("terminal", Action.HALT),
        ("cut", Action.HALT),
    ],
)
def test_what_a_severity_leads_to(severity: Severity, action: Action) -> None:
    """The default policy nudges on a warning, blocks on critical, halts on terminal and a cut."""
    assert Policy().action(severity) is action
    assert Policy.observe().action(severity) is Action.ALLOW


def test_detectors_that_ignore_results_are_on_only_in_the_strict_preset() -> None:
    """What is on by default must leave a poll with changing answers alone."""
    assert Policy().disabled_detectors >= BLIND_TO_RESULTS
    assert not Policy.strict().disabled_detectors
    assert Policy().disabled_detectors <= DETECTORS


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"on_halt": "stop"}, "on_halt"),
        ({"on_block": None}, "on_block"),
        ({"max_blocks_in_row": 0}, "max_blocks_in_row"),
        ({"max_unheeded_nudges": True}, "max_unheeded_nudges"),
        ({"max_cuts_in_row": 2.5}, "max_cuts_in_row"),
        ({"disabled_detectors": {"thread.repeated_sufix"}}, "thread.repeated_sufix"),
        ({"tools": {"poll": {"exampt": True}}}, "exampt"),
        ({"tools": {"poll": {"exempt": "yes"}}}, "exempt"),
        ({"on_warm": Action.ALLOW}, "on_warm"),
    ],
)
def test_a_bad_option_is_refused_by_name(options: dict[str, object], field: str) -> None:
    """A misspelt option must not silently do nothing."""
    with pytest.raises(ValidationError, match=field):
        Policy.model_validate(options)


def test_guards_and_policies_are_frozen() -> None:
    """One guard serves any number of runs because nobody can change it."""
    with pytest.raises(ValidationError):
        LoopGuard().policy = Policy.strict()  # type: ignore[misc]  # what is tested
    with pytest.raises(ValidationError):
        Policy().on_halt = "raise"  # type: ignore[misc]  # what is tested


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [({"a": 1, "b": 2}, {"b": 2}), ({"b": 2}, {"b": 2}), ("text", "text"), (None, None)],
)
def test_ignored_arguments_are_left_out_of_mappings(arguments: object, kept: object) -> None:
    """Arguments that are no mapping are compared as they are."""
    assert ToolRule(ignore_arguments=("a",)).kept_arguments(arguments) == kept


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_each_number_has_its_home_in_the_policy(limit: int) -> None:
    """How much disregard ends a run is what the policy says."""
    warn = Finding("thread.repeated_suffix", "warn", 3, "m")
    critical = Finding("tool_loop.no_progress", "critical", 8, "m")
    policy = Policy(max_unheeded_nudges=limit, max_blocks_in_row=limit, max_cuts_in_row=limit)
    nudged, blocked, cut = (Escalation(policy) for _ in range(3))
    nudges = [nudged.judge((warn,), step).action for step in range(limit + 1)]
    blocks = [blocked.judge((critical,), step).action for step in range(limit)]
    cuts = [cut.judge_cut().action for _ in range(limit)]
    assert nudges == [Action.NUDGE] * limit + [Action.HALT]
    assert blocks == [Action.BLOCK] * (limit - 1) + [Action.HALT]
    assert cuts == [Action.NUDGE] * (limit - 1) + [Action.HALT]


def test_what_several_detectors_see_in_one_step_is_one_sighting() -> None:
    """The model cannot heed a nudge before it speaks again."""
    escalation = Escalation(Policy())
    findings = [Finding(name, "warn", 3, "m") for name in sorted(DETECTORS)]
    verdicts = [escalation.judge((finding,), 1) for finding in findings]
    assert {verdict.action for verdict in verdicts} == {Action.NUDGE}
    assert sum(bool(verdict.guidance) for verdict in verdicts) == 1

"""The scenario table on every driver: the same promise in the core and in every framework."""

from __future__ import annotations

from functools import cache
from importlib import import_module

import pytest

from .conftest import FRAMEWORKS, needs
from .drivers import CoreDriver, Driver, Report
from .scenarios import HEALTHY, LOOPS, SCENARIOS, Scenario

MODES = {
    "langchain": ("invoke", "ainvoke", "stream", "astream"),
    "llamaindex": tuple(
        f"{agent}{how}" for agent in ("function", "react", "workflow") for how in ("", "-streamed")
    ),
    "openai_agents": tuple(
        f"{shape}{mode}"
        for shape in ("", "handoffs-")
        for mode in ("run", "run_sync", "run_streamed")
    ),
}
FRAMEWORK_DRIVERS = [f"{framework}-{mode}" for framework, modes in MODES.items() for mode in modes]

ONE_CALL = "a ReAct reply has one action, and this row needs several calls in one reply"
NO_TEXT = (
    "a ReAct reply has a thought whether it wants or not, so text beside a call is not compared"
)
HAND_OFF_FIRST = "the hand-off is a call of the turn, so its window fills one call later"
HAND_OFF_COUNTED = "the hand-off is a call of the turn, so a finding counts it and names it"
INEXPRESSIBLE = {
    ("llamaindex-react", "rewording-the-text-around-the-same-call-does-not-hide-it"): NO_TEXT,
    ("llamaindex-react", "a-batch-over-different-items-runs-whole"): ONE_CALL,
    ("llamaindex-react", "a-batch-whose-answers-are-all-ok-runs-whole"): ONE_CALL,
    ("llamaindex-react", "two-parallel-equal-calls-both-run"): ONE_CALL,
    ("llamaindex-react", "the-same-pair-of-calls-at-once-is-ended"): ONE_CALL,
    (
        "llamaindex-react",
        "the-fourth-equal-call-of-a-batch-is-blocked-and-its-siblings-run",
    ): ONE_CALL,
    ("llamaindex-react", "a-storm-of-equal-calls-is-answered-not-ended"): ONE_CALL,
    ("openai_agents-handoffs", "two-calls-that-alternate-are-ended"): HAND_OFF_FIRST,
    ("openai_agents-handoffs", "three-calls-that-take-turns-are-ended"): HAND_OFF_FIRST,
    ("openai_agents-handoffs", "the-same-pair-of-calls-at-once-is-ended"): HAND_OFF_FIRST,
    (
        "openai_agents-handoffs",
        "the-same-call-with-something-new-now-and-then-is-blocked-at-the-eighth-attempt",
    ): HAND_OFF_COUNTED,
}
"""Rows that a driver cannot express as they are written, by the start of its name, and why."""


def rows(*names: str) -> list[object]:
    """Return each driver with each row that it can express."""
    return [
        pytest.param(scenario, name, marks=marks(name), id=f"{scenario.id}-{name}")
        for scenario in SCENARIOS
        for name in names
        if not any(name.startswith(start) and scenario.id == row for start, row in INEXPRESSIBLE)
    ]


def marks(name: str) -> tuple[pytest.MarkDecorator, ...]:
    """Return what leaves a driver out where its framework is absent."""
    package = FRAMEWORKS.get(name.partition("-")[0])
    return () if package is None else (needs(package),)


def driver(name: str) -> Driver:
    """Return the driver called *name*; its framework is imported only here."""
    if name == "core":
        return CoreDriver()
    framework, _, mode = name.partition("-")
    module = import_module(f"{__package__}.{framework}.driver")
    return next(found for found in module.DRIVERS if found.name == f"{framework}-{mode}")


@cache
def report(name: str, row: str) -> Report:
    """Run a row once for all tests that ask about it."""
    return driver(name).run(next(scenario for scenario in SCENARIOS if scenario.id == row))


@pytest.mark.parametrize(("scenario", "name"), rows("core", *FRAMEWORK_DRIVERS))
def test_a_scenario_has_the_outcome_that_is_written_down(scenario: Scenario, name: str) -> None:
    """A scenario has the same outcome in the core and in every framework."""
    assert report(name, scenario.id).outcome == scenario.expect


@pytest.mark.parametrize(("scenario", "name"), rows(*FRAMEWORK_DRIVERS))
def test_a_framework_gives_the_verdicts_of_the_core(scenario: Scenario, name: str) -> None:
    """The same conversation gets the same findings and verdicts everywhere, one by one, in full.

    Compared is all of it: what was judged, the action, what the model is told, and of each finding
    the detector, severity, count, message and evidence.
    """
    assert report(name, scenario.id).verdicts == report("core", scenario.id).verdicts


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=marks(name)) for name in FRAMEWORK_DRIVERS]
)
def test_a_row_that_differs_still_ends_in_the_same_way(name: str) -> None:
    """Where a hand-off comes first, something is found later, but the same becomes of the run."""
    for (start, row), reason in INEXPRESSIBLE.items():
        if name.startswith(start) and reason is HAND_OFF_FIRST:
            scenario = next(scenario for scenario in SCENARIOS if scenario.id == row)
            outcome = report(name, row).outcome
            assert outcome != scenario.expect, f"{row} can be expressed: take it off"
            assert outcome.end == scenario.expect.end


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=marks(name)) for name in FRAMEWORK_DRIVERS]
)
def test_a_row_whose_findings_count_a_hand_off_has_the_same_outcome(name: str) -> None:
    """What is done, and by which detector, is the same as in the core; only the counts differ."""
    for (start, row), reason in INEXPRESSIBLE.items():
        if name.startswith(start) and reason is HAND_OFF_COUNTED:
            here, core = report(name, row), report("core", row)
            assert here.outcome == core.outcome
            assert acts(here) == acts(core)
            assert here.verdicts != core.verdicts, f"{row} can be expressed: take it off"


def acts(found: Report) -> list[object]:
    """Return what was judged, the action and the detectors of each verdict."""
    return [
        (kind, name, v.action, [f.detector for f in v.findings]) for kind, name, v in found.verdicts
    ]


def test_the_table_is_large_enough_and_half_of_it_is_healthy() -> None:
    """False alarms are worse than misses, so healthy rows are at least as many as loops."""
    assert len(SCENARIOS) >= 30
    assert len(HEALTHY) >= len(LOOPS)
    assert len({scenario.id for scenario in SCENARIOS}) == len(SCENARIOS)


def test_the_list_of_what_cannot_be_expressed_is_short_and_true() -> None:
    """Each entry names a row and a driver that exist, and gives its reason."""
    ids = {scenario.id for scenario in SCENARIOS}
    for start, row in INEXPRESSIBLE:
        assert row in ids
        assert any(name.startswith(start) for name in FRAMEWORK_DRIVERS)
    assert all(INEXPRESSIBLE.values())
    assert len(INEXPRESSIBLE) <= 11

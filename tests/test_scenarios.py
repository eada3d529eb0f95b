"""The scenario table on every driver: the same promise in the core and in every framework."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import pytest

from .conftest import needs
from .drivers import CoreDriver, Driver, Report
from .scenarios import HEALTHY, LOOPS, SCENARIOS, Scenario

LANGCHAIN_MODES = ("invoke", "ainvoke", "stream", "astream")
AGENTS_MODES = [
    f"{shape}{mode}" for shape in ("", "handoffs-") for mode in ("run", "run_sync", "run_streamed")
]
DRIVERS = [
    "core",
    *(pytest.param(f"langchain-{mode}", marks=needs("langchain")) for mode in LANGCHAIN_MODES),
    *(pytest.param(f"openai_agents-{mode}", marks=needs("agents")) for mode in AGENTS_MODES),
]

_A_HAND_OFF_COMES_FIRST = "the hand-off is a call of the turn, so its window fills one call later"
INEXPRESSIBLE = {
    ("openai_agents-handoffs-", "two-calls-that-alternate-are-ended"): _A_HAND_OFF_COMES_FIRST,
    ("openai_agents-handoffs-", "three-calls-that-take-turns-are-ended"): _A_HAND_OFF_COMES_FIRST,
    ("openai_agents-handoffs-", "the-same-pair-of-calls-at-once-is-ended"): _A_HAND_OFF_COMES_FIRST,
}
"""The rows that a driver cannot express as they are written, by the start of its name, and why."""


def _is_expressible(name: str, scenario: Scenario) -> bool:
    return not any(name.startswith(start) and scenario.id == row for start, row in INEXPRESSIBLE)


def _name(driver: Any) -> str:
    return driver if isinstance(driver, str) else driver.values[0]


def rows(drivers: list[Any]) -> list[Any]:
    """Return every row with every driver that can express it."""
    return [
        pytest.param(
            scenario, _name(d), id=f"{scenario.id}-{_name(d)}", marks=getattr(d, "marks", ())
        )
        for scenario in SCENARIOS
        for d in drivers
        if _is_expressible(_name(d), scenario)
    ]


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


@pytest.mark.parametrize(("scenario", "name"), rows(DRIVERS))
def test_a_scenario_has_the_outcome_that_is_written_down(scenario: Scenario, name: str) -> None:
    """A scenario has the same outcome in the core and in every framework."""
    assert report(name, scenario.id).outcome == scenario.expect


@pytest.mark.parametrize(("scenario", "name"), rows(DRIVERS[1:]))
def test_a_framework_gives_the_verdicts_of_the_core(scenario: Scenario, name: str) -> None:
    """The same conversation gets the same findings and verdicts, one by one, everywhere."""
    assert report(name, scenario.id).verdicts == report("core", scenario.id).verdicts


@pytest.mark.parametrize("name", DRIVERS[1:])
def test_a_row_that_a_driver_cannot_express_still_ends_in_the_same_way(name: str) -> None:
    """Such a row differs in when something is found, not in what becomes of the run."""
    for scenario in SCENARIOS:
        if not _is_expressible(name, scenario):
            outcome = report(name, scenario.id).outcome
            assert outcome != scenario.expect, f"{scenario.id} can be expressed: take it off"
            assert (outcome.end, outcome.nudges) == (scenario.expect.end, scenario.expect.nudges)


def test_few_rows_cannot_be_expressed_and_all_of_them_exist() -> None:
    """The list is short, and every name in it is one of the table."""
    listed = {row for _, row in INEXPRESSIBLE}
    assert listed <= {scenario.id for scenario in SCENARIOS}
    assert len(listed) <= len(SCENARIOS) / 10


def test_the_table_is_large_enough_and_half_of_it_is_healthy() -> None:
    """False alarms are worse than misses, so healthy rows are at least as many as loops."""
    assert len(SCENARIOS) >= 30
    assert len(HEALTHY) >= len(LOOPS)
    assert len({scenario.id for scenario in SCENARIOS}) == len(SCENARIOS)

"""The scenario table on every driver: the same promise in the core and in every framework."""

from __future__ import annotations

from functools import cache
from importlib import import_module

import pytest

from .conftest import needs
from .drivers import CoreDriver, Driver, Report
from .scenarios import HEALTHY, LOOPS, SCENARIOS, Scenario

LANGCHAIN_MODES = ("invoke", "ainvoke", "stream", "astream")
DRIVERS = [
    "core",
    *(pytest.param(f"langchain-{mode}", marks=needs("langchain")) for mode in LANGCHAIN_MODES),
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


@pytest.mark.parametrize("name", DRIVERS)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_a_scenario_has_the_outcome_that_is_written_down(scenario: Scenario, name: str) -> None:
    """A scenario has the same outcome in the core and in every framework."""
    assert report(name, scenario.id).outcome == scenario.expect


@pytest.mark.parametrize("name", DRIVERS[1:])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_a_framework_gives_the_verdicts_of_the_core(scenario: Scenario, name: str) -> None:
    """The same conversation gets the same findings and verdicts, one by one, everywhere."""
    assert report(name, scenario.id).verdicts == report("core", scenario.id).verdicts


def test_the_table_is_large_enough_and_half_of_it_is_healthy() -> None:
    """False alarms are worse than misses, so healthy rows are at least as many as loops."""
    assert len(SCENARIOS) >= 30
    assert len(HEALTHY) >= len(LOOPS)
    assert len({scenario.id for scenario in SCENARIOS}) == len(SCENARIOS)

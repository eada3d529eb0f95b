"""What is skipped where a framework is absent, and never skipped with LOOPGUARD_REQUIRE_ALL=1.

A developer without one of the frameworks can run the rest; CI sets the variable, so that
whatever is skipped or left out there fails instead.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

_Report = TypeVar("_Report", pytest.TestReport, pytest.CollectReport)

REQUIRE_ALL = os.environ.get("LOOPGUARD_REQUIRE_ALL") == "1"

FRAMEWORKS = {"langchain": "langchain", "llamaindex": "llama_index", "openai_agents": "agents"}
"""Each folder of `integrations/`, and of `tests/`, with the package its adapter needs."""

CLIENTS = {"openai_client": "openai"}
"""Folders of `tests/` for what the core does with a package that it does not import."""


def is_left_out(package: str) -> bool:
    """Return True if *package* is absent and its absence is allowed here."""
    return not REQUIRE_ALL and find_spec(package) is None


def needs(package: str) -> pytest.MarkDecorator:
    """Mark a test, or a row of a table, that imports *package* when it runs."""
    return pytest.mark.skipif(is_left_out(package), reason=f"{package} is not installed")


collect_ignore = [
    folder for folder, package in (FRAMEWORKS | CLIENTS).items() if is_left_out(package)
]


def pytest_report_header() -> list[str]:
    """Say at the top which tests are left out."""
    return [f"left out: tests/{folder}, its package is absent" for folder in collect_ignore]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a skipped test where everything is required."""
    report = yield
    return _required(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail a skipped module where everything is required."""
    report = yield
    return _required(report)


def _required(report: _Report) -> _Report:
    if REQUIRE_ALL and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which LOOPGUARD_REQUIRE_ALL=1 forbids: {report.longrepr}"
    return report

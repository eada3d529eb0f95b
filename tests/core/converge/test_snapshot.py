"""A saved monitor goes on as if it had never been saved, and counts as the specification says."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from loopguard_core.converge import ConvergeConfig, ConvergeVerdict, Monitor

_EVENTS = st.lists(st.sampled_from(["call A", "call B", "call C", "state x", "state y"]))
_CONFIG = ConvergeConfig(oscillation_k=2, oscillation_window=3, zero_progress_k=2)


def feed(monitor: Monitor, events: list[str]) -> list[ConvergeVerdict]:
    """Feed events of the form `call A` or `state x`."""
    verdicts = []
    for kind, name in map(str.split, events):
        observe = monitor.observe_iteration
        verdicts.append(
            observe(name) if kind == "state" else monitor.observe_tool_call("tool", name)
        )
    return verdicts


def naive_counts(events: list[str]) -> list[int]:
    """Count by the letter of sections 5 and 6, keeping everything."""
    calls: list[tuple[int, str]] = []
    states: list[str] = []
    found = []
    for kind, name in map(str.split, events):
        if kind == "state":
            states.append(name)
            row = next((n for n, s in enumerate(reversed(states)) if s != name), len(states))
            found.append(row if row >= _CONFIG.zero_progress_k else 0)
            continue
        calls.append((len(states), name))
        oldest = len(states) - _CONFIG.oscillation_window
        equal = sum(made > oldest and other == name for made, other in calls)
        found.append(equal if equal >= _CONFIG.oscillation_k else 0)
    return found


@given(_EVENTS)
@settings(max_examples=60, derandomize=True, deadline=None)
def test_counts_are_those_of_the_specification(events: list[str]) -> None:
    """The bounded window counts like a list of all calls that is filtered by iteration."""
    assert [verdict.count for verdict in feed(Monitor(_CONFIG), events)] == naive_counts(events)


@given(_EVENTS, _EVENTS)
@settings(max_examples=60, derandomize=True, deadline=None)
def test_a_restored_monitor_goes_on(before: list[str], after: list[str]) -> None:
    """A monitor that went through JSON gives the verdicts that the original gives."""
    original = Monitor(_CONFIG)
    feed(original, before)
    restored = Monitor.restore(json.loads(json.dumps(original.snapshot())), _CONFIG)
    assert restored.snapshot() == original.snapshot()
    assert feed(restored, after) == feed(original, after)


def test_new_settings_hold_from_now_on() -> None:
    """A run may be resumed with other settings: a shorter window forgets what lies outside."""
    monitor = Monitor()
    feed(monitor, ["call A", "state x", "call A", "state y"])
    shorter = Monitor.restore(monitor.snapshot(), ConvergeConfig(oscillation_window=2))
    assert feed(shorter, ["call A", "call A"])[-1].count == 3


@pytest.mark.parametrize(
    ("field", "value"), [("version", 2), ("unchanged", -1), ("calls", [[0, "A"]]), ("added", 1)]
)
def test_a_foreign_snapshot_is_refused(field: str, value: object) -> None:
    """A snapshot of another version or shape is an error that names the field."""
    with pytest.raises(ValidationError, match=field):
        Monitor.restore({**Monitor().snapshot(), field: value})


def test_a_snapshot_without_a_version_is_refused() -> None:
    """The version is part of what was saved, not assumed."""
    snapshot = Monitor().snapshot()
    del snapshot["version"]
    with pytest.raises(ValidationError, match="version"):
        Monitor.restore(snapshot)

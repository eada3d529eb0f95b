"""`CallHistory` counts like the walks that the specification describes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.tool_loop.history import CallHistory, FinishedCall

_CALLS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("12")), max_size=24)


def walked_streak(calls: list[FinishedCall], fingerprint: str) -> int:
    """Walk by the letter of section 4, S."""
    newest, length = None, 0
    for called, outcome in reversed(calls):
        if called != fingerprint:
            continue
        newest = newest or outcome
        if outcome != newest:
            break
        length += 1
    return length


def walked_alternation(calls: list[FinishedCall], fingerprint: str) -> int:
    """Walk by the letter of section 4, P."""
    if not calls or calls[-1][0] == fingerprint:
        return 0
    last = calls[-1][0]
    nearest = next((called for called, _ in reversed(calls) if called != last), None)
    if nearest != fingerprint:
        return 0
    tail: list[FinishedCall] = []
    for called, outcome in reversed(calls):
        if called != (fingerprint if len(tail) % 2 else last):
            break
        tail.append((called, outcome))
    return len(tail) if len(tail) > 1 and len(set(tail)) == 2 else 0


@given(_CALLS, st.integers(1, 8), st.sampled_from("abc"))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_counts_are_those_of_the_specification(
    calls: list[FinishedCall], limit: int, fingerprint: str
) -> None:
    """Streak, alternation and count equal those of a list of the newest calls that is walked."""
    history, kept = CallHistory(limit, calls), calls[-limit:]
    assert list(history) == kept
    assert history.streak(fingerprint) == walked_streak(kept, fingerprint)
    assert history.alternation(fingerprint) == walked_alternation(kept, fingerprint)
    assert history.count(fingerprint) == sum(called == fingerprint for called, _ in kept)
    assert history.has(fingerprint, "1") == ((fingerprint, "1") in kept)
    assert set(history._outcomes) == {called for called, _ in kept}  # or it would grow for ever


@given(_CALLS, st.integers(1, 8), st.sampled_from("abc"), _CALLS)
@settings(max_examples=100, derandomize=True, deadline=None)
def test_a_forgotten_call_leaves_nothing_behind(
    calls: list[FinishedCall], limit: int, fingerprint: str, more: list[FinishedCall]
) -> None:
    """After forgetting, a history goes on like one that never saw the call."""
    history = CallHistory(limit, calls)
    history.forget(fingerprint)
    kept = [call for call in calls[-limit:] if call[0] != fingerprint]
    assert list(history) == kept
    for call in more:
        history.add(*call)
    expected = CallHistory(limit, kept + more)
    assert list(history) == list(expected)
    assert [history.streak(name) for name in "abc"] == [expected.streak(name) for name in "abc"]


def test_clear_forgets_all() -> None:
    """A cleared history is an empty one."""
    history = CallHistory(3, [("a", "1"), ("b", "1")])
    history.clear()
    assert (list(history), len(history), history.count("a")) == ([], 0, 0)

"""What a hand-off brings is what is said with it."""

from __future__ import annotations

import pytest

from loopguard_core import Action, LoopGuard
from loopguard_core.guard.handoffs import handoff_result, said_with_handoff

DRAFT = "The river rises in the hills and turns the old mill before it meets the sea. " * 3


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (DRAFT, DRAFT, True),
        (f"{DRAFT} 1", f"{DRAFT} 2", False),
        ("", "", True),
        ("Please look at this.", "Please look at this again.", True),
        (DRAFT, "", False),
    ],
)
def test_long_texts_make_results_differ(one: str, other: str, *, is_same: bool) -> None:
    """A few words are what a stuck agent varies, so they do not count."""
    results = [handoff_result("done", said_with_handoff(text)) for text in (one, other)]
    assert (results[0] == results[1]) is is_same


@pytest.mark.parametrize("is_new", [False, True])
def test_agents_that_pass_on_new_texts_work(*, is_new: bool) -> None:
    """With the same reasons each time they are stopped only if the texts are the same too."""
    run = LoopGuard().start_run()
    actions = []
    for turn in range(20):
        arguments = {"to": "ab"[turn % 2], "reason": "Please go on."}
        said = said_with_handoff(f"{DRAFT} {turn}" if is_new else DRAFT)
        actions.append(run.check_call("handoff", arguments, f"c{turn}").action)
        result = handoff_result("done", said)
        actions.append(run.observe_result("handoff", arguments, result, call_id=f"c{turn}").action)
    assert (max(actions) is Action.ALLOW) is is_new

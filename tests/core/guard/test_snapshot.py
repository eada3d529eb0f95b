"""A run that is saved and resumed goes on with identical verdicts, and stays small."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core import GuardedRun, InvalidInputError, LoopGuard, Message, Policy, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

TOOLS = ("a", "b")
OPERATIONS = st.one_of(
    st.tuples(st.just("call"), st.sampled_from(TOOLS), st.integers(0, 1)),
    st.tuples(st.just("wait"), st.sampled_from(TOOLS), st.integers(0, 1)),
    st.tuples(st.just("say"), st.sampled_from(TOOLS), st.integers(0, 1)),
    st.tuples(st.sampled_from(["thread", "turn", "cut", "done", "compact", "allow"])),
)
MAX_BYTES = 64_000


def apply(run: GuardedRun, thread: list[Message], operation: Sequence[object]) -> list[Verdict]:
    """Do one thing to a run, and return its verdicts."""
    match operation:
        case ("call", str(name), result):
            key = f"c{len(thread)}"
            thread.append(Message.tool_request(name, {}, key))
            thread.append(Message.tool_response(name, {}, result, key))
            checked = run.check_call(name, {}, key)
            return [checked, run.observe_result(name, {}, result, call_id=key)]
        case ("wait", str(name), number):
            return [run.check_call(name, {}, f"w{number}")]
        case ("say", str(text), number):
            thread.append(Message.bot(f"{text}{number}"))
        case ("thread",):
            return [run.check_thread(thread)]
        case ("turn",):
            run.begin_turn()
            thread.append(Message.user("Go on."))
        case ("cut",):
            return [run.reply_cut()]
        case ("done",):
            run.reply_done()
        case ("compact",):
            run.context_compacted()
        case ("allow",):
            run.allow_call("a", {})
    return []


@settings(derandomize=True, max_examples=150, deadline=None)
@given(st.lists(OPERATIONS, max_size=40))
def test_a_run_resumed_after_every_step_gives_the_same_verdicts(
    operations: list[tuple[object, ...]],
) -> None:
    """Saving is invisible, wherever it happens and through JSON."""
    guard = LoopGuard(policy=Policy.strict())
    whole, parted = guard.start_run("r"), guard.start_run("r")
    thread: list[Message] = []
    other: list[Message] = []
    for operation in operations:
        parted = guard.resume(json.loads(json.dumps(parted.snapshot())))
        assert apply(parted, other, operation) == apply(whole, thread, operation)
    assert parted.snapshot() == whole.snapshot()
    assert parted.totals == whole.totals


def test_a_snapshot_is_bounded_whatever_a_model_writes() -> None:
    """The worst that was thought of stays below 64 kB: many calls, long names, nothing answered."""
    run = LoopGuard(policy=Policy.strict()).start_run()
    thread = [Message.user("Go.")]
    run.context_compacted()
    for number in range(700):
        name, key = f"{number % 40}" + "tool" * 500, f"{number}" + "id" * 500
        thread.append(Message.tool_request(name, {"n": number}, key))
        thread.append(Message.tool_response(name, {"n": number}, "text" * 500, key))
        run.check_call(name, {"n": number % 3}, key)
        if number % 2:
            run.observe_result(name, {"n": number % 3}, number % 3, call_id=key)
    run.check_thread(thread)
    for number in range(200):
        run.check_call("tool" * 500, {"n": number % 7}, f"{number}" + "id" * 500)
    assert len(json.dumps(run.snapshot())) < MAX_BYTES


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"version": 2}, "snapshot.version"),
        ({"step": "x"}, "snapshot.step"),
        ({"thread": {}}, "snapshot.thread"),
        ({"tool_loop": {"version": 9}}, "snapshot.tool_loop"),
        ({"more": 1}, "snapshot.more"),
    ],
)
def test_what_is_no_snapshot_is_refused_by_the_name_of_the_field(
    change: dict[str, object], field: str
) -> None:
    """An older or broken snapshot is a clear error, not a run that behaves oddly."""
    snapshot = {**LoopGuard().start_run().snapshot(), **change}
    with pytest.raises(InvalidInputError, match=field):
        LoopGuard().resume(snapshot)


def test_a_run_keeps_its_id() -> None:
    """The id that events carry survives; without one, each run gets its own."""
    assert LoopGuard().resume(LoopGuard().start_run("mine").snapshot()).run_id == "mine"
    assert LoopGuard().start_run().run_id != LoopGuard().start_run().run_id

"""The state of a run: alive in memory, plain JSON where it is saved, and bounded."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core import LoopGuard, Message
from loopguard_llamaindex._log import RunLog
from loopguard_llamaindex._state import RunState

MESSAGES = st.one_of(
    st.sampled_from("abc").map(Message.bot),
    st.sampled_from("abc").map(lambda name: Message.tool_request(name, {"x": 1}, "c")),
    st.sampled_from("abc").map(lambda name: Message.tool_response(name, {"x": 1}, "r", "c")),
)


def verdict(state: RunState, *messages: Message) -> Any:
    """Add messages and judge."""
    state.log.extend(messages)
    return state.judge_thread()


@settings(derandomize=True, max_examples=40, deadline=None)
@given(st.lists(st.lists(MESSAGES, min_size=1, max_size=12), max_size=40))
def test_a_log_that_forgets_gives_the_verdicts_of_the_whole_thread(
    steps: list[list[Message]],
) -> None:
    """Forgetting what is old, and being saved in between, change no verdict."""
    state, run, thread = RunState(LoopGuard()), LoopGuard().start_run(), list[Message]()
    for step in steps:
        thread += step
        assert verdict(state, *step) == run.check_thread(thread)
        state = RunState(LoopGuard(), json.loads(json.dumps(dict(state.items()))))


def test_a_log_reads_like_the_thread_it_was() -> None:
    """Positions and length are those of the whole thread; what is forgotten is a blank."""
    log = RunLog()
    log.extend(Message.bot(str(n)) for n in range(300))
    log.forget()
    assert len(log) == 300
    assert log[-1].text == "299"
    assert [message.text for message in log[297:]] == ["297", "298", "299"]
    assert log[0].text == ""


def test_what_is_saved_is_bounded() -> None:
    """Results are kept as digests, and old messages not at all."""
    state = RunState(LoopGuard())
    for n in range(1_000):
        asked = Message.tool_request("read", {"n": n}, f"c{n}")
        verdict(state, asked, Message.tool_response("read", {"n": n}, f"{n}" * 10_000, f"c{n}"))
    assert len(json.dumps(dict(state.items()))) < 128_000


def test_a_refusal_is_kept_as_it_is() -> None:
    """The guard knows its own words, so they are no digest."""
    note = "[loopguard] " + "This call was not executed. " * 20 + "[/loopguard]"
    log = RunLog()
    log.extend([Message.tool_response("read", {}, note, "c", is_error=True)])
    assert note in json.dumps(log[0])


def test_it_is_something_and_is_shared_by_copies() -> None:
    """A state that has nothing to save yet must not look like none."""
    state = RunState(LoopGuard())
    assert state
    assert copy.deepcopy(state) is state

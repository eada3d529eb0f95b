"""Threads for property tests: healthy ones, and ones with everything that can go wrong."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from loopguard_core.message import Message

_TEXTS = st.sampled_from(["", "ok", "some more words of text", "x" * 150, "line\n" * 100])
_IDS = st.sampled_from([None, "1", "2", "3"])  # few, so that they come again
_NAMES = st.sampled_from(["ls", "cat"])
_GROUPS = st.sampled_from([None, None, None, 1, 2])
_RESULTS = st.one_of(_TEXTS, st.just({"rows": ["a"] * 60}), st.none())


@st.composite
def _turns(draw: st.DrawFn) -> list[Message]:
    """Draw an assistant's message with parallel calls, and their results in any order."""
    calls = draw(st.lists(st.tuples(_NAMES, st.integers(0, 2), st.booleans()), max_size=3))
    start = [Message.reasoning("hm")] * draw(st.integers(0, 1))
    start += [Message.bot(draw(_TEXTS))] * draw(st.integers(0, 1))
    ids = [draw(_IDS) for _ in calls]
    asked = [
        Message.tool_request(name, {"n": number}, call_id)
        for (name, number, _), call_id in zip(calls, ids, strict=True)
    ]
    answers = [
        Message.tool_response(name, {"n": number}, draw(_RESULTS), call_id)
        for (name, number, is_answered), call_id in zip(calls, ids, strict=True)
        if is_answered
    ]
    said = [Message.user("wait")] * draw(st.integers(0, 1))
    return [*start, *asked, *draw(st.permutations([*answers, *said]))]


_strays = st.one_of(
    st.builds(Message.user, _TEXTS),
    st.builds(Message.system, _TEXTS),
    st.builds(Message.tool_response, _NAMES, st.just({"n": 0}), _RESULTS, _IDS),
    st.just(Message(type="activity", text="unreadable")),
    st.builds(lambda tokens: Message(type="bot", usage={"tokens": tokens}), st.integers(0, 40)),
).map(lambda message: [message])


@st.composite
def threads(draw: st.DrawFn, *, max_turns: int = 8) -> list[Message]:
    """Draw a thread; some of its messages are pinned or say what they belong to."""
    head = [Message.system("be brief")] * draw(st.integers(0, 2))
    turns = draw(st.lists(st.one_of(_turns(), _turns(), _strays), max_size=max_turns))
    thread = [Message(message) for message in [*head, *(m for turn in turns for m in turn)]]
    marks: list[tuple[Any, bool]] = [(draw(_GROUPS), draw(st.integers(0, 9)) == 0) for _ in thread]
    for message, (group, is_pinned) in zip(thread, marks, strict=True):
        if group is not None:
            message["group"] = group
        if is_pinned:
            message["pinned"] = True
    return thread

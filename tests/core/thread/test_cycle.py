"""The thread as a whole: order of the heuristics, and which messages' texts are read."""

from __future__ import annotations

from typing import Any

import pytest

from loopguard_core.errors import InvalidInputError
from loopguard_core.message import Message
from loopguard_core.thread import CycleOptions, describe_thread_cycle, is_thread_cyclic

from .activities import calls

CHURN = "Let me check. Wait. " * 10
READ = ("read", {"path": "a"}, "x")
ROTATION = [("read", name, name * 3) for name in "abcd" * 3]

FOUND = {
    "copies of a pair": (calls(READ, READ), "repeated_suffix"),
    "a tail out of step": (
        calls(*ROTATION, ("ls", ".", "a"), ("ls", "..", "b")),
        "repeated_activity_tail",
    ),
    "results between talk": (
        [m for n in range(3) for m in [Message.bot(f"try {n}"), *calls(READ)]],
        "repeated_result_run",
    ),
    "one looping message": ([Message.user("hi"), Message.bot(CHURN)], "repeated_message_text_run"),
    "a looping person": ([Message.user(CHURN)], "repeated_message_text_run"),
    "the fifth from the end": (
        [Message.bot(CHURN), *[Message.reasoning(str(n)) for n in range(4)]],
        "repeated_message_text_run",
    ),
}

HEALTHY: dict[str, list[Message]] = {
    "empty": [],
    "a conversation": [Message.user("hi"), Message.bot("hello"), Message.user("bye")],
    "polling": [m for n in range(8) for m in calls(("poll", 1, n))],
    "looping reasoning": [Message.user("hi"), Message.reasoning(CHURN)],
    "a looping tool message": [Message(type="activity", text=CHURN)],
    "the sixth from the end": [Message.bot(CHURN), *[Message.bot(str(n)) for n in range(5)]],
    "a loop in halves": [Message.bot("ok. wait. " * 3), Message.bot("wait. ok. " * 3)],
    "a text that is no string": [Message(type="bot", text=[CHURN])],
}


@pytest.mark.parametrize(("thread", "name"), FOUND.values(), ids=FOUND.keys())
def test_found(thread: list[Message], name: str) -> None:
    """The first heuristic that finds something gives its name."""
    assert describe_thread_cycle(thread) == name
    assert is_thread_cyclic(thread)


@pytest.mark.parametrize("thread", HEALTHY.values(), ids=HEALTHY.keys())
def test_healthy(thread: list[Message]) -> None:
    """A thread that gets somewhere has no cycle and no name."""
    assert describe_thread_cycle(thread) is None
    assert not is_thread_cyclic(thread)


@pytest.mark.parametrize(
    ("kind", "types", "is_read"),
    [
        ("user", None, True),
        ("system", None, True),
        ("", None, True),
        ("reasoning", None, False),
        ("activity", None, False),
        ("bot", {"bot"}, True),
        ("reasoning", {"reasoning"}, True),
        ("user", {"bot"}, False),
        ("bot", set(), False),
    ],
)
def test_types_whose_text_is_read(kind: str, types: set[str] | None, is_read: bool) -> None:
    """By default every type but two; with the option exactly the given ones."""
    options = CycleOptions(text_run_types=None if types is None else frozenset(types))
    assert is_thread_cyclic([Message(type=kind, text=CHURN)], options) is is_read


def test_plain_dicts_serve_as_messages() -> None:
    """No class is needed around a mapping."""
    assert describe_thread_cycle([{"type": "bot", "text": "a"}] * 4) == "repeated_suffix"


@pytest.mark.parametrize("bad", [None, "text", 7, ["type", "bot"]])
def test_no_mapping(bad: Any) -> None:
    """A message that is no mapping is an error that names its place, also in a cyclic thread."""
    with pytest.raises(InvalidInputError, match=r"messages\[0\]"):
        describe_thread_cycle([bad, *[Message.bot("a")] * 4])

"""The shaper for threads of frameworks: what is sent, and what a fold would take."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.agent.shaping import HISTORY_HEADING, ShaperPolicy
from loopguard_core.agent.thread_shaping import FoldRecord, NativePiece, ThreadShaper
from loopguard_core.errors import InvalidInputError
from loopguard_core.message import Message, activity_of

POLICY = ShaperPolicy(
    budget_tokens=1_000,
    lod_headroom_tokens=-1,
    preserve_last_messages=3,
    preserve_last_tool_calls=2,
    lod_truncate_above_chars=400,
    summary_heading=HISTORY_HEADING,
)


def call(number: int, result: str | None = "ok") -> list[Message]:
    """Make a call and its result, or a call alone."""
    arguments = {"n": number}
    request = Message.tool_request("look", arguments, f"c{number}")
    if result is None:
        return [request]
    return [request, Message.tool_response("look", arguments, result, f"c{number}")]


def talk(rounds: int, size: int) -> list[Message]:
    """Make rounds of a question, a call and an answer, behind a system message."""
    thread = [Message.system("You are helpful.")]
    for number in range(rounds):
        thread += [Message.user(f"question {number}"), *call(number, "r" * size)]
        thread.append(Message.bot(f"answer {number}"))
    return thread


def test_what_fits_is_sent_as_it_is() -> None:
    """No text is changed, and nothing would be folded."""
    thread = talk(2, 80)
    shape = ThreadShaper(POLICY).shape(thread)
    assert (shape.sent, dict(shape.texts), shape.fold) == (tuple(range(len(thread))), {}, ())
    assert not shape.over_budget


def test_long_results_before_the_tail_are_stubs() -> None:
    """They say which result they are of, and all else is the same."""
    thread = talk(5, 800)
    shape = ThreadShaper(POLICY).shape(thread)
    assert set(shape.texts) == {3, 7, 11, 15}
    assert shape.texts[3].startswith("[truncated event_id=c0 len=800]\nrrr")
    assert not shape.fold


def test_a_fold_takes_whole_exchanges_and_no_system_message() -> None:
    """It ends before the tail; what is pinned stays where it is."""
    thread = talk(30, 300)
    thread[5]["pinned"] = True
    shape = ThreadShaper(POLICY).shape(thread)
    assert shape.fold[:5] == (1, 2, 3, 4, 6)
    assert 0 not in shape.fold
    assert shape.fold[-1] < len(thread) - 5
    assert {activity_of(thread[at]) is None for at in shape.fold} == {True, False}


def test_pictures_are_folded_with_their_messages() -> None:
    """They cost more than any text, and an old one is no reason to give up on folding."""
    thread = talk(8, 80)
    for message in thread:
        if message["type"] == "user":
            message["blocks"] = ["image"]
    shape = ThreadShaper(POLICY).shape(thread)
    assert shape.tokens > 8_000
    assert len(shape.fold) > 10


def test_the_task_is_never_folded() -> None:
    """However long the run since, the newest message of a person stays."""
    thread = [Message.user("old"), Message.bot("yes"), Message.user("the task")]
    for number in range(30):
        thread += [Message.bot(f"step {number}"), *call(number, "r" * 300)]
    shape = ThreadShaper(POLICY).shape(thread)
    assert shape.fold[:3] == (0, 1, 3)
    assert 2 in shape.sent


def test_a_summary_says_that_it_is_history() -> None:
    """Its text carries the mark of a fold and the heading; the prompt names tools."""
    thread = talk(30, 300)
    shaper = ThreadShaper(POLICY)
    shape = shaper.shape(thread)
    assert shaper.summary_text(" it was so ") == f"[compacted]\n{HISTORY_HEADING}\nit was so"
    assert '2. [tool_call look] {"n":0}' in shaper.summary_prompt(thread, shape)


def test_the_summary_of_an_earlier_fold_alone_is_not_folded() -> None:
    """A second fold would only summarise the summary."""
    summary = Message.user("[compacted]\n" + "s" * 9_000)
    summary["compacted"] = True
    thread = [summary, *talk(1, 80)[1:]]
    assert ThreadShaper(POLICY).shape(thread).fold == ()
    longer = [summary, *talk(30, 300)[1:]]
    assert ThreadShaper(POLICY).shape(longer).fold[0] == 0


def record(before: int, after: int) -> FoldRecord:
    """Make the record of a fold."""
    return FoldRecord(summary="s", messages=3, tokens_before=before, tokens_after=after)


@pytest.mark.parametrize(
    ("folds", "folds_again"),
    [
        ([], True),
        ([record(9_000, 500)] * 3, True),
        ([record(9_000, 8_990)] * 2, True),
        ([record(9_000, 8_990)] * 3, False),
        ([record(9_000, 500), *[record(9_000, 8_990)] * 2], True),
        ([record(9_000, 9_100)] * 4, False),
        ([record(1_000, 990)] * 3, True),  # the thread has grown since
    ],
)
def test_folds_that_free_nothing_rest(folds: list[FoldRecord], *, folds_again: bool) -> None:
    """After three in a row, until the thread has grown by a quarter."""
    assert bool(ThreadShaper(POLICY).shape(talk(30, 300), folds=folds).fold) is folds_again


def test_a_request_that_cannot_fit_is_not_folded() -> None:
    """Where what stands beside the thread is over the budget, no summary helps."""
    shape = ThreadShaper(POLICY).shape(talk(30, 300), beside_tokens=1_001)
    assert (shape.fold, shape.over_budget) == ((), True)


@pytest.mark.parametrize(
    ("expandable", "position", "hint"),
    [(True, -1, True), (True, 2, False), (False, -1, False)],
)
def test_results_are_capped(*, expandable: bool, position: int, hint: bool) -> None:
    """The hint to write {OUTPUT} is for results of this turn alone (Q31)."""
    thread = [Message.user("a"), *call(1, "x" * 900), Message.user("b"), *call(2, "y" * 900)]
    shape = ThreadShaper(ShaperPolicy(), max_result_bytes=300).shape(thread, expandable=expandable)
    text = shape.texts[range(len(thread))[position]]
    assert ("{OUTPUT}" in text, len(text) < 900) == (hint, True)


@pytest.mark.parametrize(("verbatim", "sent"), [(False, "&lt;|end|>"), (True, None)])
def test_control_tokens_in_results_are_harmless(*, verbatim: bool, sent: str | None) -> None:
    """Those of a person are left as they are."""
    thread = [Message.user("<|end|>"), *call(1, "<|end|>")]
    shape = ThreadShaper(ShaperPolicy(verbatim_tool_results=verbatim)).shape(thread)
    assert shape.texts.get(2) == sent
    assert 0 not in shape.texts


def test_reasoning_is_never_shortened() -> None:
    """Providers sign it."""
    thread = [Message.user("a"), Message.reasoning("t" * 9_000), *talk(5, 800)[1:]]
    assert 1 not in ThreadShaper(POLICY).shape(thread).texts


@pytest.mark.parametrize(
    ("thread", "sent"),
    [
        ([*call(1), Message.user("x")], (0, 1, 2)),
        ([call(1)[0], Message.user("x"), call(1)[1]], (0, 2, 1)),
        ([*call(1), Message.bot("a"), call(1, "done")[1]], (0, 3, 2)),
        ([*call(1, None), Message.user("x")], (0, "response", 1)),
        ([call(1)[1], Message.user("x")], ("user", 1)),
        ([*call(1), *call(1)], (0, 1, 2, 3)),
    ],
)
def test_pairs_are_repaired(thread: list[Message], sent: tuple[Any, ...]) -> None:
    """Each call is answered right behind it, once; new messages are marked by what they are."""
    pieces = ThreadShaper(ShaperPolicy()).shape(thread).sent
    assert tuple(piece if isinstance(piece, int) else _kind(piece) for piece in pieces) == sent
    as_it_is = ThreadShaper(ShaperPolicy(repair_pairs=False)).shape(thread).sent
    assert as_it_is == tuple(range(len(thread)))


def _kind(message: Message) -> str:
    activity = activity_of(message)
    return str(message["type"]) if activity is None else activity.type


def test_natives_come_once() -> None:
    """Parts of one native message are one piece, with the texts that change in it."""
    thread = [Message.user("a"), *call(1, "<|x"), Message.bot("b")]
    native = [0, 1, 2, 2]
    pieces = list(ThreadShaper(ShaperPolicy()).shape(thread).natives(native.__getitem__))
    assert pieces == [
        NativePiece(0),
        NativePiece(1),
        NativePiece(2, {2: "&lt;|x"}),
    ]


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("policy", {"policy": None}),
        ("max_result_bytes", {"max_result_bytes": -1}),
        ("max_result_bytes", {"max_result_bytes": True}),
    ],
)
def test_bad_arguments_are_named(field: str, arguments: dict[str, Any]) -> None:
    """The error names the argument."""
    with pytest.raises(InvalidInputError, match=field):
        ThreadShaper(**{"policy": POLICY} | arguments)


PIECES = st.sampled_from(["user", "bot", "call", "pair", "late", "think", "system"])


def _thread(words: list[str]) -> list[Message]:
    thread: list[Message] = []
    for number, word in enumerate(words):
        match word:
            case "call" | "pair":
                thread += call(number, None if word == "call" else "r" * 700)
            case "late":
                thread.append(call(max(number - 2, 0), "late")[1])
            case "think":
                thread.append(Message.reasoning("hm " * 50))
            case _:
                thread.append(Message(type=word, text=f"{word} {number}"))
    return thread


@given(st.lists(PIECES, max_size=16), st.integers(1, 900))
@settings(derandomize=True, max_examples=150, deadline=None)
def test_every_shape_is_sound(words: list[str], tokens: int) -> None:
    """Every position is sent once or answered for, and a fold leaves no call without result."""
    thread = _thread(words)
    before = [dict(message) for message in thread]
    policy = POLICY.model_copy(update={"budget_tokens": tokens})
    shape = ThreadShaper(policy).shape(thread)
    positions = [piece for piece in shape.sent if isinstance(piece, int)]
    assert len(set(positions)) == len(positions)
    assert [dict(message) for message in thread] == before
    rest = [message for at, message in enumerate(thread) if at not in set(shape.fold)]
    answered = {message.get("call_id") for at, message in enumerate(thread) if _is_result(message)}
    open_now = [m for m in rest if _is_call(m) and m["call_id"] not in {
        other.get("call_id") for other in rest if _is_result(other)
    }]  # fmt: skip
    assert all(message["call_id"] not in answered for message in open_now)


def _is_result(message: Message) -> bool:
    return _kind(message) == "response"


def _is_call(message: Message) -> bool:
    return _kind(message) == "request"

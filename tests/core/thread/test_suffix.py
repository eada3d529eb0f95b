"""Repeated suffix: what cases in JSON cannot say."""

from __future__ import annotations

from typing import Any

import pytest

from loopguard_core.errors import InvalidInputError
from loopguard_core.message import Message
from loopguard_core.thread import CycleOptions, has_repeated_suffix

from .activities import holding_itself

NAN = float("nan")


def _pair_twice(one: object, other: object) -> list[dict[str, Any]]:
    """Return a pair twice, whose first message has the meta *one*, then the meta *other*."""
    return [
        {"type": "bot", "text": "a", "meta": one},
        {"type": "bot", "text": "b"},
        {"type": "bot", "text": "a", "meta": other},
        {"type": "bot", "text": "b"},
    ]


@pytest.mark.parametrize(
    ("one", "other", "cyclic"),
    [
        pytest.param({"n": 1}, {"n": 1.0}, True, id="1 is 1.0"),
        pytest.param({"n": -0.0}, {"n": 0}, True, id="minus zero is zero"),
        pytest.param({"n": 2**53}, {"n": 2**53 + 1}, True, id="numbers are doubles"),
        pytest.param({"n": NAN}, {"n": NAN}, True, id="NaN is NaN"),
        pytest.param({"b": 1, "a": 2}, {"a": 2, "b": 1}, True, id="keys have no order"),
        pytest.param(holding_itself(), holding_itself(), True, id="what holds itself is alike"),
        pytest.param(holding_itself(), "[unserializable]", True, id="and is this string"),
        pytest.param({"n": 1}, {"n": True}, False, id="1 is not true"),
        pytest.param({"n": 1}, {"n": "1"}, False, id="1 is no string"),
        pytest.param({"n": NAN}, {"n": None}, False, id="NaN is not null"),
        pytest.param({"n": NAN}, {"n": float("inf")}, False, id="NaN is not infinity"),
        pytest.param([1, 2], [2, 1], False, id="lists have an order"),
        pytest.param(holding_itself(), {}, False, id="what holds itself is nothing else"),
        pytest.param({"t": "\ud83d"}, {"t": "\ude00"}, False, id="halves of a pair differ"),
    ],
)
def test_meta_identity(one: object, other: object, cyclic: bool) -> None:
    """Metas are the same by value, as JSON numbers and strings compare, and never raise."""
    assert has_repeated_suffix(_pair_twice(one, other)) is cyclic


def test_absent_meta_is_not_null() -> None:
    """A meta that is not there differs from one that is None."""
    thread = _pair_twice(None, None)
    del thread[0]["meta"]
    assert not has_repeated_suffix(thread)


def test_meta_that_holds_itself_hides_no_text() -> None:
    """Two messages with other texts stay different although neither meta can be written."""
    thread = _pair_twice(holding_itself(), holding_itself())
    thread[2]["text"] = "other"
    assert not has_repeated_suffix(thread)


def test_lone_surrogates_in_texts() -> None:
    """Half a surrogate pair is a text like any other."""
    thread = [Message.bot("\ud83d"), Message.bot("\ude00")]
    assert has_repeated_suffix(thread * 2)
    assert not has_repeated_suffix([*thread, *reversed(thread)])


def test_fields_beside_the_meta_do_not_count() -> None:
    """Ids and error flags make no other message."""
    calls = [Message.tool_request("ls", {}, str(number)) for number in range(4)]
    assert has_repeated_suffix(calls)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_enormous_options(count: int) -> None:
    """Numbers far beyond the thread find nothing and cost nothing."""
    thread = [Message.user("a")] * count
    for name in ("min_repetitions", "min_pattern_length"):
        assert not has_repeated_suffix(thread, CycleOptions(**{name: 10**12}))
    assert has_repeated_suffix(thread, CycleOptions(max_pattern_length=10**12)) is (count == 5)


@pytest.mark.parametrize("messages", ["abcd", 3, None, {"type": "bot"}])
def test_no_sequence(messages: Any) -> None:
    """What is no sequence is an error that names the argument."""
    with pytest.raises(InvalidInputError, match="messages: expected"):
        has_repeated_suffix(messages)


def test_no_mapping() -> None:
    """A message that is no mapping is an error that names its place, wherever it stands."""
    thread: list[Any] = [Message.user("a"), "b"]
    with pytest.raises(InvalidInputError, match=r"messages\[1\]: expected .* got 'b' \(str\)"):
        has_repeated_suffix(thread)

"""`build_thread`: which messages fit, at what price, and how far the walk goes."""

from __future__ import annotations

import copy
import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from loopguard_core.errors import InvalidInputError, MissingEstimatorError
from loopguard_core.message import Message
from loopguard_core.thread import build_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_FILE = Path(__file__).parents[2] / "data" / "thread.jsonl"
_ROWS = [json.loads(line) for line in _FILE.read_text("utf-8").split("\n") if line]
CASES = [row for row in _ROWS if row["fn"] == "build_thread"]
NUMBER_OF_CASES = 84


def _estimated(message: Mapping[str, Any]) -> float:
    return message["estimatedTokens"]


def _trim(message: Message, tokens: float, **usage: str) -> Message:
    return Message({**message, "usage": {"tokens": tokens, **usage}, "trimmed": True})


_INCLUSIVE: dict[str, Any] = {
    "all": "all",
    "drop": lambda _message, _room: None,
    "trim_to_room": _trim,
    "trim_to_half_room": lambda message, room: _trim(message, room * 0.5, note="kept"),
    "trim_overshoots": lambda message, room: _trim(message, room * 3, note="kept"),
}


def test_no_case_is_lost() -> None:
    """The copy holds as many cases as it was made with."""
    assert len(CASES) == NUMBER_OF_CASES


@pytest.mark.parametrize("case", CASES)
def test_case(case: dict[str, Any]) -> None:
    """The kept messages and the total are those of the case; the input stays as it was."""
    messages = copy.deepcopy(case["messages"])
    result = build_thread(
        messages,
        max_tokens=case["max_tokens"],
        estimate=_estimated,
        min_messages=case.get("min_messages", 0),
        inclusive=_INCLUSIVE.get(case.get("inclusive", "")),
    )
    assert case["expect"] == {"messages": result.messages, "usage": result.usage}
    assert case["messages"] == messages


def _thread(*prices: object) -> list[Message]:
    return [Message(text=str(n), price=price) for n, price in enumerate(prices)]


def _build(messages: Sequence[Mapping[str, Any]], max_tokens: float, **options: Any) -> Any:
    return build_thread(messages, max_tokens=max_tokens, estimate=lambda m: m["price"], **options)


def _prices(result: Any) -> list[object]:
    return [message["usage"]["tokens"] for message in result.messages]


@pytest.mark.parametrize(
    ("prices", "max_tokens", "options", "kept"),
    [
        ([10, 5], 15, {}, [10, 5]),
        ([5, 10, 10], 15, {}, [10]),
        ([5, 10, 5], 15, {"inclusive": "all"}, [5, 10, 5]),
        ([10, 5], 15, {"inclusive": "all"}, [10, 5]),
        ([3.5, 6.5], 10, {}, [3.5, 6.5]),
        ([0, 5], 5, {}, [5]),
        ([0, 5], 5, {"inclusive": "all"}, [0, 5]),
        ([0, 0], 0, {}, [0]),
        ([7], 0, {}, []),
        ([], 5, {}, []),
        ([20], 5, {}, []),
        ([1, 2, 3], math.inf, {}, [1, 2, 3]),
        ([30, 40, 50], 60, {"min_messages": 2}, [40, 50]),
        ([30, 40, 50], 60, {"min_messages": -2}, [40, 50]),
        ([30, 40, 50], 60, {"min_messages": 9}, [30, 40, 50]),
        ([30, 40, 50], 60, {"min_messages": None}, [50]),
        ([30, 40, 50], 60, {"min_messages": 3, "inclusive": "all"}, [30, 40, 50]),
        ([40, 50], -1, {"min_messages": 1}, [50]),
        ([40, 50], -1, {}, []),
        ([40, 50], -math.inf, {"inclusive": "all"}, [50]),
    ],
)
def test_the_walk(
    prices: list[float], max_tokens: float, options: dict[str, Any], kept: list[float]
) -> None:
    """The newest messages that fit are kept, and the total is the sum of their prices."""
    result = _build(_thread(*prices), max_tokens, **options)
    assert kept == _prices(result)
    assert {"tokens": sum(kept)} == result.usage


@pytest.mark.parametrize(
    ("usage", "price"),
    [
        ({"tokens": 7}, 7),
        ({"tokens": 0}, 0),
        ({"tokens": 2.5}, 2.5),
        ({"tokens": Fraction(5, 2)}, 2.5),
        ({"tokens": math.inf}, 0),
        ({"tokens": 10**400}, 0),
        ({"tokens": -1}, 99),
        ({"tokens": -(10**400)}, 99),
        ({"tokens": math.nan}, 99),
        ({"tokens": True}, 99),
        ({"tokens": "7"}, 99),
        ({"tokens": None}, 99),
        ({"tokens": Decimal(7)}, 99),
        ({"other": 7}, 99),
        ([7], 99),
        (None, 99),
    ],
)
def test_recorded_usage(usage: object, price: float) -> None:
    """Recorded usage counts if it is a number of at least 0; what is infinite then counts as 0."""
    result = _build([{"price": 99, "usage": usage, "meta": {"k": 1}, "own": "kept"}], 1000)
    assert result.messages == [
        {"price": 99, "usage": {"tokens": price}, "meta": {"k": 1}, "own": "kept"}
    ]


@pytest.mark.parametrize("price", [math.nan, math.inf, -math.inf, -3, "5", None, True, [5]])
def test_a_price_that_is_none_counts_as_nothing(price: object) -> None:
    """An estimator's answer that is no finite number of at least 0 is a price of 0."""
    assert _prices(_build(_thread(price), 10)) == [0]


def test_the_estimator_sees_the_message_as_it_came() -> None:
    """The estimator gets the very object, bad usage included, and only if usage does not count."""
    seen: list[object] = []
    bad = {"text": "a", "usage": {"tokens": -1}}
    good = {"text": "b", "usage": {"tokens": 0}}
    build_thread([good, bad], max_tokens=9, estimate=lambda m: seen.append(m) or 1)
    assert len(seen) == 1
    assert seen[0] is bad


def test_what_the_walk_does_not_reach_is_left_alone() -> None:
    """Behind the first message that does not fit, nothing is priced, copied or checked."""
    priced: list[str] = []

    def estimate(message: Mapping[str, Any]) -> int:
        priced.append(message["text"])
        return 10

    unreadable: Any = [None, "no message"]
    result = build_thread(
        [*unreadable, *_thread(0, 0, 0)], max_tokens=20, estimate=estimate, inclusive=None
    )
    assert [message.text for message in result.messages] == ["1", "2"]
    assert priced == ["2", "1"]


def test_copies_keep_their_class_and_plain_dicts_become_messages() -> None:
    """A kept message is a copy: of its own class, or a Message for another mapping."""

    class Own(Message):
        pass

    own, plain = Own(price=1), {"price": 1}
    result = _build([own, plain], 10)
    assert [type(message) for message in result.messages] == [Own, Message]
    assert own == {"price": 1}
    assert plain == {"price": 1}


def test_the_function_is_asked_once_about_the_oldest() -> None:
    """The inclusive function gets the copy and the room; its answer stands whole in its place."""
    asked: list[tuple[Message, float]] = []

    def cut(message: Message, room: float) -> dict[str, object]:
        asked.append((message, room))
        return {"text": "cut", "usage": {"tokens": room}}

    result = _build(_thread(5, 80, 40, 30), 100, inclusive=cut)
    assert [(message.text, room) for message, room in asked] == [("1", 30)]
    assert result.messages[0] == {"text": "cut", "usage": {"tokens": 30}}
    assert result.usage == {"tokens": 100}


@pytest.mark.parametrize(
    ("answer", "first", "total"),
    [
        (None, {"price": 30, "text": "2", "usage": {"tokens": 30}}, 60),
        ({"usage": {"tokens": 0}}, {"usage": {"tokens": 0}}, 60),
        ({"usage": {"tokens": 50, "by": "me"}}, {"usage": {"tokens": 40, "by": "me"}}, 100),
        ({"usage": {"tokens": math.inf}}, {"usage": {"tokens": math.inf}}, 60),
        ({"usage": {"tokens": None}}, {"usage": {"tokens": None}}, 60),
        ({"usage": None}, {"usage": None}, 60),
        ({"text": "x"}, {"text": "x"}, 60),
    ],
)
def test_what_the_function_may_answer(answer: Any, first: dict[str, Any], total: float) -> None:
    """None drops; a price above the room becomes the room; anything else stays as returned."""
    result = _build(_thread(9, 80, 30, 30), 100, inclusive=lambda _message, _room: answer)
    assert result.messages[0] == first
    assert result.usage == {"tokens": total}


def test_the_answer_itself_is_not_changed() -> None:
    """Clamping works on a copy, and an answer that needs none is kept as the same object."""
    over, under = Message(usage={"tokens": 50}), Message(usage={"tokens": 1})
    _build(_thread(80, 60), 100, inclusive=lambda _message, _room: over)
    result = _build(_thread(80, 60), 100, inclusive=lambda _message, _room: under)
    assert over == {"usage": {"tokens": 50}}
    assert result.messages[0] is under


@pytest.mark.parametrize(
    ("prices", "options"), [([30, 60, 40], {}), ([30, 60, 60], {"min_messages": 2})]
)
def test_without_room_the_function_is_not_asked(
    prices: list[float], options: dict[str, Any]
) -> None:
    """When the budget is used up, exactly or by protected messages, the next is kept whole."""

    def unasked(_message: Message, _room: float) -> None:
        raise AssertionError

    result = _build(_thread(*prices), 100, inclusive=unasked, **options)
    assert prices == _prices(result)


def test_errors_come_through() -> None:
    """What the estimator or the inclusive function raises reaches the caller unchanged."""

    def fail(*_: object) -> Any:
        raise RuntimeError("no tokenizer today")

    with pytest.raises(RuntimeError, match="no tokenizer today"):
        build_thread([{}], max_tokens=1, estimate=fail)
    with pytest.raises(RuntimeError, match="no tokenizer today"):
        _build(_thread(9), 5, inclusive=fail)


def test_an_estimator_is_needed_only_where_usage_is_missing() -> None:
    """Without an estimator the first message reached without usage is named in the error."""
    recorded = {"usage": {"tokens": 5}}
    assert build_thread([{}, recorded], max_tokens=5).usage == {"tokens": 5}
    with pytest.raises(MissingEstimatorError, match=r"messages\[1\]"):
        build_thread([recorded, {}, recorded], max_tokens=50)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: _build(_thread(1), math.nan), "max_tokens: .*nan"),
        (lambda: _build(_thread(1), True), "max_tokens: .*True"),
        (lambda: _build(_thread(1), "9"), "max_tokens: .*'9'"),
        (lambda: _build(_thread(1), None), "max_tokens: .*None"),
        (lambda: _build(_thread(1), 9, min_messages=1.5), r"min_messages: .*1\.5"),
        (lambda: _build(_thread(1), 9, min_messages=True), "min_messages: .*True"),
        (lambda: _build(_thread(1), 9, inclusive="some"), "inclusive: .*'some'"),
        (lambda: _build(_thread(1), 9, inclusive=True), "inclusive: .*True"),
        (lambda: _build(_thread(8), 5, inclusive=lambda _m, _r: 7), r"inclusive\(.*7 \(int\)"),
        (lambda: build_thread([], max_tokens=1, estimate=4), "estimate: .*4"),
        (lambda: _build("thread", 9), "messages: .*'thread'"),
        (lambda: _build({}, 9), "messages: .*{}"),
        (lambda: _build([{"price": 1}, 7], 9), r"messages\[1\]: .*7 \(int\)"),
    ],
)
def test_bad_input_is_named(call: Callable[[], object], named: str) -> None:
    """An argument that cannot be used is an error that names the field and the value."""
    with pytest.raises(InvalidInputError, match=named):
        call()

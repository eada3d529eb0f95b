"""`Trimmer`: what stays of a thread that is too long, and how still the cut holds."""

from __future__ import annotations

import copy
import itertools
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from loopguard_core.errors import InvalidInputError
from loopguard_core.message import Message, activity_of
from loopguard_core.thread import Trimmer, TrimPlan, exchanges
from loopguard_core.tokens import chars_estimate

from .threads import threads

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

S, U, B = Message.system("s"), Message.user("u"), Message.bot("b")


def ten(_message: Mapping[str, object]) -> int:
    """Price every message at 10 tokens."""
    return 10


def exchange(number: int, result: object = "ok") -> list[Message]:
    """Build a call and its result."""
    call_id = f"call {number}"
    return [
        Message.tool_request("ls", {"n": number}, call_id),
        Message.tool_response("ls", {"n": number}, result, call_id),
    ]


def run_of(length: int) -> list[Message]:
    """Build a head, a task, and *length* exchanges."""
    return [S, U, *itertools.chain.from_iterable(map(exchange, range(length)))]


def pinned(message: Message) -> Message:
    """Return a pinned copy."""
    return Message({**message, "pinned": True})


def kept(messages: Sequence[Message], **options: Any) -> list[int]:
    """Return the positions that a trimmer keeps where every message costs 10 tokens."""
    plan = Trimmer(**{"estimate": ten, "step_messages": 1, **options}).plan(messages)
    return list(itertools.chain.from_iterable(plan.kept))


def result_of(message: Mapping[str, object]) -> Any:
    """Return the result that a message carries."""
    activity = activity_of(message)
    assert activity is not None
    return activity.result


@pytest.mark.parametrize(
    ("messages", "max_tokens", "positions"),
    [
        pytest.param([], 10, [], id="nothing"),
        pytest.param([S, U, B], 30, [0, 1, 2], id="everything fits"),
        pytest.param([U, B, U, B], 20, [2, 3], id="the newest messages"),
        pytest.param([S, S, U, B, U, B], 40, [0, 1, 4, 5], id="the head stays"),
        pytest.param([U, S, U, B], 20, [2, 3], id="a later system message does not"),
        pytest.param(run_of(3), 50, [0, 1, 6, 7], id="a call without its result is no use"),
        pytest.param(run_of(3), 60, [0, 1, 4, 5, 6, 7], id="two exchanges"),
        pytest.param(run_of(3), 30, [0, 6, 7], id="the task gives way to what must stay"),
        pytest.param(run_of(3), 20, [0, 6, 7], id="head and newest stay even over budget"),
        pytest.param([U, U, *exchange(1)], 30, [1, 2, 3], id="the newest task"),
        pytest.param([*exchange(1), U], 20, [2], id="no room for the exchange before"),
        pytest.param([pinned(U), B, U, B], 30, [0, 2, 3], id="what is pinned stays"),
        pytest.param(
            [exchange(1)[0], pinned(exchange(1)[1]), B, U, B],
            40,
            [0, 1, 3, 4],
            id="what is pinned keeps its exchange",
        ),
        pytest.param([exchange(1)[1], U, B], 30, [1, 2], id="a result without a call goes"),
        pytest.param([pinned(exchange(1)[1]), U], 30, [1], id="also if it is pinned"),
        pytest.param([U, exchange(1)[0]], 20, [0, 1], id="a call without a result stays"),
        pytest.param([exchange(1)[0], U, B], 30, [0, 1, 2], id="also if it is not the newest"),
        pytest.param(
            [exchange(1)[0], B, U, exchange(1)[1]],
            30,
            [0, 2, 3],
            id="the unit of the newest message is the newest unit",
        ),
        pytest.param([U, exchange(1)[1]], 10, [0], id="a result without a call is not the newest"),
        pytest.param([exchange(1)[1]], 10, [], id="nothing but a result without a call"),
    ],
)
def test_what_stays(messages: list[Message], max_tokens: int, positions: list[int]) -> None:
    """Head, pins, newest unit and task stay, then the newest units that fit, each one whole."""
    assert positions == kept(messages, max_tokens=max_tokens)


def test_the_task_can_be_left_unprotected() -> None:
    """Without `keep_task` the newest message of a person goes like any other."""
    assert kept(run_of(3), max_tokens=40, keep_task=False) == [0, 6, 7]
    assert kept(run_of(3), max_tokens=40) == [0, 1, 6, 7]


def test_pins_can_be_named_by_position() -> None:
    """A caller that knows the pins spares the look at every message; the keys then don't count."""
    thread = [U, B, pinned(U), B, U]
    trimmer = Trimmer(max_tokens=20, estimate=ten, step_messages=1)
    assert trimmer.plan(thread, pinned=[1]).kept == (range(1, 2), range(4, 5))
    assert trimmer.plan(thread, pinned=()).kept == (range(3, 5),)
    assert [thread[1], thread[4]] == trimmer.trim(thread, pinned=[1])


def test_recorded_usage_is_the_price() -> None:
    """A message that carries its tokens is not estimated, and fractions are rounded up."""
    thread = [U, Message(type="bot", usage={"tokens": 3.2})]
    assert Trimmer(max_tokens=99, estimate=ten).plan(thread).tokens == 14


@pytest.mark.parametrize(
    ("length", "step", "max_tokens", "cut"),
    [
        (20, 10, 400, 10),
        (20, 8, 400, 8),
        (20, 7, 400, 8),  # 7 is inside an exchange, so the next unit
        (20, 1, 400, 4),
        (20, 16, 420, 0),
        (20, 16, 410, 16),
        (20, 64, 400, 32),  # 38 messages fit, so the step is halved once
        (20, 64, 80, 36),  # 6 fit: steps of 4
    ],
)
def test_where_the_cut_falls(length: int, step: int, max_tokens: int, cut: int) -> None:
    """The first unit at or after a multiple of the step that fits; a long step is halved."""
    trimmer = Trimmer(max_tokens=max_tokens, estimate=ten, step_messages=step)
    assert cut == trimmer.plan(run_of(length)).cut


def test_a_newest_unit_over_every_multiple() -> None:
    """Where no unit starts behind a multiple of the step, a shorter step does."""
    thread = [U] * 3 + [Message.tool_request("ls", n, str(n)) for n in range(8)]
    assert kept(thread, max_tokens=90, step_messages=6) == [2, *range(3, 11)]
    assert kept(thread, max_tokens=90, step_messages=6, keep_task=False) == list(range(3, 11))


def test_the_cut_holds_still() -> None:
    """Over 100 turns the cut moves forward only, and once for as many messages as the step has."""
    trimmer = Trimmer(max_tokens=1000, estimate=ten, step_messages=20)
    cuts = [trimmer.plan(run_of(turns)).cut for turns in range(1, 101)]
    assert cuts == sorted(cuts)
    assert sorted(set(cuts)) == [0, *range(20, 121, 20)]
    without_step = Trimmer(max_tokens=1000, estimate=ten, step_messages=1)
    assert len({without_step.plan(run_of(turns)).cut for turns in range(1, 101)}) == 52


def test_the_prefix_holds_still() -> None:
    """Between two moves of the cut each prompt begins with the one before."""
    trimmer = Trimmer(max_tokens=1000, estimate=ten)
    prompts = [trimmer.trim(run_of(turns)) for turns in range(1, 101)]
    broken = sum(after[: len(before)] != before for before, after in itertools.pairwise(prompts))
    assert broken == 7


def test_an_oversized_newest_result_is_cut_in_the_middle() -> None:
    """Head and tail of the result stay around a marker; other keys stay, stale usage goes."""
    text = "".join(f"line {n}\n" for n in range(1000))
    call, answer = exchange(1, text)
    answer |= {"native": object(), "usage": {"tokens": 5000}, "is_error": True}
    thread = [S, U, call, answer]
    plan = Trimmer(max_tokens=200, estimate=chars_estimate).plan(thread)
    assert plan.kept == (range(4),)
    assert plan.replaced.keys() == {3}
    assert not plan.over_budget
    assert 190 <= plan.tokens <= 200
    cut = plan.replaced[3]
    head, marker, tail = result_of(cut).partition("\n[... ")[0], "[... ", result_of(cut)[-300:]
    assert text.startswith(head)
    assert marker in result_of(cut)
    assert text.endswith(tail)
    assert {key: cut[key] for key in ("native", "is_error", "call_id")} == {
        key: answer[key] for key in ("native", "is_error", "call_id")
    }
    assert "usage" not in cut
    assert result_of(answer) == text


@pytest.mark.parametrize("usage", [None, {"tokens": 9}, {"tokens": 50_000}])
@pytest.mark.parametrize(
    "text",
    ["word " * 4000, "a" * 9000 + "." * 1000, "." * 9000 + "a" * 1000, "a" * 4000 + "." * 4000],
)
def test_the_room_is_used(text: str, usage: object) -> None:
    """However the price is spread over a text, and whatever was recorded, most room is used."""

    def letters_cost_more(message: Mapping[str, Any]) -> int:
        return sum(4 if letter == "a" else 1 for letter in str(result_of(message))) // 4

    call, answer = exchange(1, text)
    call["usage"], answer["usage"] = {"tokens": 1}, usage
    plan = Trimmer(max_tokens=500, estimate=letters_cost_more).plan([call, answer])
    if usage == {"tokens": 9}:
        assert plan.replaced == {}
    else:
        assert 450 <= plan.tokens <= 500


def test_a_price_that_jumps() -> None:
    """An estimator that says little or much, and nothing between, still ends below the budget."""
    trimmer = Trimmer(
        max_tokens=500, estimate=lambda message: 9 if len(str(result_of(message))) < 300 else 5000
    )
    plan = trimmer.plan(exchange(1, "word " * 4000))
    assert plan.tokens == 18
    assert 100 < len(result_of(plan.replaced[1])) < 300


def test_several_oversized_results_share_the_room() -> None:
    """Small results stay whole, and the large ones get equal parts of what is left."""
    results = ["a" * 9000, "b" * 200, "c" * 5000]
    calls = [Message.tool_request("ls", None, str(n)) for n in range(3)]
    answers = [Message.tool_response("ls", None, r, str(n)) for n, r in enumerate(results)]
    plan = Trimmer(max_tokens=1000, estimate=chars_estimate).plan([U, *calls, *answers])
    assert plan.replaced.keys() == {4, 6}
    assert 990 <= plan.tokens <= 1000
    first, second = (len(result_of(plan.replaced[position])) for position in (4, 6))
    assert abs(first - second) < 10


def test_only_what_is_newest_is_cut() -> None:
    """An older exchange with a large result goes whole; so does one before a person's message."""
    thread = [S, *exchange(1, "x" * 9000), U, *exchange(2)]
    plan = Trimmer(max_tokens=100, estimate=chars_estimate).plan(thread)
    assert plan.kept == (range(1), range(3, 6))
    assert plan.replaced == {}


@pytest.mark.parametrize("result", [{"rows": ["x"] * 500}, ["x"] * 500, "x" * 500])
def test_a_result_of_any_kind_can_be_cut(result: object) -> None:
    """A result that is no string is cut as its canonical text."""
    thread = [U, *exchange(1, result)]
    plan = Trimmer(max_tokens=100, estimate=chars_estimate).plan(thread)
    assert isinstance(result_of(plan.replaced[2]), str)
    assert not plan.over_budget


def test_a_pinned_exchange_is_not_cut() -> None:
    """What is pinned is kept as it is, also over budget."""
    call, answer = exchange(1, "x" * 9000)
    plan = Trimmer(max_tokens=100, estimate=chars_estimate).plan([S, pinned(call), answer])
    assert plan.kept == (range(3),)
    assert plan.replaced == {}
    assert plan.over_budget


def test_a_budget_that_cannot_be_met() -> None:
    """Then only what must stay is left, results are down to their markers, and the plan says so."""
    thread = [Message.system("s" * 4000), U, *exchange(1), *exchange(2, "x" * 9000)]
    plan = Trimmer(max_tokens=100, estimate=chars_estimate).plan(thread)
    assert plan.over_budget
    assert plan.tokens > 1000
    assert plan.kept == (range(1), range(4, 6))
    assert result_of(plan.replaced[5]) == "[... 9000 characters left out ...]"


@pytest.mark.parametrize(("length", "is_cut"), [(100, False), (101, True)])
def test_a_short_result_is_never_cut(length: int, is_cut: bool) -> None:
    """Up to 100 characters a result stays whole, so a marker is never cut again."""
    plan = Trimmer(max_tokens=1, estimate=chars_estimate).plan(exchange(1, "x" * length))
    assert (1 in plan.replaced) == is_cut


def test_what_is_not_reached_is_left_alone() -> None:
    """Only what is kept, and the first unit that does not fit, is priced and checked."""
    priced: list[object] = []

    def estimate(message: Mapping[str, object]) -> int:
        priced.append(message)
        return 10

    unreadable: list[Any] = [None, "no message", 7] * 20
    thread = [S, pinned(U), *unreadable, *run_of(50)[2:]]
    plan = Trimmer(max_tokens=200, estimate=estimate, step_messages=1, keep_task=False).plan(thread)
    assert plan.kept == (range(2), range(len(thread) - 18, len(thread)))
    assert len(priced) == 22
    assert not any(message is unread for message in priced for unread in unreadable)


def test_an_old_pin_inside_an_exchange_is_found_without_pricing() -> None:
    """The way to a pinned exchange costs reading; nothing on it is priced."""
    priced: list[object] = []
    call, answer = exchange(99)
    thread = [S, call, pinned(answer), *run_of(50)[2:]]
    trimmer = Trimmer(
        max_tokens=100,
        estimate=lambda m: priced.append(m) or 10,
        step_messages=1,
    )
    assert trimmer.plan(thread).kept == (range(3), range(97, 103))
    assert len(priced) == 11


def test_without_an_estimator_the_default_one_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """None is the default estimator, which is made when it is first needed, and once."""
    made: list[object] = []
    monkeypatch.setattr(
        "loopguard_core.thread.trim.default_estimator", lambda: made.append(ten) or ten
    )
    trimmer = Trimmer(max_tokens=10)
    assert made == []
    assert trimmer.plan([U]).tokens == trimmer.plan([B]).tokens == 10
    assert made == [ten]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({}, "max_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": -5}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"max_tokens": "9"}, "max_tokens"),
        ({"max_tokens": float("nan")}, "max_tokens"),
        ({"max_tokens": 9, "step_messages": 0}, "step_messages"),
        ({"max_tokens": 9, "step_messages": 2.0}, "step_messages"),
        ({"max_tokens": 9, "estimate": 4}, "estimate"),
        ({"max_tokens": 9, "keep_task": 1}, "keep_task"),
        ({"max_tokens": 9, "max_messages": 4}, "max_messages"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], named: str) -> None:
    """An option that cannot be used is named, with its value."""
    with pytest.raises(ValidationError) as caught:
        Trimmer(**options)
    (error,) = caught.value.errors()
    assert error["loc"] == (named,)


@pytest.mark.parametrize(
    ("messages", "pins", "named"),
    [
        ("text", None, "messages: expected a sequence"),
        (None, None, "messages: expected a sequence"),
        ([U, 7], None, r"messages\[1\]: .*7"),
        ([U], [1], "pinned: .*1"),
        ([U], [-1], "pinned: .*-1"),
        ([U], [0.5], r"pinned: .*0\.5"),
        ([U], ["u"], "pinned: .*'u'"),
    ],
)
def test_bad_input_is_named(messages: Any, pins: Any, named: str) -> None:
    """A thread that is none, a reached message that is none, and a pin out of reach are named."""
    with pytest.raises(InvalidInputError, match=named):
        Trimmer(max_tokens=10, estimate=ten).plan(messages, pinned=pins)


def test_a_trimmer_is_frozen() -> None:
    """A trimmer can be shared, because nothing can change it."""
    trimmer = Trimmer(max_tokens=10)
    with pytest.raises(ValidationError, match="frozen"):
        trimmer.max_tokens = 20


# What must hold for any thread, any budget and any step.

any_trimmer = st.builds(
    Trimmer,
    max_tokens=st.integers(1, 400),
    estimate=st.sampled_from([ten, chars_estimate]),
    step_messages=st.sampled_from([1, 2, 3, 8]),
    keep_task=st.booleans(),
)
for_any_thread = settings(derandomize=True, max_examples=150, deadline=None)


def positions_of(plan: TrimPlan) -> list[int]:
    """Return the positions that a plan keeps."""
    return list(itertools.chain.from_iterable(plan.kept))


@for_any_thread
@given(threads(), any_trimmer)
def test_units_stay_or_go_whole(thread: list[Message], trimmer: Trimmer) -> None:
    """Every result kept has its call kept and the other way round."""
    stays = set(positions_of(trimmer.plan(thread)))
    for unit in exchanges(thread):
        assert len(stays.intersection(unit.positions)) in {0, len(unit.positions)}
        assert not (unit.is_orphan and stays.intersection(unit.positions))


@for_any_thread
@given(threads(), any_trimmer)
def test_order_and_objects_stay(thread: list[Message], trimmer: Trimmer) -> None:
    """Order stays, what was not cut is the same object, and the input is not changed."""
    before = copy.deepcopy(thread)
    plan = trimmer.plan(thread)
    assert thread == before
    positions = positions_of(plan)
    assert positions == sorted(set(positions))
    for position, message in zip(positions, trimmer.trim(thread), strict=True):
        assert (message is thread[position]) == (position not in plan.replaced)


@for_any_thread
@given(threads(), any_trimmer)
def test_what_is_protected_stays(thread: list[Message], trimmer: Trimmer) -> None:
    """Head, pinned messages and the newest unit stay, whatever they cost."""
    stays = set(positions_of(trimmer.plan(thread)))
    units = [unit for unit in exchanges(thread) if not unit.is_orphan]
    head = itertools.takewhile(lambda at: thread[at].type == "system", range(len(thread)))
    assert stays.issuperset(head)
    for unit in units:
        if any(message.get("pinned") is True for message in unit.messages):
            assert stays.issuperset(unit.positions)
    if units:
        assert stays.issuperset(max(units, key=lambda unit: unit.stop).positions)


@for_any_thread
@given(threads(), any_trimmer)
def test_the_budget_is_met_if_it_can_be(thread: list[Message], trimmer: Trimmer) -> None:
    """Over budget is exactly what costs more at its very least; the plan names the true price."""
    plan = trimmer.plan(thread)
    least = trimmer.model_copy(update={"max_tokens": 1}).plan(thread).tokens
    assert plan.over_budget == (least > trimmer.max_tokens) == (plan.tokens > trimmer.max_tokens)
    everything = trimmer.model_copy(update={"max_tokens": 10**9}).plan(trimmer.trim(thread))
    assert plan.tokens == everything.tokens


@for_any_thread
@given(threads(), any_trimmer)
def test_trimming_twice_is_trimming_once(thread: list[Message], trimmer: Trimmer) -> None:
    """A trimmed thread stays as it is."""
    once = trimmer.trim(thread)
    twice = trimmer.trim(once)
    assert [id(message) for message in once] == [id(message) for message in twice]


@for_any_thread
@given(threads(max_turns=20), st.integers(60, 400), st.sampled_from([1, 2, 4]))
def test_the_cut_falls_on_steps(thread: list[Message], max_tokens: int, step: int) -> None:
    """Where more messages fit than a step has, the cut is a unit's start behind a multiple."""
    trimmer = Trimmer(max_tokens=max_tokens, estimate=ten, step_messages=step)
    plan, freely = trimmer.plan(thread), trimmer.model_copy(update={"step_messages": 1})
    starts = [unit.start for unit in exchanges(thread) if not unit.is_orphan]
    oldest = freely.plan(thread).cut
    behind = {
        next((start for start in starts if start >= multiple), len(thread))
        for multiple in range(0, len(thread) + step, step)
    }
    first = min((start for start in behind if start >= oldest), default=len(thread))
    if oldest and step <= len(thread) - oldest and first < len(thread):
        assert plan.cut == first
    assert oldest <= plan.cut < oldest + step + max(map(len, [[], *_spans(thread)]))


def _spans(thread: list[Message]) -> list[range]:
    return [range(unit.start, unit.stop) for unit in exchanges(thread)]

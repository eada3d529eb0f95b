"""`exchanges`: which messages belong together, and how far the newest end is read."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.errors import InvalidInputError
from loopguard_core.message import ABSENT, Message
from loopguard_core.thread import Exchange, exchanges, newest_exchanges

from .threads import threads

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

U, B, R, S = Message.user("u"), Message.bot("b"), Message.reasoning("r"), Message.system("s")


def call(call_id: str | None = None, name: str = "ls", arguments: object = None) -> Message:
    """Build a call of a tool."""
    return Message.tool_request(name, arguments, call_id)


def result(call_id: str | None = None, name: str = "ls", arguments: object = None) -> Message:
    """Build the result of a call; ABSENT arguments are left out."""
    message = Message.tool_response(name, arguments, "ok", call_id)
    if arguments is ABSENT:
        message["meta"] = {
            "activity": {"type": "response", "function": {"name": name, "result": "ok"}}
        }
    return message


def in_group(group: object, *messages: Message) -> list[Message]:
    """Return copies of *messages* that were one native message."""
    return [Message({**message, "group": group}) for message in messages]


def units(messages: Sequence[Message]) -> list[tuple[int, ...]]:
    """Return the positions of each unit."""
    return [unit.positions for unit in exchanges(messages)]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([S, U, B, U, B], [(0,), (1,), (2,), (3,), (4,)], id="a chat"),
        pytest.param([U, R, B], [(0,), (1, 2)], id="reasoning belongs to the text behind it"),
        pytest.param([R, R, B, B], [(0, 1, 2), (3,)], id="two texts are two messages"),
        pytest.param([R], [(0,)], id="reasoning alone"),
        pytest.param([call("1"), result("1")], [(0, 1)], id="a call and its result"),
        pytest.param(
            [R, B, call("1"), result("1"), R, call("2"), result("2")],
            [(0, 1, 2, 3), (4, 5, 6)],
            id="reasoning and text belong to the calls behind them",
        ),
        pytest.param(
            [call("1"), call("2"), result("2"), result("1")],
            [(0, 1, 2, 3)],
            id="parallel calls, answered the other way round",
        ),
        pytest.param(
            [call("1"), call("2"), result("1"), U, result("2"), B],
            [(0, 1, 2, 4), (3,), (5,)],
            id="a person speaks between the results",
        ),
        pytest.param(
            [call("1"), U, call("2"), result("1"), result("2")],
            [(0, 3), (1,), (2, 4)],
            id="two exchanges that overlap",
        ),
        pytest.param(
            [call("1"), result("1"), U, call("1"), result("1")],
            [(0, 1), (2,), (3, 4)],
            id="an id that comes again in a later turn",
        ),
        pytest.param(
            [call("1"), U, call("1"), result("1")],
            [(0,), (1,), (2, 3)],
            id="an id that comes again after a call without a result",
        ),
        pytest.param(
            [call("1"), result("1"), result("1"), U],
            [(0, 1, 2), (3,)],
            id="an id that is answered twice",
        ),
        pytest.param(
            [call(), result(), call(), result()],
            [(0, 1), (2, 3)],
            id="equal calls without ids, one after the other",
        ),
        pytest.param(
            [call(), U, call(), result(), result()],
            [(0, 3), (1,), (2, 4)],
            id="equal calls without ids, both open",
        ),
        pytest.param(
            [
                call(arguments={"a": 1, "b": 2}),
                call(arguments=[3]),
                result(arguments=[3]),
                result(arguments={"b": 2, "a": 1}),
            ],
            [(0, 1, 2, 3)],
            id="calls without ids are known by their arguments, in any key order",
        ),
        pytest.param(
            [call(arguments=[1]), U, call("9", arguments=[2]), result(arguments=[1]), result("9")],
            [(0, 3), (1,), (2, 4)],
            id="with and without ids",
        ),
        pytest.param(
            [call(arguments=[1]), result(arguments=ABSENT)],
            [(0, 1)],
            id="a result that names neither an id nor arguments",
        ),
        pytest.param(
            [call("1"), result()], [(0, 1)], id="a result that lost the id its call still has"
        ),
        pytest.param(
            [call("", arguments=[1]), U, call("", arguments=[2]), result("", arguments=[1]), B],
            [(0, 3), (1,), (2,), (4,)],
            id="an empty id is no id",
        ),
        pytest.param(
            [B, *in_group(1, call("1")), call("2"), result("1"), result("2")],
            [(0,), (1, 3), (2, 4)],
            id="a group does not join what has none",
        ),
        pytest.param(
            [*in_group(1, R, B, call("1")), *in_group(2, B), result("1")],
            [(0, 1, 2, 4), (3,)],
            id="groups keep neighbours apart",
        ),
        pytest.param(
            [*in_group(0, call("1"), B, R, call("2")), result("2"), result("1")],
            [(0, 1, 2, 3, 4, 5)],
            id="a group holds parts in any order",
        ),
        pytest.param(
            in_group(7, R, call("1"), result("1"), B),
            [(0, 1, 2, 3)],
            id="a call that the provider ran itself",
        ),
        pytest.param(
            [*in_group(1, call("1"), call("2")), *in_group(2, result("1"), result("2"), U)],
            [(0, 1, 2, 3, 4)],
            id="one native message with all results and a person's text",
        ),
        pytest.param(
            [call("1"), U, call("2"), *in_group(1, result("1"), result("2"))],
            [(0, 2, 3, 4), (1,)],
            id="one native message with results of two exchanges joins them",
        ),
        pytest.param(
            [Message(type="activity", meta={}), Message(type="activity", text="x"), Message()],
            [(0,), (1,), (2,)],
            id="what cannot be read stands alone",
        ),
        pytest.param(
            [call("1"), result("1", name="other", arguments={"any": 1})],
            [(0, 1)],
            id="with ids neither name nor arguments matter",
        ),
    ],
)
def test_units(messages: list[Message], expected: list[tuple[int, ...]]) -> None:
    """Calls, results, reasoning and text that belong together are one unit."""
    assert expected == units(messages)
    assert not any(unit.is_orphan for unit in exchanges(messages))


@pytest.mark.parametrize(
    ("messages", "orphans"),
    [
        ([result("1"), U], [(0,)]),
        ([call("1"), result("2")], [(1,)]),
        ([result("1"), call("1")], [(0,)]),
        ([call(arguments=[1]), result(arguments=[2])], [(1,)]),
        ([call(name="a"), result(name="b")], [(1,)]),
        ([call(), result(), result()], [(1,)]),
        (in_group(1, result("1"), result("2")), [(0, 1)]),
        (in_group(1, result("1"), U), []),
        (in_group(1, result("1"), B), []),
    ],
)
def test_orphans(messages: list[Message], orphans: list[tuple[int, ...]]) -> None:
    """A unit of nothing but results whose calls are nowhere before them is an orphan."""
    assert orphans == [unit.positions for unit in exchanges(messages) if unit.is_orphan]


@pytest.mark.parametrize(
    ("messages", "open_calls"),
    [
        ([call("1"), result("1")], ()),
        ([call("1"), call("2"), result("2")], ("1",)),
        ([call("1"), call("1"), result("1")], ("1",)),
        ([call("1"), call("1"), result("1"), result("1")], ()),
        ([call(), call(), result()], (1,)),
        ([B, call(name="a"), call("x", name="b"), call(name="c")], (1, "x", 3)),
        ([R, B], ()),
    ],
)
def test_open_calls(messages: list[Message], open_calls: tuple[str | int, ...]) -> None:
    """Calls without a result are named by their ids, or by their positions without one."""
    (unit,) = exchanges(messages)
    assert open_calls == unit.open_calls


def test_an_exchange_spans_its_messages() -> None:
    """`start` and `stop` enclose a unit, and its messages are the very objects passed in."""
    thread = [U, call("1"), U, result("1")]
    assert exchanges(thread)[1] == Exchange((thread[1], thread[3]), (1, 3))
    assert (exchanges(thread)[1].start, exchanges(thread)[1].stop) == (1, 4)
    assert exchanges(thread)[1].messages[0] is thread[1]


def test_the_newest_units_come_first_and_orphans_last() -> None:
    """Units come by descending start; that a result is an orphan shows when all was read."""
    thread = [U, call("1"), result("0"), result("1"), B]
    assert [unit.positions for unit in newest_exchanges(thread)] == [(4,), (1, 3), (0,), (2,)]


class _Counted(list[Any]):
    """A list that knows what was read of it."""

    def __init__(self, items: list[Any]) -> None:
        super().__init__(items)
        self.read: list[int] = []

    def __getitem__(self, position: Any) -> Any:
        self.read.append(position)
        return super().__getitem__(position)

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError("read from the wrong end")


def test_only_what_is_asked_for_is_read() -> None:
    """Each message is read once, and one further than the units that were asked for."""
    thread = _Counted([None, None, U, call("1"), call("2"), U, result("2"), result("1")])
    walk = newest_exchanges(thread)
    assert [unit.positions for unit in itertools.islice(walk, 2)] == [(5,), (3, 4, 6, 7)]
    assert thread.read == [7, 6, 5, 4, 3, 2]


@pytest.mark.parametrize("messages", [None, "text", {"type": "user"}, 7, iter([])])
def test_a_thread_that_is_no_sequence_is_refused_at_once(messages: Any) -> None:
    """Both functions refuse what is no sequence when they are called."""
    with pytest.raises(InvalidInputError, match="messages: expected a sequence"):
        exchanges(messages)
    with pytest.raises(InvalidInputError, match="messages: expected a sequence"):
        newest_exchanges(messages)


def test_an_element_that_is_no_message_is_named() -> None:
    """The error names the position of what is no mapping."""
    with pytest.raises(InvalidInputError, match=r"messages\[1\]: .*'no'"):
        exchanges([U, cast("Any", "no"), U])


@settings(derandomize=True, max_examples=150, deadline=None)
@given(threads())
def test_each_message_is_in_exactly_one_unit(thread: list[Message]) -> None:
    """Units partition a thread, whatever it looks like."""
    positions = [position for unit in exchanges(thread) for position in unit.positions]
    assert sorted(positions) == list(range(len(thread)))
    for unit in exchanges(thread):
        assert [thread[position] for position in unit.positions] == list(unit.messages)
        assert list(unit.positions) == sorted(unit.positions)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(threads(), st.data())
def test_a_new_message_leaves_older_units_where_they_start(
    thread: list[Message], data: st.DataObject
) -> None:
    """What is appended never changes where a unit before the newest native message starts."""
    length = data.draw(st.integers(0, len(thread)))
    before = [unit.start for unit in exchanges(thread[:length]) if not unit.is_orphan]
    after = {unit.start for unit in exchanges(thread)}
    assert set(before[:-1]) <= after

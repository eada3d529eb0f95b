"""A thread in units that may only be kept or dropped whole.

Source: design, section 5. An exchange is an assistant message with its calls, their results and
the reasoning that belongs to them; every other message is a unit of its own. Units are found
from the newest end, so a reader who stops early has read no more than was needed.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar

from loopguard_core.fingerprint import canonical
from loopguard_core.message import ABSENT, Activity, as_messages

from .native import Part, group_at, native_messages, read_part

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Exchange", "exchanges", "lone_exchange", "newest_exchanges"]

_K = TypeVar("_K")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One unit of a thread.

    Args:
        messages: Its messages, oldest first; the very objects that were passed in.
        positions: Where each of them stands in the thread. Messages of other units may stand
            between, such as a person's message between a call and its result.
        open_calls: The `call_id` of each call without a result, or the call's position where it
            has no id.
        is_orphan: True if it is nothing but results whose call is nowhere before them. No
            provider accepts such results, so a unit like this can never be kept.
    """

    messages: tuple[Mapping[str, object], ...]
    positions: tuple[int, ...]
    open_calls: tuple[str | int, ...] = ()
    is_orphan: bool = False

    @property
    def start(self) -> int:
        """The position of its first message."""
        return self.positions[0]

    @property
    def stop(self) -> int:
        """The position behind its last message."""
        return self.positions[-1] + 1


def exchanges(messages: Sequence[Mapping[str, object]]) -> list[Exchange]:
    """Split a thread into units, ordered by their first message; each message is in one unit.

    A result belongs to the nearest earlier call with its `call_id`, so ids may come again in
    later turns; an id may be answered more than once. Results without an id answer earlier calls
    of the same tool with the same arguments (any arguments, if they name none), one each, the
    newest result the newest call.

    Args:
        messages: The thread, oldest first. Nothing in it is changed.

    Raises:
        InvalidInputError: *messages* is no sequence, or an element no mapping.
    """
    return sorted(newest_exchanges(messages), key=attrgetter("start"))


def newest_exchanges(messages: Sequence[Mapping[str, object]]) -> Iterator[Exchange]:
    """Iterate over the units of a thread, newest first by where they start.

    Reads each message once, and only one message further than the units that were asked for.
    That a call is missing is known once the whole thread was read, so units that hold a result
    without a call come last.

    Raises:
        InvalidInputError: *messages* is no sequence; while iterating, an element no mapping.
    """
    return _walk(as_messages(messages))


def lone_exchange(messages: Sequence[Mapping[str, object]], position: int) -> Exchange | None:
    """Return the unit of the message at *position* if a look at its neighbours tells it.

    That is so for a person's and a system message. None means that only a walk can tell.
    """
    part = read_part(messages, position)
    if part.kind != "other":
        return None
    around = range(max(position - 1, 0), min(position + 2, len(messages)))
    if part.group is not None and sum(group_at(messages, at) == part.group for at in around) > 1:
        return None
    return Exchange((part.message,), (position,))


def _walk(messages: Sequence[Mapping[str, object]]) -> Iterator[Exchange]:
    results = _Results()
    for native in native_messages(messages):
        if len(native) == 1 and native[0].activity is None:  # most units: nothing to look up
            yield Exchange((native[0].message,), (native[0].position,))
            continue
        unit = _Unit(native)
        results.wait(unit)
        results.answer(unit)
        if not unit.waiting:
            yield unit.exchange()
    for unit in results.without_call():
        yield unit.exchange(is_orphan=all(part.kind == "response" for part in unit.parts))


class _Unit:
    """A unit that is being put together, from its newest message on."""

    __slots__ = ("native", "open_calls", "parts", "waiting")

    def __init__(self, native: list[Part]) -> None:
        self.native = native
        self.parts = list(native)
        self.open_calls: list[str | int] = []
        self.waiting: list[_Result] = []

    def take(self, result: _Result) -> None:
        """Join the unit of *result*, whose call is here."""
        other = result.unit
        other.waiting.remove(result)
        if other is self:
            return
        self.parts += other.parts
        self.open_calls += other.open_calls
        self.waiting += other.waiting
        for waiting in other.waiting:
            waiting.unit = self

    def exchange(self, *, is_orphan: bool = False) -> Exchange:
        parts = sorted(self.parts, key=attrgetter("position"))
        return Exchange(
            messages=tuple([part.message for part in parts]),
            positions=tuple([part.position for part in parts]),
            open_calls=tuple(self.open_calls),
            is_orphan=is_orphan,
        )


@dataclass(eq=False, slots=True)
class _Result:
    """A result whose call has not been reached, and the unit it stands in until then."""

    unit: _Unit


class _Results:
    """The results that wait for their calls while a thread is read from its newest end."""

    def __init__(self) -> None:
        self._by_id: dict[str, list[_Result]] = {}
        self._by_call: dict[tuple[str, str | None], list[_Result]] = {}

    def wait(self, unit: _Unit) -> None:
        """Put the results of a native message that was reached with those that wait."""
        for part in unit.native:
            if part.kind != "response" or part.activity is None:
                continue
            result = _Result(unit)
            unit.waiting.append(result)
            if part.call_id is not None:
                self._by_id.setdefault(part.call_id, []).append(result)
            else:
                self._by_call.setdefault(_call(part.activity), []).append(result)

    def answer(self, unit: _Unit) -> None:
        """Hand *unit*, a native message that was reached, the results of its calls."""
        calls = [part for part in reversed(unit.native) if part.kind == "request"]
        if not calls:
            return
        for part in calls:
            result = self._next(part)
            if result is not None:
                unit.take(result)
            else:
                unit.open_calls.append(part.position if part.call_id is None else part.call_id)
        for part in calls:
            if part.call_id is not None:  # an id may be answered more than once
                for result in self._by_id.pop(part.call_id, ()):
                    unit.take(result)

    def without_call(self) -> Iterator[_Unit]:
        """Iterate over the units that wait for a call which is not there."""
        waiting = itertools.chain(*self._by_id.values(), *self._by_call.values())
        yield from {id(result.unit): result.unit for result in waiting}.values()

    def _next(self, part: Part) -> _Result | None:
        """Remove and return the newest waiting result of the call *part*."""
        if part.call_id is not None and part.call_id in self._by_id:
            return _pop(self._by_id, part.call_id)
        if part.activity is None or not self._by_call:
            return None
        name, arguments = _call(part.activity)
        return _pop(self._by_call, (name, arguments)) or _pop(self._by_call, (name, None))


def _call(activity: Activity) -> tuple[str, str | None]:
    """Return what a call and its result have in common; None where arguments are not named."""
    arguments = activity.arguments
    return activity.name, None if arguments is ABSENT else canonical(arguments)


def _pop(waiting: dict[_K, list[_Result]], key: _K) -> _Result | None:
    results = waiting.get(key)
    if not results:
        return None
    result = results.pop(0)
    if not results:
        del waiting[key]
    return result

"""Do the newest tool messages mostly repeat each other."""

from __future__ import annotations

from collections import Counter, deque
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from loopguard_core.message import ABSENT, Activity, activity_of

from .bag import Bag
from .identity import checked_messages, text_key, value_form
from .options import CycleOptions, cycle_limits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "ActivityTail",
    "Entry",
    "Kind",
    "activity_tail",
    "entry_of",
    "has_repeated_activity_tail",
]

Kind: TypeAlias = Literal["request", "response", "other"]

_MIN_ENTRIES: Final = 8
_MIN_INPUTS: Final = 4
_MIN_OUTPUTS: Final = 4
_MIN_PROGRESS: Final = 3
_INTERNAL_PREFIX: Final = "_"
_NAME_CHARS: Final = 64  # no provider takes a longer one; what a model makes up is not remembered


class Entry(NamedTuple):
    """One readable activity, reduced to keys. Two activities are the same if these are equal.

    Args:
        kind: `other` stands for triggers and whatever else is neither request nor response.
        call: The key of type, name, arguments and result; absent ones count as None in it.
        name: The key of the function's name.
        value: The key of a request's arguments or of a response's result; 0 where there is none.
        has_arguments: False if they are absent.
        has_result: False if it is absent; such a response is still streaming.
        is_internal: True for names that start with an underscore.
    """

    kind: Kind
    call: int
    name: int
    value: int
    has_arguments: bool
    has_result: bool
    is_internal: bool

    @property
    def key(self) -> int:
        """The key of all of it; what is absent differs from what is None, other than in `call`."""
        return self.call ^ (2 * self.has_arguments + self.has_result)

    @property
    def is_input(self) -> bool:
        """True for a request with arguments; `value` is their key."""
        return self.kind == "request" and self.has_arguments

    @property
    def is_output(self) -> bool:
        """True for a response with a result; `value` is its key."""
        return self.kind == "response" and self.has_result


def entry_of(activity: Activity) -> Entry:
    """Reduce *activity* to its entry."""
    kind, name, arguments, result = activity
    plain_kind = _kind(kind)
    kind_form = value_form(kind) if plain_kind == "other" else f'"{plain_kind}"'
    is_known = type(name) is str and len(name) <= _NAME_CHARS
    name_key, name_form = _name_forms(name) if is_known else _name_forms.__wrapped__(name)
    argument_form = value_form(None if arguments is ABSENT else arguments)
    result_form = value_form(None if result is ABSENT else result)
    value = 0
    if plain_kind == "request" and arguments is not ABSENT:
        value = text_key(argument_form)
    elif plain_kind == "response" and result is not ABSENT:
        value = text_key(result_form)
    return Entry(
        kind=plain_kind,
        call=text_key(f"[{kind_form},{name_form},{argument_form},{result_form}]"),
        name=name_key,
        value=value,
        has_arguments=arguments is not ABSENT,
        has_result=result is not ABSENT,
        is_internal=name.startswith(_INTERNAL_PREFIX),
    )


@lru_cache(maxsize=256)
def _name_forms(name: str) -> tuple[int, str]:
    """Return the key and the canonical form of a tool's name, of which a run has few."""
    return text_key(name), value_form(name)


def _kind(kind: str) -> Kind:
    if kind == "request":
        return "request"
    return "response" if kind == "response" else "other"


class ActivityTail:
    """Activities in a row, counted so that both ends can move in constant time.

    Source: thread specification, section 5.2.
    """

    __slots__ = ("_distinct", "_entries", "_filed", "_inputs", "_outputs", "_progressing")

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque()
        self._distinct: Bag[Entry] = Bag()
        self._inputs: Bag[int] = Bag()
        self._outputs: Bag[int] = Bag()
        self._filed: dict[tuple[int, int], Bag[int]] = {}
        self._progressing = 0

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._entries)

    def push(self, entry: Entry) -> None:
        """Add the activity that is newer than all others."""
        if self._entries:
            self._file(self._entries[-1], entry, added=True)
        self._entries.append(entry)
        self._distinct.add(entry)
        if entry.is_input:
            self._inputs.add(entry.value)
        elif entry.is_output:
            self._outputs.add(entry.value)

    def drop_oldest(self) -> None:
        """Forget the oldest activity; there must be one."""
        entry = self._entries.popleft()
        if self._entries:
            self._file(entry, self._entries[0], added=False)
        self._distinct.remove(entry)
        if entry.is_input:
            self._inputs.remove(entry.value)
        elif entry.is_output:
            self._outputs.remove(entry.value)

    @property
    def is_cyclic(self) -> bool:
        """True if the entries mostly repeat each other, and no call gives ever new results."""
        # The specification's fourth condition, on names, follows from the one on entries.
        return (
            len(self._entries) >= _MIN_ENTRIES
            and self._inputs.total >= _MIN_INPUTS
            and self._outputs.total >= _MIN_OUTPUTS
            and not self._progressing
            and 2 * self._distinct.distinct <= len(self._entries)
            and self._inputs.distinct < self._inputs.total
            and self._outputs.distinct < self._outputs.total
        )

    def is_stale(self, newest: int) -> bool:
        """Return whether each of the *newest* entries also stands before them in the tail."""
        latest = Counter(islice(reversed(self._entries), newest))
        return all(self._distinct.count(entry) > count for entry, count in latest.items())

    def _file(self, request: Entry, response: Entry, *, added: bool) -> None:
        """File what a call returned under the call, if these two neighbours are call and answer."""
        if not (request.is_input and response.is_output and request.name == response.name):
            return
        call = (request.name, request.value)
        results = self._filed.setdefault(call, Bag())
        self._progressing -= _is_progress(results)
        if added:
            results.add(response.value)
        else:
            results.remove(response.value)
        self._progressing += _is_progress(results)
        if not results.total:
            del self._filed[call]


def _is_progress(results: Bag[int]) -> bool:
    return results.total >= _MIN_PROGRESS and results.distinct == results.total


def has_repeated_activity_tail(
    messages: Sequence[Mapping[str, object]], options: CycleOptions | None = None
) -> bool:
    """Return whether the tool messages at the end of the thread mostly repeat each other.

    The tail ends, going back, at the first message that is no readable activity. A call that
    returned something new each time, three times or more, exempts the whole tail.
    Source: thread specification, section 5.2.

    Args:
        messages: The thread, oldest first.
        options: None of them counts here; they are accepted as by the other heuristics.

    Raises:
        InvalidInputError: *messages* is no sequence of mappings.
    """
    cycle_limits(options)
    return activity_tail(checked_messages(messages)).is_cyclic


def activity_tail(messages: Sequence[Mapping[str, object]]) -> ActivityTail:
    """Collect the readable activities that end the thread."""
    newest_first: list[Entry] = []
    for message in reversed(messages):
        activity = activity_of(message)
        if activity is None:
            break
        newest_first.append(entry_of(activity))
    tail = ActivityTail()
    for entry in reversed(newest_first):
        tail.push(entry)
    return tail

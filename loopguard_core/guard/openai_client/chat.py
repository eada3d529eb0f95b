"""Streamed chat completions: `ChatReading` and what a chunk says."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loopguard_core.guard.streams import is_cut
from loopguard_core.guard.verdict import Action

from .reading import fields_of, string_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from loopguard_core.guard.config import LoopGuard
    from loopguard_core.guard.reply import GuardedReply

__all__ = ["ChatReading"]


class ChatReading:
    """Reads the chunks of one completion; each of its choices is a reply of its own.

    The stream ends when every choice that is not finished goes round: one that does takes nothing
    from its siblings, whose chunks come mixed with its own.
    """

    def __init__(self, guard: LoopGuard, request: Mapping[str, object]) -> None:
        self._run = guard.start_run()
        asked = request.get("n")
        self._unfinished = set(range(asked)) if isinstance(asked, int) else {0}
        self._going_round: set[int] = set()
        self._choices = {0: _Choice(self._run.watch_reply())}

    @property
    def watch(self) -> GuardedReply:
        """The watch of the first choice that was found to go round, else of choice 0."""
        watches = [choice.watch for choice in self._choices.values()]
        return next((watch for watch in watches if watch.finding is not None), watches[0])

    def take(self, piece: object) -> bool:
        """Read a chunk; the one with the usage, which comes last, has no choices."""
        for choice in _list_of(fields_of(piece), "choices"):
            self._take_choice(fields_of(choice))
        return bool(self._unfinished) and self._unfinished <= self._going_round

    def _take_choice(self, piece: Mapping[str, object]) -> None:
        index = _index_of(piece)
        if index not in self._choices:
            self._choices[index] = _Choice(self._run.watch_reply())
            self._unfinished.add(index)
        if self._choices[index].is_cut_by(fields_of(piece.get("delta"))):
            self._going_round.add(index)
        if string_of(piece, "finish_reason"):
            self._unfinished.discard(index)


class _Choice:
    """One reply of a completion."""

    def __init__(self, watch: GuardedReply) -> None:
        self.watch = watch
        self._calls = _WrittenCalls()

    def is_cut_by(self, delta: Mapping[str, object]) -> bool:
        return is_cut(self.watch, _said(delta)) or any(
            self.watch.feed_call(name, arguments).action is Action.HALT
            for name, arguments in self._calls.completed_by(delta)
        )


@dataclass(frozen=True, slots=True)
class _Call:
    index: int
    name: str
    written: list[str]

    def arguments(self) -> object:
        """Return the arguments; None if they are no JSON object, or not yet a whole one."""
        try:
            arguments = json.loads("".join(self.written))
        except (ValueError, RecursionError):
            return None
        return arguments if isinstance(arguments, dict) else None


class _WrittenCalls:
    """Puts together the call that is being written; it is complete when the next one begins.

    Servers that write several calls at once, or number all of them 0, never complete one here:
    what is not known to be a whole call is no evidence. Nor is the last call of a reply, which
    ends with it.
    """

    def __init__(self) -> None:
        self._call: _Call | None = None

    def completed_by(self, delta: Mapping[str, object]) -> Iterator[tuple[str, object]]:
        """Take a delta and yield the name and arguments of the calls that it completes."""
        for piece in map(fields_of, _list_of(delta, "tool_calls")):
            index, function = _index_of(piece), fields_of(piece.get("function"))
            if self._call is None or self._call.index != index:
                yield from self._complete()
                self._call = _Call(index, string_of(function, "name"), [])
            self._call.written.append(string_of(function, "arguments"))

    def _complete(self) -> Iterator[tuple[str, object]]:
        call = self._call
        if call is not None and call.name and (arguments := call.arguments()) is not None:
            yield call.name, arguments


def _said(delta: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Give the channel and the text of everything that *delta* says.

    Reasoning is no part of OpenAI's own chat protocol; servers call it one or the other.
    """
    yield "reasoning", string_of(delta, "reasoning_content") or string_of(delta, "reasoning")
    yield "content", string_of(delta, "content")
    yield "refusal", string_of(delta, "refusal")
    for piece in map(fields_of, _list_of(delta, "tool_calls")):
        arguments = string_of(fields_of(piece.get("function")), "arguments")
        yield f"tool:{_index_of(piece)}", arguments
    yield "tool:", string_of(fields_of(delta.get("function_call")), "arguments")


def _list_of(fields: Mapping[str, object], name: str) -> Iterable[object]:
    value = fields.get(name)
    return value if isinstance(value, list) else ()


def _index_of(fields: Mapping[str, object]) -> int:
    value = fields.get("index")
    return value if isinstance(value, int) else 0

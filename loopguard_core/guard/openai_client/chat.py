"""Streamed chat completions: `ChatReading` and what a chunk says."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loopguard_core.guard.streams import is_cut
from loopguard_core.guard.verdict import Action

from .reading import string_of

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
        self._choices = {0: _Choice(self._run.watch_reply())}

    @property
    def watch(self) -> GuardedReply:
        """The watch of the first choice that was found to go round, else of choice 0."""
        watches = [choice.watch for choice in self._choices.values()]
        return next((watch for watch in watches if watch.finding is not None), watches[0])

    def take(self, piece: object) -> bool:
        """Read a chunk; the one with the usage, which comes last, has no choices."""
        for choice in _list_of(piece, "choices"):
            self._take_choice(choice)
        going_round = {index for index, choice in self._choices.items() if choice.is_cut}
        return bool(self._unfinished) and self._unfinished <= going_round

    def _take_choice(self, piece: object) -> None:
        index = _index_of(piece)
        if index not in self._choices:
            self._choices[index] = _Choice(self._run.watch_reply())
            self._unfinished.add(index)
        finished = bool(string_of(piece, "finish_reason"))
        self._choices[index].take(getattr(piece, "delta", None), finished=finished)
        if finished:
            self._unfinished.discard(index)


class _Choice:
    """One reply of a completion, and whether it was found to go round."""

    def __init__(self, watch: GuardedReply) -> None:
        self.watch = watch
        self.is_cut = False
        self._calls = _WrittenCalls()

    def take(self, delta: object, *, finished: bool) -> None:
        if not self.is_cut:
            calls = self._calls.completed_by(delta, finished=finished)
            self.is_cut = is_cut(self.watch, _said(delta)) or any(
                self.watch.feed_call(name, arguments).action is Action.HALT
                for name, arguments in calls
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
    what is not known to be a whole call is no evidence.
    """

    def __init__(self) -> None:
        self._call: _Call | None = None

    def completed_by(self, delta: object, *, finished: bool) -> Iterator[tuple[str, object]]:
        """Take a delta and yield the name and arguments of the calls that it completes."""
        for piece in _list_of(delta, "tool_calls"):
            index, function = _index_of(piece), getattr(piece, "function", None)
            if self._call is None or self._call.index != index:
                yield from self._complete()
                self._call = _Call(index, string_of(function, "name"), [])
            self._call.written.append(string_of(function, "arguments"))
        if finished:
            yield from self._complete()

    def _complete(self) -> Iterator[tuple[str, object]]:
        call, self._call = self._call, None
        if call is not None and call.name and (arguments := call.arguments()) is not None:
            yield call.name, arguments


def _said(delta: object) -> Iterator[tuple[str, str]]:
    """Give the channel and the text of everything that *delta* says.

    Reasoning is no part of OpenAI's own chat protocol; servers call it one or the other.
    """
    yield "reasoning", string_of(delta, "reasoning_content") or string_of(delta, "reasoning")
    yield "content", string_of(delta, "content")
    yield "refusal", string_of(delta, "refusal")
    for piece in _list_of(delta, "tool_calls"):
        arguments = string_of(getattr(piece, "function", None), "arguments")
        yield f"tool:{_index_of(piece)}", arguments
    yield "tool:", string_of(getattr(delta, "function_call", None), "arguments")


def _list_of(holder: object, name: str) -> Iterable[object]:
    value = getattr(holder, name, None)
    return value if isinstance(value, list) else ()


def _index_of(holder: object) -> int:
    value = getattr(holder, "index", None)
    return value if isinstance(value, int) else 0

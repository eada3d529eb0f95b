"""An OpenAI-style event stream, line by line, as chunks; cut where it goes round.

Source: agent specification, sections 8 and 18.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard_core.reply import ExactConfig, ExactFinding, ExactRepetition

from .calls import OpenCalls
from .errors import EndpointError, StreamIncompleteError
from .events import (
    DONE,
    failure_in,
    fields_of,
    first_choice,
    items_of,
    payload_of,
    read_event,
    text_in,
    token_report,
)
from .protocol import REPETITION, Chunk

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["StreamDecoder"]

_FAILED: Final = "error"
"""The finish reason of a reply that did not come to its end, as some gateways have it."""


class StreamDecoder:
    """Reads one reply: lines in, chunks out. Pure: closing the stream is for who feeds it.

    Content passes at once; a call is given out when the reply ends, fit or not. An event that
    cannot be read is skipped.

    Args:
        repetition: Thresholds of the watch over the content and over each call's arguments; None
            equals the defaults.
    """

    __slots__ = ("_calls", "_content", "_finished", "_over")

    def __init__(self, repetition: ExactConfig | None = None) -> None:
        config = repetition if repetition is not None else ExactConfig()
        self._content = ExactRepetition(config)
        self._calls = OpenCalls(config)
        self._finished = False
        self._over = False

    @property
    def is_whole(self) -> bool:
        """True once the reply is complete, whatever becomes of the stream."""
        return self._finished and not self._calls

    @property
    def over(self) -> bool:
        """True once no further line can matter: the last event came, an error, or a cut."""
        return self._over

    def feed(self, line: str) -> list[Chunk]:
        """Take the next line, without or with its end, and return what it brings."""
        payload = payload_of(line)
        if self._over or not payload:
            return []
        if payload == DONE:
            self._over = self._finished = True
            return [*self._completed(), Chunk(done=True)]
        return list(self._read(payload))

    def finish(self) -> list[Chunk]:
        """Return what is to be said when the stream has ended: that calls are still open."""
        partial = self._calls.take()
        if self._over or not partial:
            return []
        self._over = True
        why = "it ended within a tool call"
        return [Chunk(error=StreamIncompleteError(why), partial=partial)]

    def fail(self, error: Exception) -> Chunk:
        """Return the last chunk of a stream that *error* broke, with the calls that were open."""
        self._over = True
        return Chunk(error=error, partial=self._calls.take())

    def _read(self, payload: str) -> Iterator[Chunk]:
        event = read_event(payload)
        failure = failure_in(event)
        if failure is not None:
            yield self.fail(failure)
            return
        choice = first_choice(event)
        delta = fields_of(choice.get("delta"))
        # a model that refuses says so in a field of its own
        content = text_in(delta.get("content")) + text_in(delta.get("refusal"))
        reason, usage = choice.get("finish_reason"), token_report(event.get("usage"))
        if content:
            yield Chunk(content=content)
        finding = self._goes_round(content, items_of(delta.get("tool_calls")), payload)
        if finding is not None:
            self._over = True
            self._calls.take()
            yield Chunk(done=True, stop_reason=REPETITION, finding=finding, usage=usage)
        elif reason == _FAILED:
            yield self.fail(EndpointError("it ended the reply with an error"))
        elif isinstance(reason, str) and reason:
            self._finished = True
            yield from self._completed()
            yield Chunk(done=True, stop_reason=reason, usage=usage)
        elif usage is not None:
            yield Chunk(usage=usage)

    def _goes_round(
        self, content: str, fragments: list[object], payload: str
    ) -> ExactFinding | None:
        found = self._content.feed(content) if content else None
        for place, fragment in enumerate(fragments):
            found = found or self._calls.add(fields_of(fragment), place, payload)
        return found

    def _completed(self) -> Iterator[Chunk]:
        return (Chunk(call=call) for call in self._calls.take())

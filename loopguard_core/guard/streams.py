"""Any iterator of pieces, passed through a watch: `guard_stream` and `guard_astream`."""

from __future__ import annotations

import inspect
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Callable,
    Generator,
    Iterable,
)
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from loopguard_core.errors import InvalidInputError

from .verdict import Action

if TYPE_CHECKING:
    from .reply import GuardedReply

__all__ = ["Said", "guard_astream", "guard_stream", "is_cut"]

PieceT = TypeVar("PieceT")

Said: TypeAlias = str | Iterable[tuple[str, str | None]] | None
"""What a piece says: its text, or (channel, text) pairs, or None for nothing."""


def _itself(piece: object) -> str:
    if not isinstance(piece, str):
        raise InvalidInputError(
            "pieces", piece, "strings, or an argument `text` that reads a piece"
        )
    return piece


def guard_stream(
    pieces: Iterable[PieceT],
    watch: GuardedReply,
    text: Callable[[PieceT], Said] = _itself,
) -> Generator[PieceT]:
    """Pass the pieces of a reply through a watch, and end quietly where it goes round.

    Args:
        pieces: The reply as it streams. It is closed, where it has a `close`, when this ends:
            at a cut, at an error, and when the consumer stops early.
        watch: The watch of this reply, from `GuardedRun.watch_reply`. Afterwards its `finding`
            says why the reply was cut, or is None.
        text: Gives what a piece says: a string for the content, pairs of a channel and its text
            (see `GuardedReply.feed`; a text of None says nothing), or None. By default a piece
            is its own text.

    Yields:
        The pieces, unchanged. The one that completes a loop is the last: the cut may lie inside
        it, and what is worth keeping of the content is its first `watch.keep_chars` characters.

    Raises:
        InvalidInputError: A piece is no string and *text* was not given.
    """
    iterator = iter(pieces)
    try:
        for piece in iterator:
            ends = is_cut(watch, text(piece))
            yield piece
            if ends:
                break
    finally:
        for source in _sources(iterator, pieces):
            if (close := getattr(source, "close", None)) is not None:
                close()


async def guard_astream(
    pieces: AsyncIterable[PieceT],
    watch: GuardedReply,
    text: Callable[[PieceT], Said] = _itself,
) -> AsyncGenerator[PieceT]:
    """Do what `guard_stream` does, for an asynchronous iterator.

    Closed is what has an `aclose`, else a `close`. A consumer that may stop early should hold
    this in `contextlib.aclosing`, as any asynchronous generator: only then the source is closed
    at once.
    """
    iterator = aiter(pieces)
    try:
        async for piece in iterator:
            ends = is_cut(watch, text(piece))
            yield piece
            if ends:
                break
    finally:
        for source in _sources(iterator, pieces):
            close = getattr(source, "aclose", None) or getattr(source, "close", None)
            if close is not None and inspect.isawaitable(closing := close()):
                await closing


def _sources(iterator: object, pieces: object) -> tuple[object, ...]:
    """Return what is to be closed, the inner first; an iterator is its own iterable."""
    return (iterator,) if iterator is pieces else (iterator, pieces)


def is_cut(watch: GuardedReply, said: Said) -> bool:
    """Feed what a piece says to *watch*; return True if the reply ends here."""
    pairs = [("content", said)] if isinstance(said, str) else said or ()
    return any(watch.feed(text, channel).action is Action.HALT for channel, text in pairs if text)

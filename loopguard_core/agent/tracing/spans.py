"""One span around a piece of work, ended once, however the work ends."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .protocol import Span, Tracer

__all__ = ["span"]


class _NoSpan:
    """What there is without a tracer."""

    def set(self, key: str, value: str | int) -> Self:  # noqa: ARG002 - as the protocol has it
        return self

    def end(self) -> None:
        """Do nothing."""

    def end_error(self, error: BaseException) -> None:
        """Do nothing."""


@contextmanager
def span(tracer: Tracer | None, name: str, **attributes: str | int) -> Iterator[Span]:
    """Span the block: ended well at its end, with the error if one leaves it.

    Args:
        tracer: Starts the span; None traces nothing.
        name: The span's name.
        attributes: Set at its start, in their order.
    """
    started: Span = _NoSpan() if tracer is None else tracer.start(name)
    for key, value in attributes.items():
        started.set(key, value)
    try:
        yield started
    except BaseException as error:  # a span ends also where a task is cancelled
        started.end_error(error)
        raise
    started.end()

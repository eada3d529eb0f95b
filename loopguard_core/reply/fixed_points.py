"""Pieces cut anew, so that what a detector finds does not depend on how a text was cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard_core.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FixedPoints"]

_NOTHING: Final[tuple[str, ...]] = ()


class FixedPoints:
    """Holds back what has come of a channel until the next multiple of a stride.

    A detector that looks once a piece sees another text for each way of cutting it. Fed with
    what this yields, it looks at fixed characters of the channel's text, whatever the pieces
    were. What is left at the end of a reply is never yielded. Memory: less than one stride for
    each of the latest channels.

    Args:
        stride_chars: Characters of each piece that is yielded, at least 1.
        max_channels: Channels remembered, at least 1; one that was forgotten starts over.

    Raises:
        InvalidInputError: A number is below 1.
    """

    __slots__ = ("_max_channels", "_stride", "_waiting")

    def __init__(self, stride_chars: int = 32, *, max_channels: int = 64) -> None:
        for field, value in (("stride_chars", stride_chars), ("max_channels", max_channels)):
            if value < 1:
                raise InvalidInputError(field, value, "a number of at least 1")
        self._stride = stride_chars
        self._max_channels = max_channels
        self._waiting: dict[str, str] = {}

    def feed(self, channel: str, text: str) -> Sequence[str]:
        """Take the next text of a channel.

        Args:
            channel: Its name.
            text: The text, cut anywhere, possibly empty.

        Returns:
            The pieces that are complete by now, in order; often none.
        """
        waiting = self._waiting.get(channel)
        if waiting is None:
            waiting = self._open()
        text, stride = waiting + text, self._stride
        if len(text) < stride:
            self._waiting[channel] = text
            return _NOTHING
        end = len(text) - len(text) % stride
        self._waiting[channel] = text[end:]
        return [text[start : start + stride] for start in range(0, end, stride)]

    def _open(self) -> str:
        """Make room for a channel and return what it begins with."""
        if len(self._waiting) >= self._max_channels:
            del self._waiting[next(iter(self._waiting))]
        return ""

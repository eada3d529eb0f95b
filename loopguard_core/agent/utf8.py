"""Texts cut by bytes of UTF-8, between characters. A lone surrogate is a character of three."""

from __future__ import annotations

from typing import Final

__all__ = ["boundary", "first_bytes", "from_utf8", "to_utf8"]

_CONTINUATION_MASK: Final = 0b1100_0000
_CONTINUATION: Final = 0b1000_0000


def to_utf8(text: str) -> bytes:
    """Encode any text."""
    return text.encode("utf-8", "surrogatepass")


def from_utf8(data: bytes) -> str:
    """Decode what `to_utf8` made, or a part of it that was cut at boundaries."""
    return data.decode("utf-8", "surrogatepass")


def boundary(data: bytes, at: int) -> int:
    """Move *at* back to where a character of *data* starts; the end of *data* is one too."""
    while 0 < at < len(data) and data[at] & _CONTINUATION_MASK == _CONTINUATION:
        at -= 1
    return at


def first_bytes(text: str, limit: int) -> str:
    """Return the longest start of *text* that takes at most *limit* bytes."""
    if limit <= 0:
        return ""
    if len(text) > limit:  # a character takes at least one byte
        text = text[:limit]
    data = to_utf8(text)
    return from_utf8(data[: boundary(data, min(limit, len(data)))])

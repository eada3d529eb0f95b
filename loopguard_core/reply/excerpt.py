"""Texts cut to a number of bytes."""

from __future__ import annotations

__all__ = ["cut_bytes"]


def cut_bytes(text: str, max_bytes: int) -> str:
    """Return the beginning of *text*, at most *max_bytes* of UTF-8, never half a character.

    Lone surrogates become question marks, so that the excerpt can always be encoded.
    """
    data = text[:max_bytes].encode("utf-8", "replace")
    return data[:max_bytes].decode("utf-8", "ignore")

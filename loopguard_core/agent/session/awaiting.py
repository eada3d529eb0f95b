"""A host's function may be a plain one or a coroutine function."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

__all__ = ["settled"]

_Value = TypeVar("_Value")


async def settled(value: Awaitable[_Value] | _Value) -> _Value:
    """Return *value*, awaited where it has to be."""
    return await value if isinstance(value, Awaitable) else value

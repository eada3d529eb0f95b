"""An event loop for callers that have none."""

from __future__ import annotations

import asyncio
import weakref
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

__all__ = ["BlockingLoop"]

_Value = TypeVar("_Value")


class BlockingLoop:
    """Runs coroutines to their ends on a loop of its own, which lives as long as this object.

    It stays the same loop for all of them: connections that a client keeps open belong to it.
    """

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        weakref.finalize(self, self._runner.close)

    def run(self, coroutine: Coroutine[Any, Any, _Value]) -> _Value:
        """Run *coroutine* and return its value."""
        return self._runner.run(coroutine)

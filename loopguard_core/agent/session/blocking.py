"""An event loop for callers that have none."""

from __future__ import annotations

import asyncio
import threading
import weakref
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

__all__ = ["BlockingLoop", "has_running_loop"]

_Value = TypeVar("_Value")


class BlockingLoop:
    """Runs coroutines to their ends on a loop of its own, which lives as long as this object.

    It stays the same loop for all of them: connections that a client keeps open belong to it.
    """

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        weakref.finalize(self, _close, self._runner)

    def run(self, coroutine: Coroutine[Any, Any, _Value]) -> _Value:
        """Run *coroutine* and return its value."""
        return self._runner.run(coroutine)


def _close(runner: asyncio.Runner) -> None:
    """Close the loop of a session that is gone, wherever the collector finds it.

    A loop cannot be run to its end inside another one. A thread of its own has none.
    """
    if not has_running_loop():
        runner.close()
        return
    closing = threading.Thread(target=runner.close)
    closing.start()
    closing.join()


def has_running_loop() -> bool:
    """Return True if an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True

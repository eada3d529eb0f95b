"""How a session runs a tool: `ToolDispatcher`, and the exceptions by which one ends a turn.

Whatever else a dispatcher raises is an answer to the model, and the turn goes on.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from loopguard_core.errors import LoopguardError

from .chat import ToolCall

__all__ = ["AbortTurn", "SessionClosed", "ToolDispatcher", "run_tool", "session_closed"]

ToolDispatcher: TypeAlias = Callable[[ToolCall], Awaitable[str] | str]
"""Runs one call and returns what the model reads; may be a coroutine function or a plain one.

A plain function is called on the event loop. What is raised becomes the result `ERROR: ` and its
text, save `SessionClosed` and `AbortTurn`.
"""

_MAX_CAUSES: Final = 100


class SessionClosed(LoopguardError):  # noqa: N818 - a signal, not a failure
    """Raised by a dispatcher: this call was the last, and the turn ends well.

    The other calls of the same reply still run. Recognised through `raise ... from`.

    Args:
        result: What the call answers.
    """

    def __init__(self, result: str = "") -> None:
        self.result = result
        super().__init__(result or "the session is closed")


class AbortTurn(LoopguardError):  # noqa: N818 - said as an instruction, as `StopIteration` is
    """Raised by a dispatcher: the turn must not go on, and fails with `TurnError`.

    The call and those behind it are answered as not executed, so that the history stays whole.
    """


async def run_tool(dispatch: ToolDispatcher, call: ToolCall) -> str:
    """Return what *dispatch* answers, awaited where it has to be; no string becomes JSON text."""
    answer: object = dispatch(call)
    if inspect.isawaitable(answer):
        answer = await answer
    return (
        answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, default=str)
    )


def session_closed(error: BaseException) -> SessionClosed | None:
    """Return the signal that *error* is, or was raised from; None if there is none."""
    cause: BaseException | None = error
    for _ in range(_MAX_CAUSES):
        if cause is None or isinstance(cause, SessionClosed):
            return cause
        cause = cause.__cause__
    return None

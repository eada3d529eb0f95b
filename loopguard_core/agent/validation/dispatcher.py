"""A dispatcher that runs a call only if its arguments are valid. Source: section 14."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_core.errors import checked_callable, checked_methods

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from loopguard_core.agent.chat import ToolCall
    from loopguard_core.agent.dispatch import ToolDispatcher

    from .protocol import Validator

__all__ = ["invalid_arguments", "validating_dispatcher"]


def validating_dispatcher(inner: ToolDispatcher, validator: Validator | None) -> ToolDispatcher:
    """Return a dispatcher that answers a call with invalid arguments without running it.

    Args:
        inner: Runs what is valid; a coroutine function or a plain one.
        validator: Checks; None returns *inner* itself.
    """
    checked_callable("inner", inner)
    if validator is None:
        return inner
    checked_methods("validator", validator, "a Validator", "validate_args")

    def dispatch(call: ToolCall) -> Awaitable[str] | str:
        reason = validator.validate_args(call.name, call.arguments)
        return inner(call) if reason is None else invalid_arguments(call.name, reason)

    return dispatch


def invalid_arguments(tool: str, reason: str) -> str:
    """Tell the model why its call did not run."""
    return (
        f"INVALID arguments for {tool}: {reason}. The call was not executed. "
        f"Fix the arguments and call {tool} again."
    )

"""What a session tells the model about its own replies and calls.

Each is stored as a notification, so that the model sees it in every later round too.
Source: agent specification, section 20.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard_core.agent.heredoc import HeredocFault

__all__ = [
    "ABORTED",
    "MALFORMED_CALL",
    "NO_TOOLS",
    "REPETITION",
    "TOOL_LOOP",
    "error_result",
    "malformed_call_notice",
    "repetition_notice",
    "tool_loop_notice",
    "unknown_tool",
]

REPETITION: Final = "repetition"
"""The tag of a notice about a reply that was cut."""

TOOL_LOOP: Final = "tool_loop"
"""The tag of a notice about equal calls with equal results."""

MALFORMED_CALL: Final = "malformed_call"
"""The tag of a notice about a heredoc call that could not be read."""

NO_TOOLS: Final = "ERROR: there are no tools here. This call was NOT executed."
"""Answers a call in a session without a dispatcher."""

_LISTED_TOOLS: Final = 40
_NAME_CHARS: Final = 80

ABORTED: Final = "ERROR: this call was NOT executed, because the turn was aborted."
"""Answers the calls behind one that aborted the turn."""


def unknown_tool(name: str, tools: Sequence[str]) -> str:
    """Answer a call of a tool that the model was not offered."""
    listed = ", ".join([*tools[:_LISTED_TOOLS], *(["..."] if len(tools) > _LISTED_TOOLS else [])])
    return (
        f"ERROR: there is no tool {name[:_NAME_CHARS]!r}. This call was NOT executed. "
        f"The tools are: {listed}."
    )


def repetition_notice(repeated: str) -> str:
    """Tell the model that its reply was cut; *repeated* says what went round, and where."""
    return (
        f"Your last reply was CUT OFF because it repeated itself: {repeated}. The copies were "
        "discarded. Do not resume that text: go on in a different way, or stop."
    )


def tool_loop_notice(tools: Sequence[str], rounds: int) -> str:
    """Tell the model that the same calls had the same result *rounds* times in a row."""
    return (
        f"You called {', '.join(tools)} {rounds} times in a row with the same arguments, and the "
        "result was identical every time. Calling again will not change it. Take a different "
        "approach, or report what you know and stop."
    )


def malformed_call_notice(fault: HeredocFault) -> str:
    """Tell the model that no call of its reply was executed, and why."""
    advice = (
        "It arrived incomplete: call again with smaller arguments, in several calls if need be."
        if fault.cut_off
        else "Write the call again in the format of the instructions."
    )
    return f"No call of your last reply was executed: {fault.message}. {advice}"


def error_result(error: BaseException) -> str:
    """Return what the model reads in the place of a result that a tool did not give."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - a tool's own exception; what it is called has to do
        said = type(error).__name__
    return f"ERROR: {said}"

"""A model's reply taken apart into prose and calls.

Source: agent specification, section 15 (parse), with quirk Q02 mended: terminators behind a
call are no prose.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from loopguard_core.agent.chat import ToolCall

from .fault import FaultKind, HeredocFault
from .format import CALL_PREFIX, TERMINATOR
from .loose import loose_json

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["HeredocReply", "parse_heredoc"]

_TERMINATORS: Final = re.compile(
    rf"\A\s*{TERMINATOR}(?!\w)|^[ \t]*{TERMINATOR}[ \t\r]*$", re.MULTILINE
)
"""The terminator right behind a call, and lines that are nothing else."""


@dataclass(frozen=True, slots=True)
class HeredocReply:
    """What a reply says and calls.

    Args:
        prose: The text around the calls, stripped. Beside an error: the text before the call that
            failed, not stripped.
        calls: In the order of the text; none beside an error, not even complete ones.
        error: What is wrong with the first call that cannot be read.
    """

    prose: str
    calls: tuple[ToolCall, ...] = ()
    error: HeredocFault | None = None


def parse_heredoc(reply: str, *, new_id: Callable[[], str] | None = None) -> HeredocReply:
    """Take *reply* apart. Nothing is raised, and the time is linear in its length.

    Args:
        reply: The whole text that a model wrote.
        new_id: Makes the id of each call, for storage (quirk Q05); None leaves ids empty.

    Returns:
        Prose and calls, or the error. The arguments of a call are one JSON object.
    """
    prose: list[str] = []
    calls: list[ToolCall] = []
    position = 0
    while (start := reply.find(CALL_PREFIX, position)) >= 0:
        prose.append(_prose(reply[position:start], behind_call=bool(calls)))
        found = _read_call(reply, start + len(CALL_PREFIX))
        if isinstance(found, HeredocFault):
            return HeredocReply("".join(prose), error=found)
        call, position = found
        calls.append(call)
    prose.append(_prose(reply[position:], behind_call=bool(calls)))
    if new_id is not None:
        calls = [replace(call, id=new_id()) for call in calls]
    return HeredocReply("".join(prose).strip(), tuple(calls))


def _prose(text: str, *, behind_call: bool) -> str:
    """Return the text before, between or behind calls without the terminators of calls."""
    return _TERMINATORS.sub("", text) if behind_call else text


def _read_call(reply: str, start: int) -> tuple[ToolCall, int] | HeredocFault:
    """Read the call whose name begins at *start*; return it and where its object ends."""
    newline = reply.find("\n", start)
    if newline < 0:
        return HeredocFault(FaultKind.NO_ARGUMENTS, reply[start:].strip())
    name = reply[start:newline].strip()
    if not name:
        return HeredocFault(FaultKind.NO_NAME)
    arguments = loose_json(reply, newline + 1)
    if arguments.fault is not None:
        return replace(arguments.fault, tool=name)
    if not arguments.json.startswith("{"):
        return HeredocFault(FaultKind.NOT_AN_OBJECT, name)
    return ToolCall("", name, arguments.json), arguments.end

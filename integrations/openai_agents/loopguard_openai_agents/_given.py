"""What callers pass, refused where it is passed and not where it is used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from loopguard_core.errors import InvalidInputError

if TYPE_CHECKING:
    from agents import Tool

__all__ = ["tools_in"]


def tools_in(tools: Iterable[Tool]) -> list[Tool]:
    """Return the tools that a caller passed.

    Raises:
        InvalidInputError: *tools* is no collection of tools, or something in it is none.
    """
    passed: object = tools
    if isinstance(passed, str) or not isinstance(passed, Iterable):
        raise InvalidInputError("tools", passed, "tools of the SDK")
    given = list(tools)
    for at, tool in enumerate(given):
        if not isinstance(getattr(tool, "name", None), str):
            raise InvalidInputError(f"tools[{at}]", tool, "a tool of the SDK")
    return given

"""What checks the arguments of a call before its tool runs."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Validator"]


class Validator(Protocol):
    """Checks arguments; a host may bring its own. Source: agent specification, section 14."""

    def validate_args(self, tool: str, arguments: str) -> str | None:
        """Return why the arguments cannot be used, for the model to read; None if they can.

        Args:
            tool: The name of the tool.
            arguments: JSON text as the gate let it through; a blank one has no arguments.
        """
        ...

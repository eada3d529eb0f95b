"""What a tool's schema says of its arguments, as far as the transport asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loopguard_core.agent.chat import ToolDefinition

__all__ = ["declared_keys", "required_keys"]


def declared_keys(tool: ToolDefinition) -> list[str]:
    """Return the names of the arguments that *tool* declares, sorted."""
    properties = (tool.parameters or {}).get("properties")
    return sorted(properties) if isinstance(properties, Mapping) else []


def required_keys(tool: ToolDefinition) -> frozenset[str]:
    """Return the names that *tool* requires; only a list or tuple of strings counts as saying so."""
    required = (tool.parameters or {}).get("required")
    if not isinstance(required, (list, tuple)):
        return frozenset()
    return frozenset(name for name in required if isinstance(name, str))

"""Context shaping, tool-call hygiene and a small agent session.

Every part is usable alone. Source: the agent specification.
"""

from __future__ import annotations

__all__: list[str] = []

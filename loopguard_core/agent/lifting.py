"""Tool results that ask the host for something: to wait for work, or to take a notice back.

A tool that starts long work answers with a lift request. The host notes the pending call and
shows the model `pending_result`; the turn ends as any other. Once the work is done, the host
appends a result under the same call id, and the next turn shows it. Source: agent specification,
section 12. Key names match in any letter case, the last of equal ones counting (quirk Q16).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeGuard

from .json_text import read_json
from .notices import NoticeKey

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LiftRequest", "parse_clear_request", "parse_lift_request", "pending_result"]

_MAX_SECONDS: Final = 2**63


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftRequest:
    """A tool asks to be waited for.

    Args:
        correlation_id: The tool's own name for the work; never empty.
        ttl_s: Seconds until the tool gives up; 0 or less, and nothing said, is no deadline.
    """

    correlation_id: str
    ttl_s: int = 0


def parse_lift_request(result: str) -> LiftRequest | None:
    """Read `{"pending": true, "correlation_id": "...", "ttl_s": 30}`, or return None.

    Args:
        result: A whole tool result. It has to start with its brace and to be one JSON object;
            further keys do not matter. Without `ttl_s`, or with null, there is no deadline; a
            value of a wrong type, such as 30.5 seconds, makes it an ordinary result.
    """
    fields = _fields(result)
    correlation_id, ttl_s = fields.get("correlation_id"), fields.get("ttl_s")
    if fields.get("pending") is not True or not isinstance(correlation_id, str):
        return None
    if not correlation_id or not _is_seconds(ttl_s):
        return None
    return LiftRequest(correlation_id=correlation_id, ttl_s=ttl_s or 0)


def parse_clear_request(result: str) -> NoticeKey | None:
    """Read `{"clear": true, "group_by": "...", "key": "..."}`, or return None.

    Args:
        result: As in `parse_lift_request`.

    Returns:
        Which notice is out of date.
    """
    fields = _fields(result)
    group_by, key = fields.get("group_by"), fields.get("key")
    if fields.get("clear") is not True or not isinstance(group_by, str) or not isinstance(key, str):
        return None
    return NoticeKey(group_by=group_by, key=key) if group_by and key else None


def pending_result(correlation_id: str, tool_call_id: str, ttl_s: int = 0) -> str:
    """Return what the model is shown in the place of a result that is still to come.

    Args:
        correlation_id: As in the lift request.
        tool_call_id: Of the call that waits.
        ttl_s: Seconds until the tool gives up; 0 or less names no deadline.
    """
    deadline = f" Deadline: {ttl_s}s" if ttl_s > 0 else ""
    return (
        f"PENDING: the work has started and is not done. correlation_id={correlation_id} "
        f"tool_call_id={tool_call_id}. Do not retry this call: its result arrives later, as an "
        f"event. Do other work, or end your turn.{deadline}"
    )


def _fields(result: str) -> Mapping[str, object]:
    """Return the object that *result* is, its key names in lower case; empty if it is none."""
    if not result.startswith("{"):
        return {}
    try:
        value = read_json(result)
    except ValueError:
        return {}
    return {key.lower(): of for key, of in value.items()} if isinstance(value, dict) else {}


def _is_seconds(value: object) -> TypeGuard[int | None]:
    if value is None:
        return True
    return type(value) is int and -_MAX_SECONDS <= value < _MAX_SECONDS

"""One line of an event stream, and what its event says. Whatever is odd in it says nothing.

Source: agent specification, section 18.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from loopguard_core.agent.json_text import read_json

from .errors import EndpointError, told_apart
from .protocol import TokenReport

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DONE",
    "argument_text",
    "failure_in",
    "fields_of",
    "first_choice",
    "items_of",
    "normalize_arguments",
    "payload_of",
    "read_event",
    "text_in",
    "token_report",
]

DONE: Final = "[DONE]"
"""The payload of the last event."""

_FIELD: Final = re.compile(r"(data|error):", re.ASCII)  # llama.cpp names a failure `error:`
_ARGUMENTS: Final = re.compile(r'"arguments"\s*:\s*')
_VALUE: Final = json.JSONDecoder()


def payload_of(line: str) -> str:
    """Return what a line carries; empty for comments, other fields and blank lines.

    Every `data` line is an event of its own: in this protocol none has a second one.
    """
    field = _FIELD.match(line)
    if field is None:
        return ""
    payload = line[field.end() :].strip()
    return f'{{"error": {payload}}}' if field[1] == "error" and payload else payload


def read_event(payload: str) -> Mapping[str, object]:
    """Return the object that a payload is; an empty one for all else, which is skipped."""
    try:
        return fields_of(read_json(payload))
    except ValueError:
        return {}


def failure_in(event: Mapping[str, object]) -> EndpointError | None:
    """Return the error that an event reports in the place of a piece of the reply.

    It stands under `error`, or is the event itself, as older vLLM and some proxies write it.
    """
    error = event.get("error")
    is_bare = "choices" not in event and isinstance(event.get("message"), str)
    if not error and (is_bare or event.get("object") == "error"):
        error = event
    if not error:
        return None
    body = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
    return told_apart(body) or EndpointError(body)


def text_in(value: object) -> str:
    """Return the text of a message's content: a string, or the texts of its parts."""
    if isinstance(value, str):
        return value
    texts = (fields_of(part).get("text") for part in items_of(value))
    return "".join(text for text in texts if isinstance(text, str))


def first_choice(event: Mapping[str, object]) -> Mapping[str, object]:
    """Return the choice that is the reply; an empty one for an event without it."""
    for choice in map(fields_of, items_of(event.get("choices"))):
        if not choice.get("index"):
            return choice
    return {}


def token_report(usage: object) -> TokenReport | None:
    """Return what a `usage` object reports; None where there is no object, or an empty one."""
    fields = fields_of(usage)
    if not fields:
        return None
    return TokenReport(
        prompt=_count(fields, "prompt_tokens"),
        completion=_count(fields, "completion_tokens"),
        total=_count(fields, "total_tokens"),
        cached=_count(fields_of(fields.get("prompt_tokens_details")), "cached_tokens"),
        cache_read=_count(fields, "cache_read_input_tokens"),
        cache_creation=_count(fields, "cache_creation_input_tokens"),
    )


def argument_text(value: object, payload: str) -> str:
    """Return a piece of a call's arguments: a string as it is, any other value as its text.

    Args:
        value: What the event has for them.
        payload: The event, in which a value stands as the endpoint wrote it.
    """
    if value is None or isinstance(value, str):
        return value or ""
    at = 0
    while found := _ARGUMENTS.search(payload, at):
        written, at = _VALUE.raw_decode(payload, found.end())
        if written == value:
            return payload[found.end() : at]
    return json.dumps(value, ensure_ascii=False)


def normalize_arguments(text: str) -> str:
    """Return the arguments that *text*, the JSON of an `arguments` field, stands for.

    A string is what it says, `null` and nothing are empty, and any other value is its own text;
    so is what is no JSON.
    """
    try:
        value = read_json(text)
    except ValueError:
        return text
    if value is None:
        return ""
    return value if isinstance(value, str) else text


def fields_of(value: object) -> Mapping[str, object]:
    """Return an object's fields; none of what is no object."""
    return value if isinstance(value, dict) else {}


def items_of(value: object) -> list[object]:
    """Return an array's items; none of what is no array."""
    return value if isinstance(value, list) else []


def _count(fields: Mapping[str, object], name: str) -> int:
    value = fields.get(name)
    return max(value, 0) if isinstance(value, int) else 0

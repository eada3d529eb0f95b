"""Values and tool messages for the tests of the heuristics."""

from __future__ import annotations

from typing import Any

from loopguard_core.message import Message


def holding_itself() -> dict[str, Any]:
    """Return a value that cannot be walked to its end."""
    value: dict[str, Any] = {}
    value["self"] = [value]
    return value


def call(name: str, arguments: object, result: object) -> list[Message]:
    """Return a request and its response."""
    return [
        Message.tool_request(name, arguments),
        Message.tool_response(name, arguments, result),
    ]


def calls(*triples: tuple[str, object, object]) -> list[Message]:
    """Return the requests and responses of several calls in a row."""
    return [message for triple in triples for message in call(*triple)]

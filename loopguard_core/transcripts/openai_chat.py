"""OpenAI chat messages, as they are saved, to neutral messages.

A pure conversion. One chat message becomes one or more neutral ones, in the order in which the
model produced them: reasoning, text, calls. A tool's answer finds its call by id and carries its
name and arguments.

The format: `role`, `content` (a string, null, or a list of parts), `tool_calls`, `tool_call_id`;
the older `function_call` and role `function`; and `reasoning_content` or `reasoning`, which
several servers add.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from loopguard_core.errors import InvalidInputError
from loopguard_core.message import Message

from .calls import CallBook

__all__ = ["FORMAT", "to_messages"]

FORMAT: Final = "openai-chat"

_Fields: TypeAlias = Mapping[str, object]


def to_messages(messages: Sequence[object]) -> list[Message]:
    """Convert the messages of one run.

    Args:
        messages: The chat messages, oldest first, as JSON values.

    Returns:
        One or more neutral messages for each, with the top-level keys `index` and `chars` of
        `SavedRun`. Every call has a `call_id` of its own, also where the file has none or uses
        one twice. An answer to a call that is not there has the type `tool` and only text.

    Raises:
        InvalidInputError: A field has a type that the format does not allow; the error names it,
            such as `messages[3].role`.
    """
    book = CallBook()
    converted: list[Message] = []
    for index, value in enumerate(messages):
        field = f"messages[{index}]"
        fields = _mapping(value, field)
        for message in _convert(fields, field, book):
            message["index"] = index
            converted.append(message)
    return converted


def _convert(fields: _Fields, field: str, book: CallBook) -> Iterator[Message]:
    role = _string(fields.get("role"), f"{field}.role")
    text, others = _content(fields.get("content"), f"{field}.content")
    match role:
        case "assistant":
            yield from _assistant(fields, field, book, text, others)
        case "tool" | "function":
            yield _answer(fields, book, text, others)
        case "developer":
            yield _plain("system", text, others)
        case _:
            yield _plain(role, text, others)


def _assistant(
    fields: _Fields, field: str, book: CallBook, text: str, others: list[object]
) -> Iterator[Message]:
    """Yield what a model said, in its order, and remember its calls for their answers."""
    reasoning = fields.get("reasoning_content") or fields.get("reasoning")
    if has_reasoning := isinstance(reasoning, str):
        yield _sized(Message.reasoning(reasoning), len(reasoning))
    refusal = fields.get("refusal")
    if isinstance(refusal, str):
        text += refusal
    calls = list(_calls(fields, field))
    if text or others or not (calls or has_reasoning):
        yield _plain("bot", text, others)
    book.begin_step()
    for saved_id, name, written in calls:
        call = book.ask(saved_id, name, _arguments(written))
        request = Message.tool_request(name, call.arguments, call.id)
        yield _sized(request, len(name) + _length(written))


def _answer(fields: _Fields, book: CallBook, text: str, others: list[object]) -> Message:
    call = book.answer(_optional(fields.get("tool_call_id")), _optional(fields.get("name")))
    if call is None:
        return _plain("tool", text, others)
    result = fields.get("content") if others else text
    return _sized(Message.tool_response(call.name, call.arguments, result, call.id), len(text))


def _plain(kind: str, text: str, others: list[object]) -> Message:
    """Build a message of text; parts that are no text make it another message than without."""
    message = Message(type=kind, text=text)
    if others:
        message["meta"] = {"parts": others}
    return _sized(message, len(text))


def _sized(message: Message, chars: int) -> Message:
    message["chars"] = chars
    return message


def _calls(fields: _Fields, field: str) -> Iterator[tuple[str | None, str, object]]:
    """Yield the id, the name and the arguments as written of each call of an assistant message."""
    listed = fields.get("tool_calls")
    if not isinstance(listed, list | None):
        raise InvalidInputError(f"{field}.tool_calls", listed, "a list of calls")
    for position, value in enumerate(listed or ()):
        place = f"{field}.tool_calls[{position}]"
        call = _mapping(value, place)
        kind = "custom" if "custom" in call else "function"
        name, written = _function(call.get(kind), f"{place}.{kind}")
        yield _optional(call.get("id")), name, written
    if (legacy := fields.get("function_call")) is not None:
        yield None, *_function(legacy, f"{field}.function_call")


def _function(value: object, field: str) -> tuple[str, object]:
    function = _mapping(value, field)
    written = function.get("input") if "input" in function else function.get("arguments")
    return _string(function.get("name"), f"{field}.name"), written


def _arguments(written: object) -> object:
    """Read arguments that are JSON in a string; what is not JSON stays the string it is."""
    if not isinstance(written, str):
        return written
    try:
        return json.loads(written)
    except (ValueError, RecursionError):  # not JSON, or too large or too deep for the parser
        return written


def _content(value: object, field: str) -> tuple[str, list[object]]:
    """Return the text of a content, and its parts that are no text."""
    if value is None or isinstance(value, str):
        return value or "", []
    if not isinstance(value, list):
        raise InvalidInputError(field, value, "a string, a list of parts, or null")
    texts: list[str] = []
    others: list[object] = []
    for position, part in enumerate(value):
        text = _part_text(part, f"{field}[{position}]")
        others.append(part) if text is None else texts.append(text)
    return "".join(texts), others


def _part_text(part: object, field: str) -> str | None:
    if isinstance(part, str):
        return part
    fields = _mapping(part, field)
    text = fields.get("text", fields.get("refusal"))
    return text if isinstance(text, str) else None


def _mapping(value: object, field: str) -> _Fields:
    if not isinstance(value, Mapping):
        raise InvalidInputError(field, value, "an object")
    return value


def _string(value: object, field: str) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(field, value, "a string")
    return value


def _optional(value: object) -> str | None:
    """Return a string that says something, else None."""
    return value if isinstance(value, str) and value else None


def _length(written: object) -> int:
    return len(written if isinstance(written, str) else str(written))

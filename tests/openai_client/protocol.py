"""What the provider streams: chunks of chat completions, and events of responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "call_chunk",
    "call_events",
    "calls",
    "chat_chunk",
    "completion",
    "delta_events",
    "finished",
    "message_events",
    "pieces_of",
    "response",
    "said",
]

Event = dict[str, Any]


def pieces_of(text: str, size: int = 16) -> Iterator[str]:
    """Cut *text* as a model would, in pieces of *size* characters."""
    for start in range(0, len(text), size):
        yield text[start : start + size]


def _chunk(choices: list[Event], **more: object) -> Event:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": choices,
        **more,
    }


def chat_chunk(*, index: int = 0, finish: str | None = None, **delta: object) -> Event:
    """Return a chunk of one choice."""
    return _chunk([{"index": index, "delta": delta, "finish_reason": finish, "logprobs": None}])


def said(text: str, field: str = "content", index: int = 0) -> list[Event]:
    """Return the chunks of a reply that says *text*, the finish and the usage included."""
    return [
        chat_chunk(index=index, role="assistant"),
        *(chat_chunk(index=index, **{field: piece}) for piece in pieces_of(text)),
        *finished(index=index),
    ]


def finished(reason: str = "stop", index: int = 0) -> list[Event]:
    """Return the last chunks of a reply: the finish reason, and the usage, without choices."""
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    return [chat_chunk(index=index, finish=reason), _chunk([], usage=usage)]


def call_chunk(index: int, arguments: str, name: str | None = None) -> Event:
    """Return a chunk with a piece of the call at *index*; its first piece has a name."""
    function = {"arguments": arguments, **({"name": name} if name else {})}
    call = {"index": index, "function": function}
    if name:
        call |= {"id": f"call_{index}", "type": "function"}
    return chat_chunk(tool_calls=[call])


def calls(*arguments: str) -> list[Event]:
    """Return the chunks of a reply that makes parallel calls, one for each of *arguments*."""
    chunks = [chat_chunk(role="assistant")]
    for index, text in enumerate(arguments):
        chunks.append(call_chunk(index, "", name="read"))
        chunks += (call_chunk(index, piece) for piece in pieces_of(text))
    return [*chunks, *finished("tool_calls")]


def completion(text: str) -> Event:
    """Return a completion that was not streamed."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def response(status: str = "in_progress", output: list[Event] | None = None) -> Event:
    """Return a response as its events and a request without a stream give it."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": status,
        "output": output or [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def _event(kind: str, **fields: object) -> Event:
    """Return one event of a response."""
    return {"type": f"response.{kind}", "sequence_number": 0, **fields}


def _numbered(events: list[Event]) -> list[Event]:
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def message_events(text: str) -> list[Event]:
    """Return the events of a response that says *text*."""
    place = {"item_id": "msg_1", "output_index": 0}
    part = {"type": "output_text", "text": "", "annotations": []}
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress"}
    done = {**item, "status": "completed", "content": [{**part, "text": text}]}
    where = {**place, "content_index": 0}
    return _numbered(
        [
            _event("created", response=response()),
            _event("output_item.added", output_index=0, item={**item, "content": []}),
            _event("content_part.added", **where, part=part),
            *(
                _event("output_text.delta", **where, delta=piece, logprobs=[])
                for piece in pieces_of(text)
            ),
            _event("output_text.done", **where, text=text, logprobs=[]),
            _event("content_part.done", **where, part={**part, "text": text}),
            _event("output_item.done", output_index=0, item=done),
            _event("completed", response=response("completed", [done])),
        ]
    )


def delta_events(kind: str, text: str) -> list[Event]:
    """Return the events of a response whose deltas of one kind say *text*."""
    return _numbered(
        [
            _event("created", response=response()),
            *(
                _event(f"{kind}.delta", item_id="i", output_index=0, delta=piece)
                for piece in pieces_of(text)
            ),
            _event("completed", response=response("completed")),
        ]
    )


def call_events(*arguments: str, kind: str = "function_call") -> list[Event]:
    """Return the events of a response that makes calls, one for each of *arguments*."""
    events = [_event("created", response=response())]
    for index, text in enumerate(arguments):
        item = {"id": f"fc_{index}", "type": kind, "name": "read", "call_id": str(index)}
        place = {"output_index": index}
        delta = {"item_id": item["id"], "delta": text, **place}
        events += [
            _event("output_item.added", item={**item, "arguments": ""}, **place),
            _event(f"{kind}_arguments.delta", **delta),
            _event("output_item.done", item={**item, "arguments": text}, **place),
        ]
    return _numbered([*events, _event("completed", response=response("completed"))])

"""The stream client does what the reference does: agent specification, sections 8 and 18."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from loopguard_core.agent.chat import ChatMessage, ContentPart, ToolCall
from loopguard_core.agent.runner import (
    REPETITION,
    Chunk,
    StreamDecoder,
    StreamIncompleteError,
    finding_text,
    normalize_arguments,
    tells_cut_call,
    tells_large_input,
)
from loopguard_core.reply import ExactConfig, ExactFinding, ExactRepetition
from tests.core.agent.cases import cases, ids

STREAMS = cases("stream_decode", "sse")
ARGUMENTS = cases("stream_decode", "normalize_args")
BODIES = cases("stream_decode", "truncated_body")
MESSAGES = cases("message_wire", "message_json")
WATCHES = cases("repetition", "rep_watch")
TEXTS = cases("repetition", "rep_string")

_parts: TypeAdapter[ContentPart] = TypeAdapter(ContentPart)


def test_every_case_is_run() -> None:
    """No case of the three files is left out, and none is lost."""
    assert len(STREAMS + ARGUMENTS + BODIES) == len(cases("stream_decode")) == 17
    assert len(MESSAGES) == len(cases("message_wire")) == 4
    assert len(WATCHES + TEXTS) == len(cases("repetition")) == 12


def _call(call: ToolCall, *, partial: bool = False) -> dict[str, str]:
    shown = {"arguments": call.arguments, "id": call.id, "name": call.name}
    return shown if partial else {**shown, "type": call.type}


def _shown(chunk: Chunk) -> dict[str, Any]:
    """Return a chunk as the cases spell it; they know no stop reason but one."""
    shown: dict[str, Any] = {"content": chunk.content, "done": chunk.done}
    if chunk.call:
        shown["call"] = _call(chunk.call)
    if isinstance(chunk.error, StreamIncompleteError):
        assert "incomplete" in str(chunk.error)
        shown["error"] = {"kind": "stream_incomplete", "must_contain": ["incomplete"]}
    if chunk.partial:
        shown["partial"] = [_call(call, partial=True) for call in chunk.partial]
    if chunk.usage:
        counts = {name: getattr(chunk.usage, name) for name in chunk.usage.__slots__}
        shown["usage"] = {name: count for name, count in counts.items() if count}
    if chunk.stop_reason == REPETITION:
        shown["stop_reason"] = REPETITION
    if chunk.finding:
        finding = {name: getattr(chunk.finding, name) for name in ("period", "reps", "where")}
        shown["repetition"] = finding
    return {name: value for name, value in shown.items() if value}


@pytest.mark.parametrize("case", STREAMS, ids=ids(STREAMS))
def test_a_stream_is_decoded(case: dict[str, Any]) -> None:
    """Every line brings the chunks that the reference makes of it."""
    decoder = StreamDecoder()
    chunks = [chunk for line in case["in"]["lines"] for chunk in decoder.feed(line)]
    assert [_shown(chunk) for chunk in [*chunks, *decoder.finish()]] == case["out"]


@pytest.mark.parametrize("case", ARGUMENTS, ids=ids(ARGUMENTS))
def test_arguments_are_a_text(case: dict[str, Any]) -> None:
    """A string is what it says, null is nothing, any other value its text."""
    assert normalize_arguments(case["in"]["text"]) == case["out"]


@pytest.mark.parametrize("case", BODIES, ids=ids(BODIES))
def test_error_bodies_are_told_apart(case: dict[str, Any]) -> None:
    """A cut tool call, an oversize input, and everything else."""
    body = case["in"]["text"]
    assert tells_cut_call(body) == case["out"]["truncated_tool_call"]
    assert tells_large_input(body) == case["out"]["input_too_large"]


@pytest.mark.parametrize("case", MESSAGES, ids=ids(MESSAGES))
def test_a_message_on_the_wire(case: dict[str, Any]) -> None:
    """Its JSON is the reference's to the letter, the order of keys included."""
    given = dict(case["in"])
    calls = tuple(ToolCall(**call) for call in given.pop("calls", ()))
    parts = tuple(_parts.validate_python(part) for part in given.pop("parts", ()))
    message = ChatMessage(**given, tool_calls=calls, parts=parts)
    assert json.dumps(message.wire(), separators=(",", ":")) == case["out"]["json"]


def _deltas(given: dict[str, Any]) -> list[bytes]:
    if "repeat" in given:
        return [item["text"].encode() for item in given["repeat"] for _ in range(item["n"])]
    data, size = given["text"].encode(), given["chunk"]
    return [data[start : start + size] for start in range(0, len(data), size)]


@pytest.mark.parametrize("case", WATCHES, ids=ids(WATCHES))
def test_the_watch_finds_what_the_reference_finds(case: dict[str, Any]) -> None:
    """The same block at the same delta, and nothing in healthy text."""
    watch = ExactRepetition(ExactConfig(**case["in"].get("guard", {})))
    fed = 0
    seen: dict[str, Any] = {"tripped": False}
    for at, delta in enumerate(_deltas(case["in"])):
        fed += len(delta)
        if found := watch.feed(delta):
            shown = {name: getattr(found, name) for name in ("period", "reps", "trailing")}
            sample = {"sample": found.sample.decode(), "sample_len": len(found.sample)}
            seen = {"tripped": True, "at_delta": at, **shown, **sample}
            break
    assert {**seen, "fed_bytes": fed} == case["out"]


@pytest.mark.parametrize("case", TEXTS, ids=ids(TEXTS))
def test_a_finding_as_text(case: dict[str, Any]) -> None:
    """It carries period, copies, place and the quoted sample."""
    given = case["in"]["rep"]
    finding = ExactFinding(**{**given, "sample": given["sample"].encode()})
    quoted = json.dumps(given["sample"], ensure_ascii=False)
    for part in (str(finding.period), str(finding.reps), finding.where, quoted):
        assert part in finding_text(finding)


@pytest.mark.parametrize(
    ("body", "large"),
    [
        ('{"error": {"code": "context_length_exceeded"}}', True),
        ("This model's maximum context length is 8192 tokens.", True),
        ("prompt is too long: 210000 tokens > 200000 maximum", True),
        ("context deadline exceeded", False),
        ("the maximum length of a name is 64", False),
    ],
)
def test_what_others_say_of_a_request_that_is_too_large(body: str, *, large: bool) -> None:
    """OpenAI and Anthropic have words of their own."""
    assert tells_large_input(body) is large

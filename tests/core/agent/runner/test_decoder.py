"""What a stream says, beyond what the conformance cases show."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.agent.chat import ToolCall
from loopguard_core.agent.runner import (
    REPETITION,
    Chunk,
    EndpointError,
    InputTooLargeError,
    StreamDecoder,
    TokenReport,
    ToolCallCutError,
    normalize_arguments,
)
from loopguard_core.agent.runner.lines import LineSplitter
from loopguard_core.reply import ExactConfig


def line(data: Any) -> str:
    """Return an event."""
    return f"data: {json.dumps(data)}"


def said(finish: str | None = None, /, **delta: Any) -> str:
    """Return an event with a delta, and with a finish reason if there is one."""
    return line({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def fragment(index: int | None = 0, /, **more: Any) -> dict[str, Any]:
    """Return a fragment of a call; `id` and `type` are its own, the rest is the function's."""
    own = {key: more.pop(key) for key in ("id", "type") if key in more}
    place = {} if index is None else {"index": index}
    return {**place, **own, "function": more}


def decoded(*lines: str, repetition: ExactConfig | None = None) -> list[Chunk]:
    """Return everything that these lines bring, the end of the stream included."""
    decoder = StreamDecoder(repetition)
    chunks = [chunk for each in lines for chunk in decoder.feed(each)]
    return [*chunks, *decoder.finish()]


def calls(*deltas: list[dict[str, Any]]) -> list[ToolCall]:
    """Return the calls that a finished stream of these fragments gives."""
    chunks = decoded(*(said(tool_calls=fragments) for fragments in deltas), "data: [DONE]")
    return [chunk.call for chunk in chunks if chunk.call]


@pytest.mark.parametrize(
    "text",
    [
        "data: [DONE]",
        "data:[DONE]",
        "data: [DONE] \r\n",
    ],
)
def test_the_last_event(text: str) -> None:
    """With or without a space after the colon, and the end of its line."""
    decoder = StreamDecoder()
    assert not decoder.over
    assert decoder.feed(text) == [Chunk(done=True)]
    assert decoder.over
    assert decoder.feed(said(content="more")) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        ": alive",
        "event: message",
        "id: 7",
        "data",
        "data:",
        "data: ",
        "data: {",
        'data: "text"',
        "data: 7",
        "data: null",
        "data: []",
        "data: {}",
        'data: {"choices": null}',
        'data: {"choices": {}}',
        'data: {"choices": [7]}',
        'data: {"choices": [{}]}',
        'data: {"choices": [{"delta": null}]}',
        'data: {"choices": [{"delta": {"content": null, "tool_calls": null}}]}',
        'data: {"choices": [{"delta": {"content": 7, "tool_calls": {}}, "finish_reason": 7}]}',
        'data: {"choices": [{"delta": {"content": ""}, "finish_reason": ""}], "usage": null}',
        'data: {"choices": [], "usage": {}}',
        'data: {"choices": [], "usage": 7}',
        'data: {"error": null}',
        "data: " + '{"a":' * 100_000,
        "data: " + "[" * 100_000 + "]" * 100_000,
        'data: {"choices": [{"index": 1, "delta": {"content": "another choice"}}]}',
        "DATA: [DONE]",
    ],
)
def test_what_says_nothing(text: str) -> None:
    """Odd events are skipped, and what follows them is read."""
    chunks = decoded(text, said(content="Hi"))
    assert chunks == [Chunk(content="Hi")]


def test_calls_of_which_nothing_is_known() -> None:
    """They are calls without a name, which whoever runs them has to refuse."""
    assert calls([7, None, {"function": 7}]) == [ToolCall("", "", "")] * 3  # type: ignore[list-item]


def test_a_call_keeps_what_it_was_told_first() -> None:
    """Some servers send a new id, or the name again, with every fragment."""
    assert calls(
        [fragment(id="a", type="function", name="read", arguments='{"p"')],
        [fragment(id="b", arguments=":")],
        [fragment(id="", name="read", arguments="1}")],
    ) == [ToolCall("a", "read", '{"p":1}')]


def test_a_name_in_pieces() -> None:
    """It is put together."""
    assert calls([fragment(id="a", name="read_")], [fragment(name="file", arguments="{}")]) == [
        ToolCall("a", "read_file", "{}")
    ]


def test_another_type_is_kept() -> None:
    """Only where there is none it is a function."""
    assert calls([fragment(id="a", type="custom", name="n")])[0].type == "custom"


def test_calls_that_share_an_index() -> None:
    """Some servers give every call the index 0; another id and a name tell them apart."""
    assert calls(
        [fragment(0, id="a", name="f", arguments="{}")],
        [fragment(0, id="b", name="f", arguments="[")],
        [fragment(0, arguments="]")],
    ) == [ToolCall("a", "f", "{}"), ToolCall("b", "f", "[]")]


def test_calls_without_an_index() -> None:
    """Whole calls of one event are counted by their places."""
    assert calls([fragment(None, name="f"), fragment(None, name="g")]) == [
        ToolCall("", "f", ""),
        ToolCall("", "g", ""),
    ]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("null", ""),
        ('""', ""),
        ('"{\\"a\\""', '{"a"'),
        ('{"a":1}', '{"a":1}'),
        ('{ "a" : 1.0e2 }', '{ "a" : 1.0e2 }'),
        ("12345678901234567890", "12345678901234567890"),
        ("false", "false"),
        ('{"arguments": {"arguments": 1}}', '{"arguments": {"arguments": 1}}'),
        ('{"a": "\\u00e4"}', '{"a": "\\u00e4"}'),
    ],
)
def test_arguments_are_kept_as_their_text(written: str, expected: str) -> None:
    """A value that is no string stands as the endpoint wrote it, whatever stands around it."""
    other = '{"index": 0, "function": {"name": "f", "arguments": {"first": true}}}'
    call = f'{{"index": 1, "function": {{"name": "g", "arguments": {written}}}}}'
    event = f'data: {{"choices": [{{"delta": {{"tool_calls": [{other}, {call}]}}}}]}}'
    chunks = decoded(event, "data: [DONE]")
    texts = [chunk.call.arguments for chunk in chunks if chunk.call]
    assert texts == ['{"first": true}', expected]


def test_arguments_under_an_escaped_key() -> None:
    """Where their text cannot be found, it is written anew."""
    event = '{"choices": [{"delta": {"tool_calls": [{"function": {"\\u0061rguments": {"ä":1}}}]}}]}'
    chunks = decoded(f"data: {event}", "data: [DONE]")
    assert chunks[0].call == ToolCall("", "", '{"ä": 1}')


@pytest.mark.parametrize(
    ("text", "expected"), [('{"a": ', '{"a": '), ("null", ""), (" null ", ""), ('"\\u00e4"', "ä")]
)
def test_arguments_by_themselves(text: str, expected: str) -> None:
    """What is no JSON is its own text: the gate judges it, not the client."""
    assert normalize_arguments(text) == expected


def test_a_finish_and_the_last_event_give_a_call_once() -> None:
    """And a stream that ends after the finish is whole."""
    begun = said(tool_calls=[fragment(name="f")])
    for end in ([said("tool_calls")], [said("tool_calls"), "data: [DONE]"], ["data: [DONE]"]):
        assert [chunk.call for chunk in decoded(begun, *end) if chunk.call] == [
            ToolCall("", "f", "")
        ]


def test_a_call_that_follows_the_finish() -> None:
    """The reply is not whole before it is finished, too."""
    decoder = StreamDecoder()
    assert not decoder.is_whole
    decoder.feed(said("stop"))
    assert decoder.is_whole
    decoder.feed(said(tool_calls=[fragment(name="f")]))
    assert not decoder.is_whole
    decoder.feed("data: [DONE]")
    assert decoder.is_whole


def test_text_comes_before_the_calls_of_the_same_event() -> None:
    """As the model wrote them; the reason why it ended comes last."""
    chunks = decoded(said("stop", content="Hi", tool_calls=[fragment(name="f")]))
    call = ToolCall("", "f", "")
    assert chunks == [Chunk(content="Hi"), Chunk(call=call), Chunk(done=True, stop_reason="stop")]


def test_odd_counts_of_a_usage_are_zero() -> None:
    """What is no count says nothing, and none is negative."""
    usage = {"prompt_tokens": "9", "completion_tokens": -1, "total_tokens": 3}
    assert decoded(line({"usage": {**usage, "prompt_tokens_details": None}})) == [
        Chunk(usage=TokenReport(total=3))
    ]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('data: {"error": {"message": "overloaded"}}', EndpointError),
        ('data: {"error": "overloaded"}', EndpointError),
        ('error: {"code": 500, "message": "overloaded"}', EndpointError),
        ('data: {"object": "error", "message": "overloaded", "code": 500}', EndpointError),
        ('data: {"object": "error"}', EndpointError),
        ('data: {"message": "overloaded"}', EndpointError),  # behind a line `event: error`
        ('data: {"choices": [{"delta": {}, "finish_reason": "error"}]}', EndpointError),
        ('data: {"error": {"type": "exceed_context_size_error"}}', InputTooLargeError),
        (
            'data: {"error": {"message": "Failed to parse tool call: unexpected end of input"}}',
            ToolCallCutError,
        ),
    ],
)
def test_an_error_ends_the_reply(text: str, kind: type[Exception]) -> None:
    """Calls that were open come with it, and none is given out."""
    decoder = StreamDecoder()
    decoder.feed(said(tool_calls=[fragment(name="f", arguments="{")]))
    (chunk,) = decoder.feed(text)
    assert type(chunk.error) is kind
    assert chunk.partial == (ToolCall("", "f", "{"),)
    assert decoder.over
    assert decoder.finish() == []


@pytest.mark.parametrize(
    ("delta", "text"),
    [
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
        ({"content": ["a", {"text": 1}, None, {"type": "image_url"}]}, ""),
        ({"refusal": "I cannot."}, "I cannot."),
        ({"content": None, "refusal": None}, ""),
        ({"content": {"text": "a"}}, ""),
    ],
)
def test_what_counts_as_text(delta: dict[str, Any], text: str) -> None:
    """Parts of text, and what a model refuses with, are said like any other text."""
    assert "".join(chunk.content for chunk in decoded(said(**delta))) == text


BLOCK = "North of the old mill road to the stone, then east along the hedge. "


def test_each_call_is_watched_alone() -> None:
    """Two calls that say the same are no loop, one that goes round is."""
    pieces = [BLOCK[i : i + 16] for i in range(0, len(BLOCK), 16)]
    same = [[fragment(i, arguments=piece)] for piece in pieces * 5 for i in range(6)]
    assert len(calls(*same)) == 6
    looping = [said(tool_calls=[fragment(3, arguments=piece)]) for piece in pieces * 20]
    last = decoded(*looping)[-1]
    assert last.stop_reason == REPETITION
    assert last.finding is not None
    assert last.finding.where == "tool arguments"


def test_nothing_follows_a_cut() -> None:
    """Neither text nor a call, nor the end."""
    begun = said(tool_calls=[fragment(name="f", arguments="{}")])
    chunks = decoded(begun, *([said(content=BLOCK)] * 40), said("tool_calls"), "data: [DONE]")
    assert [chunk.done for chunk in chunks].count(True) == 1
    assert chunks[-1].stop_reason == REPETITION
    assert not any(chunk.call or chunk.partial for chunk in chunks)


def test_a_cut_keeps_the_usage_that_came_with_it() -> None:
    """Some servers report with every event."""
    event = json.loads(said(content=BLOCK)[6:])
    chunks = decoded(*([line({**event, "usage": {"prompt_tokens": 3}})] * 40))
    assert chunks[-1].usage == TokenReport(prompt=3)


def test_the_thresholds_are_the_callers() -> None:
    """Off sees nothing; a small span is seen soon."""
    lines = [said(content=BLOCK)] * 40
    assert decoded(*lines, repetition=ExactConfig(off=True))[-1].finding is None
    soon = decoded(*lines, repetition=ExactConfig(min_span=64, check_every=1))
    assert len(soon) < len(decoded(*lines))


def test_a_lone_surrogate_is_text_like_any_other() -> None:
    """A server may cut a pair in two."""
    chunks = decoded('data: {"choices": [{"delta": {"content": "\\ud83d"}}]}')
    assert chunks == [Chunk(content="\ud83d")]


STREAM = "\r\n\r\n".join(
    [
        ": begin",
        'data: {"choices": [{"delta": {"content": "ä\u2028\u0085\x0b😀"}}]}'.replace(
            "\x0b", "\\u000b"
        ),
        said(tool_calls=[fragment(id="a", name="f", arguments='{"x":')]),
        said(tool_calls=[fragment(arguments="1}")]),
        said("tool_calls"),
        "data: [DONE]",
    ]
).encode()


@settings(derandomize=True, max_examples=50, deadline=None)
@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_pieces_may_end_anywhere(cuts: list[int]) -> None:
    """The chunks depend on the bytes alone."""
    places = [0, *sorted(cuts), len(STREAM)]
    splitter = LineSplitter()
    lines = [
        each
        for start, end in itertools.pairwise(places)
        for each in splitter.feed(STREAM[start:end])
    ]
    chunks = decoded(*lines, splitter.finish())
    assert "".join(chunk.content for chunk in chunks) == "ä\u2028\u0085\x0b😀"
    assert [chunk.call for chunk in chunks if chunk.call] == [ToolCall("a", "f", '{"x":1}')]
    assert [chunk.done for chunk in chunks].count(True) == 2


@settings(derandomize=True, max_examples=100, deadline=None)
@given(
    st.lists(
        st.text()
        | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(
            lambda value: line({"choices": [{"delta": {"tool_calls": value, "content": value}}]})
        )
    )
)
def test_no_line_raises(lines: list[str]) -> None:
    """Whatever an endpoint sends is data."""
    decoded(*lines)


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_every_end_of_a_line(end: str) -> None:
    """The three that event streams have; a pair may be cut in two."""
    splitter = LineSplitter()
    pieces = [f"a{end}b{end}c".encode(), *(bytes([byte]) for byte in f"d{end}".encode())]
    lines = [each for piece in pieces for each in splitter.feed(piece)]
    assert [each for each in lines if each] == ["a", "b", "cd"]


def test_a_line_in_many_pieces() -> None:
    """It is put together once, when it ends."""
    splitter = LineSplitter()
    assert not any(splitter.feed(b"xy") for _ in range(10_000))
    assert splitter.feed(b"\nz") == ["xy" * 10_000]
    assert splitter.finish() == "z"
    assert splitter.finish() == ""

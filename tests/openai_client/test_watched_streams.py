"""What is cut, what never is, and what is left: each row for both clients, over real HTTP."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from loopguard_core import LoopGuard, Policy, VerdictEvent
from tests.scenarios import LOOPING_TEXT, REFRAIN, SIMILAR_JSON

from .clients import CLIENTS, read
from .protocol import (
    call_chunk,
    call_events,
    calls,
    chat_chunk,
    delta_events,
    finished,
    message_events,
    pieces_of,
    said,
)

if TYPE_CHECKING:
    from .server import Provider

both = pytest.mark.parametrize("client", CLIENTS)

CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
RESPONSE = {"model": "m", "input": "Hi"}
LOOP = LOOPING_TEXT[: len(LOOPING_TEXT) // 2]
LONG_ARGUMENTS = json.dumps({"code": LOOP})
SAME_CALL = ['{"path": "src/parser.py"}'] * 24
OTHER_CALLS = [json.dumps({"path": f"src/module_{n}.py"}) for n in range(24)]


@dataclass(frozen=True)
class Row:
    """One reply: how it is asked for, and what the provider streams."""

    path: str
    events: list[dict[str, Any]]
    request: dict[str, Any] = field(default_factory=dict)


def chat(events: list[dict[str, Any]], path: str = "chat.completions.create") -> Row:
    """Return a streamed chat completion."""
    return Row(path, events, {**CHAT, "stream": True})


def responses(events: list[dict[str, Any]], path: str = "responses.create") -> Row:
    """Return a streamed response."""
    return Row(path, events, {**RESPONSE, "stream": True})


def legacy_call(arguments: str) -> list[dict[str, Any]]:
    """Return the chunks of a call in the form that came before `tool_calls`."""
    pieces = pieces_of(arguments)
    return [chat_chunk(function_call={"arguments": piece}) for piece in pieces] + finished()


LOOPS = {
    "chat, content": chat(said(LOOP)),
    "chat, reasoning_content": chat(said(LOOP, "reasoning_content")),
    "chat, reasoning": chat(said(LOOP, "reasoning")),
    "chat, refusal": chat(said(LOOP, "refusal")),
    "chat, arguments of a call": chat(calls('{"path": "a"}', LONG_ARGUMENTS)),
    "chat, arguments of a call in the old form": chat(legacy_call(LONG_ARGUMENTS)),
    "chat, the same call over and over": chat(calls(*SAME_CALL)),
    "chat below beta": chat(said(LOOP), "beta.chat.completions.create"),
    "chat, by a helper": Row("chat.completions.stream", said(LOOP), CHAT),
    "response, text": responses(message_events(LOOP)),
    "response, reasoning": responses(delta_events("reasoning_text", LOOP)),
    "response, summary": responses(delta_events("reasoning_summary_text", LOOP)),
    "response, refusal": responses(delta_events("refusal", LOOP)),
    "response, arguments of a call": responses(call_events('{"path": "a"}', LONG_ARGUMENTS)),
    "response, input of a custom tool": responses(delta_events("custom_tool_call_input", LOOP)),
    "response, code": responses(delta_events("code_interpreter_call_code", LOOP)),
    "response, the same call over and over": responses(call_events(*SAME_CALL)),
    "response, retrieved": Row(
        "responses.retrieve",
        message_events(LOOP),
        {"response_id": "resp_1", "stream": True},
    ),
    "response, by a helper": Row("responses.stream", message_events(LOOP), RESPONSE),
    "response, by a helper that goes on with one": Row(
        "responses.stream", message_events(LOOP), {"response_id": "resp_1"}
    ),
}

HEALTHY = {
    "chat, content": chat(said(REFRAIN)),
    "chat, reasoning": chat(said(SIMILAR_JSON, "reasoning_content")),
    "chat, other arguments each time": chat(calls(*OTHER_CALLS)),
    "chat, the same call three times": chat(calls(*SAME_CALL[:3])),
    "chat, calls that are announced before their arguments come": chat(
        [
            *(call_chunk(n, "", name="read") for n in range(24)),
            *(call_chunk(n, text) for n, text in enumerate(OTHER_CALLS)),
            *finished("tool_calls"),
        ]
    ),
    "chat, calls that are all numbered 0": chat(
        [*(call_chunk(0, text, name="read") for text in OTHER_CALLS), *finished("tool_calls")]
    ),
    "chat, calls that are written at once, with the name in each piece": chat(
        [
            *(call_chunk(n, piece, name="add") for piece in '{"n":111111111111}' for n in (0, 1)),
            *finished("tool_calls"),
        ]
    ),
    "chat, pieces without anything": chat(
        [chat_chunk(content=None, tool_calls=None), *said("Yes.")]
    ),
    "chat, by a helper": Row("chat.completions.stream", said(REFRAIN), CHAT),
    "response, text": responses(message_events(REFRAIN)),
    "response, other arguments each time": responses(call_events(*OTHER_CALLS)),
    "response, the same call that the provider runs": responses(
        call_events(*SAME_CALL, kind="mcp_call")
    ),
    "response, by a helper": Row("responses.stream", message_events(REFRAIN), RESPONSE),
    "response, reasoning and the summary of it": responses(
        [*delta_events("reasoning_text", REFRAIN), *delta_events("reasoning_summary_text", REFRAIN)]
    ),
}


@both
@pytest.mark.parametrize("row", LOOPS.values(), ids=LOOPS)
def test_a_loop_ends_the_stream_quietly(server: Provider, client: str, row: Row) -> None:
    """Up to the cut it is what the client alone gives; then it ends, and the stream says why."""
    server.events = row.events
    alone = read(client, server, row.path, watched=False, **row.request)
    seen = read(client, server, row.path, **row.request)
    assert seen.error is alone.error is None
    assert seen.shown == alone.shown[: len(seen.shown)]
    assert 0 < len(seen.shown) < len(alone.shown)
    assert seen.finding is not None
    assert seen.finding.severity == "cut"


@both
@pytest.mark.parametrize("row", HEALTHY.values(), ids=HEALTHY)
def test_a_healthy_stream_is_what_the_client_alone_gives(
    server: Provider, client: str, row: Row
) -> None:
    """Every chunk and event comes, the usage at the end as well."""
    server.events = row.events
    alone = read(client, server, row.path, watched=False, **row.request)
    seen = read(client, server, row.path, **row.request)
    assert seen.finding is None
    assert seen.shown == alone.shown


@both
@pytest.mark.parametrize(
    "row",
    [
        chat(said(LOOP)[:-2]),
        responses(message_events(LOOP)[:-4]),
        Row("chat.completions.stream", said(LOOP)[:-2], CHAT),
    ],
    ids=["chat", "response", "helper"],
)
def test_a_cut_hangs_up(server: Provider, client: str, row: Row) -> None:
    """The provider notices at once; without that the model would go on and be paid for."""
    server.events, server.endless = row.events, True
    assert read(client, server, row.path, **row.request).finding is not None
    assert server.hung_up.wait(timeout=5)


@both
def test_what_is_worth_keeping(server: Provider, client: str) -> None:
    """The chunk that completes the loop came, so `keep_chars` can be taken of the text."""
    server.events = said("Well. " + LOOP)
    seen = read(client, server, "chat.completions.create", stream=True, **CHAT)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in seen.pieces)
    assert seen.keep_chars is not None
    assert text[: seen.keep_chars].count("check the file") == 1


@both
def test_a_completion_that_was_cut_is_what_came(server: Provider, client: str) -> None:
    """The helper's completion has the text of its events and no finish reason."""
    server.events = said(LOOP)
    seen = read(client, server, "chat.completions.stream", final="get_final_completion", **CHAT)
    deltas = [event.delta for event in seen.pieces if event.type == "content.delta"]
    choice = seen.final.choices[0]
    assert choice.message.content == "".join(deltas)
    assert LOOP.startswith(choice.message.content)
    assert not choice.finish_reason


@both
def test_a_helper_that_is_asked_for_its_result_alone_is_cut(server: Provider, client: str) -> None:
    """What the helper reads by itself is watched too."""
    server.events, server.endless = said(LOOP)[:-2], True
    seen = read(
        client, server, "chat.completions.stream", final="get_final_completion", unread=True, **CHAT
    )
    assert seen.finding is not None
    assert len(seen.final.choices[0].message.content) < len(LOOP)


@both
def test_a_response_that_was_cut_is_not_complete(server: Provider, client: str) -> None:
    """The helper says so with the client's own error."""
    server.events = message_events(LOOP)
    seen = read(client, server, "responses.stream", final="get_final_response", **RESPONSE)
    assert isinstance(seen.final, RuntimeError)
    assert "response.completed" in str(seen.final)


@both
@pytest.mark.parametrize("healthy_first", [True, False])
def test_a_choice_that_goes_round_takes_nothing_from_another(
    server: Provider, client: str, *, healthy_first: bool
) -> None:
    """While one choice is healthy the stream goes on, until that one is finished."""
    going_round, healthy = said(LOOP, index=1), said(REFRAIN, index=0)[:-2]
    events = [chunk for pair in zip(healthy, going_round, strict=False) for chunk in pair]
    rest = going_round[len(healthy) :]
    end = [chat_chunk(index=0, finish="stop")]
    server.events = [*events, *end, *rest] if healthy_first else [*events, *rest, *end]
    seen = read(client, server, "chat.completions.create", n=2, stream=True, **CHAT)
    assert seen.finding is not None
    content = [c.delta.content or "" for p in seen.pieces for c in p.choices if c.index == 0]
    assert "".join(content) == REFRAIN
    assert (len(seen.pieces) < len(server.events)) == healthy_first


@both
def test_choices_that_all_go_round_end_the_stream(server: Provider, client: str) -> None:
    """Then nothing is left to wait for; a choice that has not begun is waited for."""
    server.events = [*said(LOOP, index=0)[:-2], chat_chunk(index=0), *said(LOOP, index=1)]
    seen = read(client, server, "chat.completions.create", n=2, stream=True, **CHAT)
    assert seen.pieces[-1].choices[0].index == 1
    assert len(seen.pieces) < len(server.events)


@both
def test_a_choice_that_nobody_announced_is_waited_for(server: Provider, client: str) -> None:
    """The number of choices can travel in the extra body, which is not read."""
    healthy, going_round = said(REFRAIN, index=1), said(LOOP, index=0)[:-2]
    server.events = [healthy[0], *going_round, *healthy[1:]]
    seen = read(client, server, "chat.completions.create", **CHAT, stream=True)
    assert seen.finding is not None
    assert seen.pieces[-1].choices[0].finish_reason == "stop"


@both
def test_choices_are_not_taken_for_one_text(server: Provider, client: str) -> None:
    """Five choices that say the same are no loop, nor do their pieces make one text."""
    text = "The capital of France is Paris, a city of two million people.\n" * 2
    replies = [said(text, index=index) for index in range(5)]
    server.events = [chunk for chunks in zip(*replies, strict=True) for chunk in chunks]
    seen = read(client, server, "chat.completions.create", n=5, stream=True, **CHAT)
    assert seen.finding is None
    assert len(seen.pieces) == len(server.events)


@both
@pytest.mark.parametrize("name", ["chat, content", "response, text", "chat, by a helper"])
def test_listeners_hear_of_a_cut_once(server: Provider, client: str, name: str) -> None:
    """Each stream is a run of its own."""
    heard: list[VerdictEvent] = []
    guard, row = LoopGuard(listeners=(heard.append,)), LOOPS[name]
    server.events = row.events
    seen = [read(client, server, row.path, guard, **row.request) for _ in range(2)]
    assert [event.verdict.findings for event in heard] == [(each.finding,) for each in seen]
    assert heard[0].run_id != heard[1].run_id
    assert {event.kind for event in heard} == {"reply"}


@both
def test_an_observing_policy_ends_no_stream(server: Provider, client: str) -> None:
    """Everything comes, and the finding is there."""
    server.events = said(LOOP)
    guard = LoopGuard(policy=Policy.observe())
    seen = read(client, server, "chat.completions.create", guard, stream=True, **CHAT)
    assert len(seen.pieces) == len(server.events)
    assert seen.finding is not None

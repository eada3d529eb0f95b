"""Every case of `exact.jsonl`, `exact_random.jsonl` and `reply.jsonl`."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from loopguard_core.message import Message
from loopguard_core.reply import (
    ExactConfig,
    ExactFinding,
    ExactRepetition,
    LoopFinding,
    ReplyLoopConfig,
    ReplyLoopDetector,
    ReplyWatch,
)

_DATA = Path(__file__).parents[2] / "data"


def _cases(name: str) -> list[dict[str, Any]]:
    text = (_DATA / name).read_text("utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


EXACT = _cases("exact.jsonl")
RANDOM = _cases("exact_random.jsonl")
REPLY = _cases("reply.jsonl")
INFERRED_OTHERWISE: set[str] = set()
"""Cases of an inferred reading that was replaced by a better one: none."""


def test_no_case_is_lost() -> None:
    """The copies hold as many cases as they were made with."""
    assert (len(EXACT), len(RANDOM), len(REPLY)) == (40, 120, 32)
    assert sum(case["basis"] == "documented" for case in REPLY) == 28


@pytest.mark.parametrize("case", EXACT, ids=[case["id"] for case in EXACT])
def test_exact(case: dict[str, Any]) -> None:
    """Settings resolve as the case says, and each feed finds what it says, after as many bytes."""
    config = ExactConfig(**case["config"])
    resolved = dict(case["resolved"])
    assert config.kept_bytes == resolved.pop("history_bytes", config.kept_bytes)
    assert resolved == {name: getattr(config, name) for name in resolved}
    guard = ExactRepetition(config, where=case["where"])
    fed = 0
    for feed in case["feeds"]:
        found = None
        for piece in _pieces(feed):
            fed += len(piece)
            found = guard.feed(piece) or found
            if found is not None and not feed.get("keep_on"):
                break
        assert feed["expect"] == {"fed": fed, "finding": _summary(found)}


def _pieces(feed: dict[str, Any]) -> list[bytes]:
    data = feed["text"].encode()
    size = feed.get("chunk", len(data) or 1)
    return [data[i : i + size] for i in range(0, len(data), size)] * feed.get("repeat", 1)


def _summary(found: ExactFinding | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "where": found.where,
        "period": found.period,
        "reps": found.reps,
        "trailing": found.trailing,
        "sample_bytes": len(found.sample),
        "sample_sha256": hashlib.sha256(found.sample).hexdigest(),
    }


@pytest.mark.parametrize("case", RANDOM)
def test_exact_random(case: dict[str, Any]) -> None:
    """Fed on after findings, the guard reports at the same deltas, with the same numbers."""
    guard = ExactRepetition(ExactConfig(**case["config"]))
    found = [(i, guard.feed(delta)) for i, delta in enumerate(case["deltas"])]
    assert case["found"] == [[i, each.period, each.reps] for i, each in found if each is not None]


@pytest.mark.parametrize("case", REPLY, ids=[case["id"] for case in REPLY])
def test_reply(case: dict[str, Any]) -> None:
    """What a case says must be, is; and so is what the specification's reading came to."""
    detector = ReplyLoopDetector(ReplyLoopConfig(**case["settings"]))
    watch = detector.begin(_history(case["history"]))
    cuts = [(i, f) for i, item in enumerate(case["feed"]) if (f := _feed(watch, item)) is not None]
    counters = detector.counters()
    must = {k: v for k, v in case["must"].items() if v != "see about"}
    assert must.pop("cut", bool(cuts)) == bool(cuts)
    assert must.pop("kind", None) in (None, cuts[0][1].kind if cuts else None)
    assert must.pop("loops", watch.loops()[0]) == watch.loops()[0]
    assert must.pop("sentences", counters.sentences) == counters.sentences
    assert not must
    _assert_about(case["id"], watch, cuts, dict(counters.interrupted))
    if case["id"] not in INFERRED_OTHERWISE:
        at, finding = cuts[0] if cuts else (None, None)
        assert case["model"] == {
            "cut_at_feed_item": at,
            "cut_kind": finding and finding.kind,
            "cut_loops": finding and finding.reps,
            "loops": watch.loops()[0],
            "loops_kind": watch.loops()[1],
            "detected": counters.detected,
            "interrupted": counters.interrupted,
            "sentences": counters.sentences,
            "repeats": counters.repeats,
        }


def _assert_about(
    case: str, watch: ReplyWatch, cuts: list[tuple[int, LoopFinding]], interrupted: dict[Any, int]
) -> None:
    """Check what a case only describes."""
    match case:
        case "tolerance-negative" | "tool-tolerance-negative" | "tool-history-only":
            assert watch.loops()[0] >= 3
            assert not cuts
        case "history-then-fresh":
            assert watch.loops()[0] >= 2
            assert not cuts
        case "once":
            assert sum(interrupted.values()) == 1


def _history(messages: list[dict[str, Any]]) -> list[Message]:
    calls: dict[str, dict[str, str]] = {}
    history: list[Message] = []
    for message in messages:
        match message["role"]:
            case "user":
                history.append(Message.user(message["content"]))
            case "assistant":
                history.append(Message.bot(message["content"]))
                for call in message.get("tool_calls", ()):
                    calls[call["id"]] = call
                    history.append(Message.tool_request(call["name"], call["args"], call["id"]))
            case "tool":
                call = calls[message["tool_call_id"]]
                name, arguments, result = call["name"], call["args"], message["content"]
                history.append(Message.tool_response(name, arguments, result, call["id"]))
    return history


def _feed(watch: ReplyWatch, item: list[Any]) -> LoopFinding | None:
    channel, value = item
    return watch.watch_tool_call(*value) if channel == "call" else watch.watch(channel, value)

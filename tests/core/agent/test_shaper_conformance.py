"""Every case of `shaper.jsonl`: builds, folds and additions over one store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from loopguard_core.agent.budget import tokens_of
from loopguard_core.agent.entries import Compaction, Entry
from loopguard_core.agent.runner import ChatOptions, Chunk
from loopguard_core.agent.shaping import (
    SUMMARY_INSTRUCTION,
    SUMMARY_SYSTEM,
    EmptySummaryError,
    FoldError,
    NotConvergedError,
    Shaper,
    reporting_compactions,
)

from .cases import cases, ids
from .session.driver import SpanLog, info_of
from .test_render import as_json, policy_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from loopguard_core.agent.chat import ChatMessage, ToolDefinition

CASES = cases("shaper")
_NO_INFO = {"summary": "", "subsumed_count": 0, "tokens_before": 0, "tokens_after": 0}


def test_no_case_is_lost() -> None:
    """The copy holds as many cases as it was made with."""
    assert len(CASES) == 23


class _Store:
    """Keeps entries in the order they come, and can forget to hide what was folded."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._keeps = bool(given.get("store_keeps_subsumed"))
        self.entries = [Entry(**entry) for entry in given["entries"]]
        self.folds: list[Compaction] = []

    async def claim_pending(self, session_id: str, at: int) -> int:
        raise NotImplementedError

    async def append(self, session_id: str, entry: Entry) -> None:  # noqa: ARG002 - the protocol
        self.entries.append(entry)

    async def context(self, session_id: str) -> list[Entry]:  # noqa: ARG002 - the protocol
        return list(self.entries)

    async def compact(self, session_id: str, compaction: Compaction) -> None:  # noqa: ARG002
        number = len(self.folds) + 1
        marker = compaction.marker.model_copy(update={"id": f"~{number:03}"})
        self.folds.append(Compaction(marker=marker, subsumed=compaction.subsumed))
        if not self._keeps:
            gone = {entry.id for entry in compaction.subsumed}
            self.entries = [entry for entry in self.entries if entry.id not in gone]
        self.entries.append(marker)


class _Summaries:
    """A runner that answers the summary requests of a case."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._given = given
        self.saw: list[list[dict[str, Any]]] = []

    async def stream(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolDefinition] = (),
        options: ChatOptions | None = None,
    ) -> AsyncIterator[Chunk]:
        assert (list(tools), options) == ([], None)
        number = len(self.saw)
        self.saw.append([as_json(message) for message in messages])
        failures = self._given.get("chat_call_errors") or {}
        if text := _nth(failures, number):
            raise RuntimeError(text)
        for piece in self._given["summaries"][number]:
            error = piece.get("error")
            yield Chunk(
                content=piece.get("content", ""),
                done=piece.get("done", False),
                error=RuntimeError(error) if error else None,
            )


def _nth(failures: Any, number: int) -> str:
    if isinstance(failures, dict):
        return str(failures.get(str(number), ""))
    return str(failures[number] or "") if number < len(failures) else ""


def _error(error: Exception) -> dict[str, Any]:
    match error:
        case NotConvergedError():
            return {"kind": "not_converged", "attempts": error.attempts}
        case FoldError(cause=EmptySummaryError()):
            return {"stage": error.stage, "cause": {"kind": "empty_summary"}}
        case FoldError():
            return {"stage": error.stage, "cause": {"message": str(error.cause)}}
    raise error


async def _step(shaper: Shaper, op: str, system: str) -> dict[str, Any]:
    infos: list[dict[str, Any]] = []
    with reporting_compactions(lambda info: infos.append(info_of(info))):
        done = await (_compact(shaper) if op == "compact" else _build(shaper, system))
    return {"op": op, "error": None, **done, **({"compactions": infos} if op == "build" else {})}


async def _compact(shaper: Shaper) -> dict[str, Any]:
    try:
        info = await shaper.compact("s")
    except FoldError as error:
        return {"error": _error(error), "did": False, "info": _NO_INFO}
    return {"did": info is not None, "info": info_of(info) if info else _NO_INFO}


async def _build(shaper: Shaper, system: str) -> dict[str, Any]:
    try:
        messages = await shaper.build("s", system)
    except (FoldError, NotConvergedError) as error:
        return {"error": _error(error)}
    shown = [as_json(message) for message in messages]
    return {"messages": shown, "tokens": tokens_of(messages, count_arguments=False)}


def _stored(entry: Entry) -> dict[str, Any]:
    return {
        key: value
        for key, value in entry.model_dump(exclude={"usage", "parts"}).items()
        if value or key in {"id", "kind", "content", "created_at"}
    }


def _worded(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    system, user = messages
    assert system["content"] == SUMMARY_SYSTEM
    text = user["content"]
    assert text.startswith(f"{SUMMARY_INSTRUCTION}\n\n")
    text = text.replace(f"{SUMMARY_INSTRUCTION}\n\n", "⟦summary_instruction⟧", 1)
    return [{**system, "content": "⟦summary_system⟧"}, {**user, "content": text}]


@pytest.mark.parametrize("case", CASES, ids=ids(CASES))
async def test_a_case(case: dict[str, Any]) -> None:
    """Messages, folds, prices, spans and what the summariser saw are those of the case."""
    given = case["in"]
    store, summaries, spans = _Store(given), _Summaries(given), SpanLog()
    shaper = Shaper(store, summarizer=summaries, policy=policy_of(given["policy"]), tracer=spans)
    steps = []
    added = iter(given.get("adds") or ())
    for op in given["ops"]:
        if op == "add":
            store.entries += [Entry(**entry) for entry in next(added)]
        else:
            steps.append(await _step(shaper, op, given["system"]))
    assert steps == case["out"]["steps"]
    assert [_stored(entry) for entry in store.entries] == case["out"]["stored"]
    folds = [
        {
            "marker": _stored(fold.marker),
            "subsumes": [entry.id for entry in fold.subsumed],
            "origins": [entry.origin for entry in fold.subsumed],
        }
        for fold in store.folds
    ]
    for fold, expected in zip(folds, case["out"]["store_folds"], strict=True):
        assert {key: fold[key] for key in expected} == expected
    assert [_worded(saw) for saw in summaries.saw] == case["out"]["summarizer_saw"]
    assert spans == case["out"]["span_log"]

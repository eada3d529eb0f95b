"""Runs one conformance case of the turn loop against a session with a scripted model.

The format of a case is described in the conformance data's own words: rounds are the chunks of
each model call, arrivals are queued while a call starts, dispatch answers the calls one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from loopguard_core.agent.chat import ChatMessage, ToolCall, ToolDefinition
from loopguard_core.agent.dispatch import SessionClosed
from loopguard_core.agent.entries import Compaction, Entry
from loopguard_core.agent.errors import TurnError
from loopguard_core.agent.runner import REPETITION, ChatOptions, Chunk, TokenReport
from loopguard_core.agent.session import Session
from loopguard_core.agent.shaping import Shaper, ShaperPolicy
from loopguard_core.agent.store import MemoryStore
from loopguard_core.agent.tight import encode_tight_c
from loopguard_core.reply import ExactFinding

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

SESSION = "s"
_GIVEN = ("max_turns", "max_repetition_retries", "max_repeated_exchanges", "max_tool_result_chars")
_NAMES = ("system", "thread_id", "forced_terminal_tool", "omit_slot_instructions", "span_prefix")


class FixtureError(Exception):
    """What a part of the fixture raises."""


class RecordingStore(MemoryStore):
    """Fails where the case says so, and counts what the case looks at.

    Args:
        case: The case's input.
    """

    def __init__(self, case: dict[str, Any]) -> None:
        super().__init__()
        self._fails_on = case.get("store_fails_on") or ()
        self.claims = 0
        self.given: set[str] = set()
        self.made: dict[str, str] = {}
        self._arrived: list[str] = []

    async def enqueue(self, session_id: str, entry: Entry) -> None:
        """Queue, and remember the order."""
        self._arrived.append(entry.id)
        await super().enqueue(session_id, entry)

    async def claim_pending(self, session_id: str, at: int) -> int:
        """Claim, and count it."""
        if "claim" in self._fails_on:
            raise FixtureError("boom")
        self.claims += 1
        return await super().claim_pending(session_id, at)

    async def append(self, session_id: str, entry: Entry) -> None:
        """Append, and remember the order."""
        if f"append:{entry.kind}" in self._fails_on:
            raise FixtureError("boom")
        self._name(entry)
        await super().append(session_id, entry)

    async def compact(self, session_id: str, compaction: Compaction) -> None:
        """Fold, and number the marker."""
        self._name(compaction.marker)
        await super().compact(session_id, compaction)

    def _name(self, entry: Entry) -> None:
        """Number what the session made, in the order it comes."""
        self._arrived.append(entry.id)
        if entry.id not in self.given:
            self.made[entry.id] = f"~{len(self.made) + 1:03}"

    def stored(self) -> list[Entry]:
        """Return what is not folded, in the order it came, with what was not claimed yet."""
        kept = self._sessions[SESSION]
        entries = kept.shown | kept.queued
        return [entries[some_id] for some_id in self._arrived if some_id in entries]

    def forget(self, entry_id: str) -> None:
        """Drop an entry, as a host does with a notice that is no longer true."""
        self._sessions[SESSION].shown.pop(entry_id, None)


class Clock:
    """Ticks once for each reading, from the case's start."""

    def __init__(self, case: dict[str, Any]) -> None:
        start = case.get("clock_start") or 100
        self._step = 0 if case.get("clock_const") else 1
        self._now = start

    def __call__(self) -> int:
        """Tick."""
        self._now += self._step
        return self._now


class SpanLog(list[str]):
    """A tracer that writes down what its spans are told."""

    def start(self, name: str) -> _Span:
        """Start a span."""
        """Start a span."""
        self.append(f"start {name}")
        return _Span(self, name)


class _Span:
    def __init__(self, log: SpanLog, name: str) -> None:
        self._log, self._name = log, name

    def set(self, key: str, value: str | int) -> Self:
        self._log.append(f"set {self._name} {key}={value}")
        return self

    def end(self) -> None:
        self._log.append(f"end {self._name}")

    def end_error(self, error: BaseException) -> None:  # noqa: ARG002 - as the protocol has it
        self._log.append(f"end_error {self._name}")


class Driver:
    """One case, its parts, and what they see.

    Args:
        case: The case's input.
    """

    def __init__(self, case: dict[str, Any]) -> None:
        self.case = case
        self.clock = Clock(case)
        self.store = RecordingStore(case)
        self.seen: dict[str, Any] = {
            name: [] for name in ("chats", "chat_tools", "streamed", "dispatched", "on_usage")
        }
        self.seen |= {"on_compaction": [], "hook_saw": [], "chat_opts": []}
        self.spans = SpanLog()
        self.passes = 0

    async def run(self) -> dict[str, Any]:
        """Run the turns, and return what the case compares."""
        for given in self.case["entries"]:
            await self._add(given)
        session = Session(**self._options())
        turns = []
        for number in range(self.case.get("turns") or 1):
            for given in (self.case.get("between") or {}).get(str(number), []):
                await self._add(given)
            turns.append(await self._turn(session))
        return {
            **self.seen,
            "turns": turns,
            "stored": [self._stored(entry) for entry in self.store.stored()],
            "claim_calls": self.store.claims,
            "preparer_calls": self.passes,
            "span_log": list(self.spans),
        }

    async def _turn(self, session: Session) -> dict[str, Any]:
        error = None
        try:
            result = await session.turn()
        except TurnError as failed:
            error, result = failed, failed.result
        assert result is not None
        return {
            "error": error,
            "reply": result.reply,
            "usage": usage_of(result.usage),
            "compactions": [info_of(info) for info in result.compactions],
        }

    async def _add(self, given: dict[str, Any]) -> None:
        values = {key: value for key, value in given.items() if key != "pending"}
        entry = Entry.model_validate(values | {"created_at": given["created_at"] or self.clock()})
        self.store.given.add(entry.id)
        if given.get("pending"):
            await self.store.enqueue(SESSION, entry)
        else:
            await self.store.append(SESSION, entry)

    def _options(self) -> dict[str, Any]:
        given = self.case["session"]
        encoders = {"tightc": encode_tight_c, "prefix": lambda text: f"ENC:{text}", None: None}
        return {
            "session_id": SESSION,
            "store": self.store,
            "runner": self,
            "dispatch": self._dispatch,
            "tools": [ToolDefinition(**tool) for tool in self.case.get("tools") or ()],
            "tool_format": given.get("format") or "native",
            "encode_tool_result": encoders[given.get("encode")],
            "build": self._builder(given.get("build")),
            "on_assistant_token": self.seen["streamed"].append,
            "on_usage": lambda usage: self.seen["on_usage"].append(usage_of(usage)),
            "on_compaction": lambda info: self.seen["on_compaction"].append(info_of(info)),
            "on_tool_calls": self._hook if self.case.get("on_tool_calls") else None,
            "preparer": self._prepare if self.case.get("preparer") else None,
            "tracer": self.spans if self.case.get("trace") else None,
            "now": self.clock,
            "count_arguments": False,
            "repair_pairs": False,
            **{name: given[name] for name in (*_GIVEN, *_NAMES) if name in given},
        }

    def _builder(self, kind: str | None) -> Callable[..., Any] | None:
        """Return the case's builder; ours follows the session's format by itself (Q03)."""
        if kind != "shaper":
            return None
        given = self.case.get("policy") or {}
        policy = ShaperPolicy(
            budget_tokens=given.get("budget", 0),
            lod_headroom_tokens=given.get("headroom", 0),
            preserve_last_messages=given.get("last_messages", 0),
            preserve_last_tool_calls=given.get("last_tool_calls", 0),
            lod_truncate_above_chars=given.get("lod_chars", 0),
            repair_pairs=False,
            count_arguments=False,
        )
        tracer = self.spans if self.case.get("trace") else None
        return Shaper(
            self.store, summarizer=_Summaries(self.case), policy=policy, tracer=tracer
        ).build

    def stream(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolDefinition] = (),
        options: ChatOptions | None = None,
    ) -> AsyncIterator[Chunk]:
        """Play the next round."""
        number = len(self.seen["chats"])
        self.seen["chats"].append([self._wire(message) for message in messages])
        self.seen["chat_tools"].append([tool.name for tool in tools])
        assert options is not None
        self.seen["chat_opts"].append(
            {
                "has_grammar": bool(options.grammar),
                "max_tokens": 0,
                "stop": list(options.stop) or None,
                "tool_choice": options.tool_choice or "",
                "trace_id": options.trace_id,
            }
        )
        if (failure := (self.case.get("chat_call_errors") or {}).get(str(number))) is not None:
            raise FixtureError(failure)
        rounds = self.case["rounds"]
        chunks = rounds[number] if number < len(rounds) else []
        if not self.case.get("no_done_chunk"):
            chunks = [*chunks, {"done": True}]
        return self._play(number, chunks)

    async def _play(self, number: int, chunks: list[dict[str, Any]]) -> AsyncIterator[Chunk]:
        for given in (self.case.get("arrivals") or {}).get(str(number), []):
            await self._add(given | {"pending": True})
        for chunk in chunks:
            yield chunk_of(chunk)

    async def _dispatch(self, call: ToolCall) -> str:
        number = len(self.seen["dispatched"])
        self.seen["dispatched"].append(self._call(call))
        answers = self.case.get("dispatch") or []
        default = {"result": self.case.get("dispatch_default") or "ok"}
        answer = answers[number] if number < len(answers) else default
        if answer.get("closed"):
            signal = SessionClosed(answer.get("result", ""))
            if answer.get("wrapped"):
                raise FixtureError("wrapped") from signal
            raise signal
        if "error" in answer:
            raise FixtureError(answer["error"])
        return str(answer.get("result", ""))

    def _hook(self, calls: Sequence[ToolCall]) -> Sequence[ToolCall]:
        number = len(self.seen["hook_saw"])
        self.seen["hook_saw"].append([self._call(call) for call in calls])
        match self.case["on_tool_calls"].get(str(number)):
            case {"append": more}:
                return [*calls, *(ToolCall(**one) for one in more)]
            case {"drop": True}:
                return []
            case {"replace": others}:
                return [ToolCall(**one) for one in others]
            case _:
                return calls

    async def _prepare(self, session_id: str) -> None:
        kind = self.case["preparer"]
        if kind == "error":
            raise FixtureError("boom")
        self.passes += 1
        if kind.startswith("drop:"):
            self.store.forget(kind.removeprefix("drop:"))
        if kind == "inject":
            note = {"id": f"prep{self.passes}", "tag": "prep", "kind": "notification"}
            await self._add(note | {"content": f"pass {self.passes}", "created_at": 0})
        assert session_id == SESSION

    def _id(self, some_id: str) -> str:
        return self.store.made.get(some_id, some_id)

    def _call(self, call: ToolCall) -> dict[str, str]:
        return {"id": self._id(call.id), "name": call.name, "arguments": call.arguments}

    def _wire(self, message: ChatMessage) -> dict[str, Any]:
        shown: dict[str, Any] = {"role": message.role, "content": message.content}
        if message.tool_calls:
            shown["tool_calls"] = [self._call(call) for call in message.tool_calls]
        if message.tool_call_id:
            shown["tool_call_id"] = self._id(message.tool_call_id)
        return shown

    def _stored(self, entry: Entry) -> dict[str, Any]:
        stored = entry.model_dump(exclude_defaults=True) | {"id": self._id(entry.id)}
        return stored | {"content": entry.content, "created_at": entry.created_at}


class _Summaries:
    """The summariser of a case: a model of its own."""

    def __init__(self, case: dict[str, Any]) -> None:
        self._rounds = iter(case.get("summaries") or [])

    async def stream(
        self, messages: object, tools: object = (), options: object = None
    ) -> AsyncIterator[Chunk]:
        assert not tools
        assert options is None
        assert messages
        for chunk in [*next(self._rounds, []), {"done": True}]:
            yield chunk_of(chunk)


def chunk_of(given: Mapping[str, Any]) -> Chunk:
    """Return the chunk that a case describes."""
    finding = given.get("repetition")
    usage = given.get("usage")
    names = {"cached_nested": "cached"}
    report = {names.get(name, name): value for name, value in (usage or {}).items()}
    return Chunk(
        content=given.get("content", ""),
        call=ToolCall(**given["call"]) if "call" in given else None,
        done=given.get("done", False),
        error=FixtureError(given["error"]) if "error" in given else None,
        usage=TokenReport(**report) if usage is not None else None,
        stop_reason=REPETITION if finding else "",
        finding=ExactFinding(**finding | {"sample": finding["sample"].encode()})
        if finding
        else None,
    )


def usage_of(usage: Any) -> dict[str, int]:
    """Return totals as a case has them."""
    names = ("total", "active", "cached", "processed", "generated", "turns")
    return {name: getattr(usage, name) for name in names}


def info_of(info: Any) -> dict[str, Any]:
    """Return a fold as a case has it."""
    names = ("summary", "subsumed_count", "tokens_before", "tokens_after")
    return {name: getattr(info, name) for name in names}

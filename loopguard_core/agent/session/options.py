"""What a session is made of: `SessionOptions`, checked when it is made."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from loopguard_core.agent.budget import CharsByFour, TokenEstimator
from loopguard_core.agent.chat import ToolCall, ToolDefinition
from loopguard_core.agent.dispatch import ToolDispatcher
from loopguard_core.agent.entries import CompactionInfo
from loopguard_core.agent.render import ContextBuilder
from loopguard_core.agent.runner import ChatOptions, LLMRunner
from loopguard_core.agent.store import Store
from loopguard_core.agent.tracing import Tracer
from loopguard_core.agent.usage import TokenUsage
from loopguard_core.errors import InvalidInputError
from loopguard_core.guard import LoopGuard, Verdict

__all__ = ["OnToken", "SessionOptions", "ToolFormat"]

ToolFormat: TypeAlias = Literal["native", "heredoc"]
"""How calls travel: as the endpoint has them, or as text."""

OnToken: TypeAlias = Callable[[str], Awaitable[None] | None]
"""Is given each piece of text as the model writes it."""

_DEFAULT_MAX_TURNS: Final = 100
_DEFAULT_RETRIES: Final = 2
_DEFAULT_REPEATS: Final = 5

_TEXTS: Final = ("session_id", "thread_id", "system", "span_prefix", "forced_terminal_tool")
_NUMBERS: Final = (
    "max_turns",
    "max_repetition_retries",
    "max_repeated_exchanges",
    "max_tool_result_chars",
)
_FLAGS: Final = ("omit_slot_instructions", "count_arguments", "repair_pairs")
_CALLABLES: Final = (
    "dispatch",
    "build",
    "on_assistant_token",
    "on_compaction",
    "on_usage",
    "on_tool_calls",
    "on_blocked_call",
    "preparer",
    "encode_tool_result",
)
_METHODS: Final = {
    "store": ("claim_pending", "append", "context", "compact"),
    "runner": ("stream",),
    "tracer": ("start",),
}


@dataclass(frozen=True, kw_only=True)
class SessionOptions:
    """The parts and limits of a session; see `Session`, which takes the same arguments."""

    session_id: str
    store: Store
    runner: LLMRunner
    thread_id: str = ""
    system: str = ""
    build: ContextBuilder | None = None
    tools: Sequence[ToolDefinition] = ()
    dispatch: ToolDispatcher | None = None
    tool_format: ToolFormat = "native"
    chat_opts: ChatOptions = field(default_factory=ChatOptions)
    on_assistant_token: OnToken | None = None
    on_compaction: Callable[[CompactionInfo], Awaitable[None] | None] | None = None
    on_usage: Callable[[TokenUsage], Awaitable[None] | None] | None = None
    on_tool_calls: (
        Callable[[Sequence[ToolCall]], Awaitable[Sequence[ToolCall]] | Sequence[ToolCall]] | None
    ) = None
    on_blocked_call: Callable[[ToolCall, Verdict], Awaitable[bool] | bool] | None = None
    estimate: TokenEstimator = CharsByFour.estimate
    max_turns: int = _DEFAULT_MAX_TURNS
    forced_terminal_tool: str = ""
    max_repetition_retries: int = _DEFAULT_RETRIES
    max_repeated_exchanges: int = _DEFAULT_REPEATS
    preparer: Callable[[str], Awaitable[None] | None] | None = None
    span_prefix: str = "agent"
    omit_slot_instructions: bool = False
    max_tool_result_chars: int = 0
    encode_tool_result: Callable[[str], str] | None = None
    now: Callable[[], int] = time.time_ns
    tracer: Tracer | None = None
    guard: LoopGuard | None = None
    guard_snapshot: Mapping[str, object] | None = None
    count_arguments: bool = True
    repair_pairs: bool = True

    def __post_init__(self) -> None:
        """Refuse what cannot work, by the name of its field.

        Raises:
            InvalidInputError: A value of the wrong kind, or two that do not go together.
        """
        self._check_kinds()
        self._check_tools()
        self._check_guard()

    @property
    def round_limit(self) -> int:
        """The model calls that one turn may make."""
        return self.max_turns if self.max_turns > 0 else _DEFAULT_MAX_TURNS

    @property
    def retry_limit(self) -> int:
        """The spoiled replies in a row after which the turn goes on; negative for no limit."""
        return self.max_repetition_retries or _DEFAULT_RETRIES

    @property
    def repeat_limit(self) -> int:
        """The equal exchanges after which the model is told; negative for never."""
        return self.max_repeated_exchanges or _DEFAULT_REPEATS

    @property
    def is_heredoc(self) -> bool:
        """True if calls travel as text; without tools there are none to write."""
        return self.tool_format == "heredoc" and bool(self.tools)

    def _check_kinds(self) -> None:
        for name in _TEXTS:
            self._check(name, str, "a string")
        for name in _NUMBERS:
            self._check(name, int, "an int")
        for name in _FLAGS:
            self._check(name, bool, "True or False")
        self._check("chat_opts", ChatOptions, "a ChatOptions")
        for name in ("estimate", "now"):
            self._check_that(name, callable(getattr(self, name)), "a function")
        for name in _CALLABLES:
            value = getattr(self, name)
            self._check_that(name, value is None or callable(value), "a function or None")
        for name, methods in _METHODS.items():
            value = getattr(self, name)
            able = all(callable(getattr(value, method, None)) for method in methods)
            optional = name == "tracer" and value is None
            self._check_that(name, optional or able, f"an object with {', '.join(methods)}")
        self._check_that("session_id", bool(self.session_id), "a name that is not empty")

    def _check_tools(self) -> None:
        formats = get_args(ToolFormat)
        self._check_that("tool_format", self.tool_format in formats, " or ".join(formats))
        tools: object = self.tools
        listed = isinstance(tools, Sequence) and not isinstance(tools, str)
        self._check_that("tools", listed, "a sequence of ToolDefinition")
        names: set[str] = set()
        for position, tool in enumerate(self.tools):
            where = f"tools[{position}]"
            if not isinstance(tool, ToolDefinition):
                raise InvalidInputError(where, tool, "a ToolDefinition")
            if not tool.name or tool.name in names:
                raise InvalidInputError(f"{where}.name", tool.name, "a name of its own")
            names.add(tool.name)
            parameters: object = tool.parameters
            if not (parameters is None or isinstance(parameters, Mapping)):
                raise InvalidInputError(f"{where}.parameters", parameters, "a JSON schema or None")
        if self.tools and self.dispatch is None:
            raise InvalidInputError("dispatch", None, "a function that runs the tools")
        forced = self.forced_terminal_tool
        if forced and self.tools and forced not in names:
            raise InvalidInputError("forced_terminal_tool", forced, "the name of one of the tools")

    def _check_guard(self) -> None:
        guard = self.guard
        known = guard is None or isinstance(guard, LoopGuard)
        self._check_that("guard", known, "a LoopGuard or None")
        if guard is None:
            alone = self.guard_snapshot is None
            self._check_that("guard_snapshot", alone, "None where there is no guard")
            return
        if self.guard_snapshot is not None:
            guard.resume(self.guard_snapshot)  # says what is wrong with it
        if guard.policy.on_block == "ask" and self.on_blocked_call is None:
            raise InvalidInputError(
                "on_blocked_call", None, 'a function that asks a person, as on_block="ask" needs'
            )

    def _check(self, name: str, kind: type, expected: str) -> None:
        value = getattr(self, name)
        if kind is int and isinstance(value, bool):
            raise InvalidInputError(name, value, expected)
        self._check_that(name, isinstance(value, kind), expected)

    def _check_that(self, name: str, holds: bool, expected: str) -> None:
        if not holds:
            raise InvalidInputError(name, getattr(self, name), expected)

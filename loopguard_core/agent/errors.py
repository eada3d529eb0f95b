"""What makes a turn fail, named by the stage it failed at.

    LoopguardError
    +-- TurnError                what the store, the builder or the model raised; has the stage
        +-- MaxTurnsError        the model still called tools after the last round
        +-- ToolCallLoopError    the same calls, the same results, again and again
        +-- ModelLoopedError     one reply after the other had to be cut
        +-- MalformedCallsError  one reply after the other had a call that cannot be read
        +-- TurnStoppedError     the guard halted the turn, and its policy says `raise`;
                                 also a `LoopDetected`
    +-- StoreConflictError       a fold stands for entries that are not in the context any more
    +-- SessionBusyError         a turn of the session runs already
    +-- RunningLoopError         a blocking call inside an event loop; also a RuntimeError

Source: agent specification, section 19.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from loopguard_core.errors import LoopguardError
from loopguard_core.guard import LoopDetected, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard_core.guard import Finding
    from loopguard_core.reply import ExactFinding

    from .heredoc import HeredocFault
    from .session.result import TurnResult

__all__ = [
    "MalformedCallsError",
    "MaxTurnsError",
    "ModelLoopedError",
    "RunningLoopError",
    "SessionBusyError",
    "Stage",
    "StoreConflictError",
    "ToolCallLoopError",
    "TurnError",
    "TurnStoppedError",
]

Stage: TypeAlias = Literal[
    "claim_pending",
    "recheck_pending",
    "prepare_notifications",
    "build_context",
    "chat",
    "persist_reply",
    "persist_tool_call",
    "persist_tool_result",
    "dispatch",
    "max_turns",
    "tool_call_loop",
    "model_looped",
    "malformed_calls",
    "guard",
]
"""Where a turn failed."""


class SessionBusyError(LoopguardError):
    """A session runs one turn at a time, and one runs already.

    Args:
        session_id: Which session.
    """

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(f"session {session_id!r}: a turn runs; `enqueue` hands it a message")


class RunningLoopError(LoopguardError, RuntimeError):
    """A blocking call was made where an event loop runs, which it would stop.

    Args:
        call: The call.
        instead: What works there.
    """

    def __init__(self, call: str, instead: str) -> None:
        super().__init__(f"{call} cannot wait inside a running event loop: use `{instead}` there")


class StoreConflictError(LoopguardError):
    """A fold stands for entries that are not in the context any more; nothing was written.

    Another process has folded the same history in the meantime.

    Args:
        session_id: Whose history.
    """

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(f"session {session_id!r}: the entries of this fold were folded before")


class TurnError(LoopguardError):
    """A turn failed.

    Args:
        stage: Where.
        cause: What was raised there; None where the session itself gave up.
        text: What the error says; empty says the stage and the cause.

    Attributes:
        result: What the turn had come to: reply, compactions and usage; None only before a
            session has raised the error.
    """

    def __init__(self, stage: Stage, cause: BaseException | None = None, text: str = "") -> None:
        self.stage = stage
        self.cause = cause
        self.result: TurnResult | None = None
        # not through `super`, which is another error's constructor where classes are combined
        LoopguardError.__init__(self, text or f"{stage}: {cause}")


class MaxTurnsError(TurnError):
    """The model still called tools after the last round.

    Args:
        max_turns: The rounds that were allowed.
        forced_tool: The tool that had to be called and never was; empty for none.
    """

    def __init__(self, max_turns: int, forced_tool: str = "") -> None:
        self.max_turns = max_turns
        self.forced_tool = forced_tool
        text = f"the turn did not end within max turns ({max_turns})"
        if forced_tool:
            text += f", and {forced_tool} was never called: the provider may ignore tool_choice"
        super().__init__("max_turns", text=text)


class ToolCallLoopError(TurnError):
    """The same calls had the same results, and the model went on after it was told.

    Args:
        tools: The names, in the order of the calls.
        rounds: How many rounds in a row were equal.
    """

    def __init__(self, tools: Sequence[str], rounds: int) -> None:
        self.tools = tuple(tools)
        self.rounds = rounds
        text = f"tool-call loop: {', '.join(tools)} with the same result {rounds} times in a row"
        super().__init__("tool_call_loop", text=text)


class ModelLoopedError(TurnError):
    """Reply after reply had to be cut because it repeated itself.

    Args:
        times: The cuts in a row.
        repeated: What the last one repeated, for a person.
        finding: The same for a program; of the stream client, or of the guard.
    """

    def __init__(
        self, times: int, repeated: str, finding: ExactFinding | Finding | None = None
    ) -> None:
        self.times = times
        self.finding = finding
        text = f"the model looped: {times} replies in a row were cut, the last one for {repeated}"
        super().__init__("model_looped", text=text)


class MalformedCallsError(TurnError):
    """Reply after reply had a heredoc call that cannot be read.

    Args:
        times: The replies in a row.
        fault: What is wrong with the last one.
    """

    def __init__(self, times: int, fault: HeredocFault) -> None:
        self.times = times
        self.fault = fault
        text = f"{times} replies in a row had no readable call: {fault.message}"
        super().__init__("malformed_calls", text=text)


class TurnStoppedError(TurnError, LoopDetected):
    """The guard halted the turn, and its policy asks for an exception.

    Args:
        verdict: The verdict that halted it.
    """

    def __init__(self, verdict: Verdict) -> None:
        TurnError.__init__(self, "guard", text=str(LoopDetected(verdict)))
        self.verdict = verdict

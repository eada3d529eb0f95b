"""`LoopGuard`: the frozen configuration that a user makes once and shares between runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, ConfigDict

from loopguard_core.converge import ConvergeConfig, Response
from loopguard_core.reply import ReplyLoopConfig
from loopguard_core.thread import CycleOptions, StreamGuardOptions
from loopguard_core.tool_loop import ToolLoopConfig

from .listener import Listener
from .policy import Policy
from .run import GuardedRun

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LoopGuard"]

# The packages keep the reference's defaults; a guard that is on by default must leave healthy
# work alone. Measured on 840 labelled runs: with these, no healthy run is touched, while three
# equal results touch five.
_THREAD: Final = CycleOptions(
    min_repetitions=3,
    min_result_repetitions=4,
    text_run_types=frozenset({"bot"}),
    min_stale_activities=4,
)
# Off by default, see `Policy`. With these numbers it cuts none of 458 labelled healthy replies and
# 47 of the 160 loops; the reference's with min_chars=2000 cut 40, and four healthy texts.
_STREAM: Final = StreamGuardOptions(
    ngram=8, window=400, max_repeats=8, max_unique_ratio=0.25, min_chars=2000
)
_REPLY: Final = ReplyLoopConfig.for_guard()
# A log that grows behind its first 4 kB is progress, so the guard compares whole results; and so
# is a job that is confirmed with the same "ok" as all before it.
_TOOL_LOOP: Final = ToolLoopConfig(max_result_bytes=None, spare_progress=True)


# Three equal calls in ten iterations, whatever they brought, are worth a word and no more.
_CONVERGE: Final = ConvergeConfig(oscillation_response=Response.REDIRECT)


class LoopGuard(BaseModel):
    """What is watched for and what is done about it. Frozen; holds no state of any run.

    Args:
        policy: What findings lead to.
        thread: Options of the thread heuristics.
        tool_loop: Thresholds of the tool-loop detectors; a `Policy` rule can change them for
            one tool.
        reply: Thresholds of the detectors that watch replies.
        converge: Thresholds of the convergence monitor.
        stream: Options of the stream guard, which watches the prose of replies.
        listeners: Callables that get a `VerdictEvent` for every verdict that has findings.
            They are called in the thread of the run; one that raises is logged and ignored.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    policy: Policy = Policy()
    thread: CycleOptions = _THREAD
    tool_loop: ToolLoopConfig = _TOOL_LOOP
    reply: ReplyLoopConfig = _REPLY
    converge: ConvergeConfig = _CONVERGE
    stream: StreamGuardOptions = _STREAM
    listeners: tuple[Listener, ...] = ()

    def start_run(self, run_id: str | None = None) -> GuardedRun:
        """Start watching one run.

        Args:
            run_id: What events call the run; None makes a random id.
        """
        return GuardedRun(self, run_id)

    def resume(self, snapshot: Mapping[str, object]) -> GuardedRun:
        """Go on with a run that `GuardedRun.snapshot` saved, with identical verdicts.

        Raises:
            InvalidInputError: *snapshot* is not one, or is of a version this release cannot read.
        """
        return GuardedRun.restore(self, snapshot)

"""A reply, put together from the pieces of its stream."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from loopguard_core.agent.chat import ToolCall
from loopguard_core.agent.entries import new_id
from loopguard_core.agent.heredoc import HeredocFault
from loopguard_core.agent.runner import REPETITION, TokenReport
from loopguard_core.guard.verdict import Action

from .awaiting import settled
from .cut import GuardCut, RepetitionCut
from .thread import arguments_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loopguard_core.agent.runner import Chunk
    from loopguard_core.guard import GuardedReply, Verdict

    from .options import OnToken

__all__ = ["Reading", "Reply", "with_ids"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came of one model call.

    Args:
        text: The prose, whole even if the reply was cut.
        calls: Each with an id; none where the reply was cut or could not be read.
        report: What the endpoint says it cost; None if it said nothing.
        latency_ms: From the request to the end of the stream.
        cut: Why the reply was cut; None if it was not.
        fault: Why its calls cannot be read; None if they can.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    report: TokenReport | None = None
    latency_ms: int = 0
    cut: RepetitionCut | GuardCut | None = None
    fault: HeredocFault | None = None


class Reading:
    """What came of a stream so far.

    Args:
        on_token: Is given each text as it comes.
        watch: Reads along and may cut the reply; None for no guard.
    """

    def __init__(self, on_token: OnToken | None, watch: GuardedReply | None) -> None:
        self._on_token = on_token
        self._watch = watch
        self._texts: list[str] = []
        self._calls: list[ToolCall] = []
        self._report: TokenReport | None = None
        self._cut: RepetitionCut | GuardCut | None = None
        self._done = False

    @property
    def is_over(self) -> bool:
        """True once nothing that follows is of use.

        Without a report the stream is read to its end: some endpoints send it last.
        """
        return isinstance(self._cut, GuardCut) or (self._done and self._report is not None)

    async def take(self, chunk: Chunk) -> None:
        """Take the next piece."""
        if chunk.content:
            await self._take_text(chunk.content)
        if chunk.call is not None:
            self._take_call(chunk.call)
        if chunk.usage is not None:
            self._report = chunk.usage
        if chunk.finding is not None and chunk.stop_reason == REPETITION:
            self._cut = RepetitionCut(chunk.finding)
        self._done = self._done or chunk.done

    def reply(self) -> Reply:
        """Return what came; the calls of a reply that was cut are dropped."""
        calls = () if self._cut is not None else with_ids(self._calls)
        return Reply(text="".join(self._texts), calls=calls, report=self._report, cut=self._cut)

    async def _take_text(self, text: str) -> None:
        self._texts.append(text)
        if self._on_token is not None:
            await settled(self._on_token(text))
        if self._watch is not None:
            self._judge(self._watch.feed(text))

    def _take_call(self, call: ToolCall) -> None:
        self._calls.append(call)
        if self._watch is not None:
            self._judge(self._watch.feed_call(call.name, arguments_of(call.arguments)))

    def _judge(self, verdict: Verdict) -> None:
        if self._watch is not None and verdict.action is Action.HALT:
            self._cut = GuardCut(self._watch.finding, self._watch.keep_chars)


def with_ids(calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    """Return the calls, each with an id of its own where it has none (quirk Q05)."""
    return tuple(call if call.id else replace(call, id=new_id()) for call in calls)

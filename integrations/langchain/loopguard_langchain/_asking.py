"""`on_block="ask"`: one interrupt for all blocked calls of a message.

The request and the response have the form of LangChain's `HumanInTheLoopMiddleware` (1.2 to 1.5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.human_in_the_loop import ActionRequest, HITLRequest, ReviewConfig
from langchain_core.messages import ToolCall, ToolMessage
from langgraph.errors import GraphInterrupt
from langgraph.types import interrupt
from typing_extensions import override

from loopguard_core.errors import InvalidInputError

from ._batch import newest_batch
from ._state import GuardedState, record_in

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

    from loopguard_core import LoopGuard

    from ._state import BlockedCall, GuardRecord

__all__ = ["AsksAboutBlocks", "asking", "refused"]

M = TypeVar("M", bound=AgentMiddleware[Any, Any, Any])

_ALLOWED: Final[tuple[Literal["approve"], Literal["reject"]]] = ("approve", "reject")


class AsksAboutBlocks(AgentMiddleware[GuardedState, Any, Any]):
    """The hook that asks about the blocked calls of the record."""

    guard: LoopGuard

    @override
    def after_model(self, state: GuardedState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        record = record_in(state)
        blocked = {call["call_id"]: call for call in record.get("blocked", ())} if record else {}
        # Other middleware may have answered, or dropped, some of them meanwhile.
        open_calls = newest_batch(state["messages"]).open_calls
        calls = [call for call in open_calls if call["id"] in blocked]
        if record is None or not calls:
            return None
        refusals = _ask(calls, [blocked[call["id"] or ""] for call in calls])
        return {"messages": refusals, "loopguard": self._allowing(record, calls, refusals)}

    @override
    async def aafter_model(
        self, state: GuardedState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        return self.after_model(state, runtime)

    def _allowing(
        self, record: GuardRecord, calls: Sequence[ToolCall], refusals: Sequence[ToolMessage]
    ) -> GuardRecord:
        """Return *record* after a person allowed all *calls* but those with *refusals*."""
        run = self.guard.resume(record["run"])
        refused_ids = {refusal.tool_call_id for refusal in refusals}
        for call in calls:
            if call["id"] not in refused_ids:
                run.allow_call(call["name"], call["args"])
                run.check_call(call["name"], call["args"], call["id"])
        return {**record, "run": run.snapshot(), "blocked": []}


def asking(cls: type[M]) -> type[M]:
    """Return a subclass of *cls* that has the hook: as each hook costs a super-step, not all do."""
    return type(cls.__name__, (cls, AsksAboutBlocks), {"__module__": cls.__module__})


def refused(call: Mapping[str, Any], why: str) -> ToolMessage:
    """Build the answer to a call that is not executed."""
    return ToolMessage(why, name=call["name"], tool_call_id=call["id"] or "", status="error")


def _ask(calls: Sequence[ToolCall], blocked: Sequence[BlockedCall]) -> list[ToolMessage]:
    """Ask a person about *calls*; return the answers to those that are not allowed."""
    requests = [
        ActionRequest(name=call["name"], args=call["args"], description=why["reason"])
        for call, why in zip(calls, blocked, strict=True)
    ]
    reviews = [
        ReviewConfig(action_name=name, allowed_decisions=list(_ALLOWED))
        for name in dict.fromkeys(call["name"] for call in calls)
    ]
    reasons = _answer(HITLRequest(action_requests=requests, review_configs=reviews))
    return [
        refused(call, reason or why["guidance"])
        for call, why, reason in zip(calls, blocked, reasons, strict=True)
        if reason is not None
    ]


def _answer(request: HITLRequest) -> list[str | None]:
    """Interrupt the run; return for each call None if it is allowed, else why not.

    LangGraph keeps a wrong answer and gives it again before the one that follows it, so only
    the newest is judged: a thread would be lost for ever otherwise.
    """
    response = interrupt(request)
    while True:
        try:
            return _reasons(response, len(request["action_requests"]))
        except InvalidInputError as error:
            try:
                response = interrupt(request)
            except GraphInterrupt:  # there is no newer one
                raise error from None


def _reasons(response: object, count: int) -> list[str | None]:
    decisions = response.get("decisions") if isinstance(response, Mapping) else None
    if not isinstance(decisions, Sequence) or len(decisions) != count:
        raise InvalidInputError("decisions", response, f"a list of {count} decisions")
    return [_why_not(decision, position) for position, decision in enumerate(decisions)]


def _why_not(decision: object, position: int) -> str | None:
    """Return None if *decision* allows a call, else why not; empty if it does not say."""
    kind = decision.get("type") if isinstance(decision, Mapping) else None
    if kind not in _ALLOWED or not isinstance(decision, Mapping):
        raise InvalidInputError(f"decisions[{position}]", decision, "an approve or reject decision")
    return None if kind == "approve" else str(decision.get("message") or "")

"""`on_block="ask"`: one interrupt for all blocked calls of a message.

The request and the response have the form of LangChain's `HumanInTheLoopMiddleware` (1.2 to 1.5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.human_in_the_loop import (
    ActionRequest,
    HITLRequest,
    ReviewConfig,
)
from langchain_core.messages import ToolCall, ToolMessage
from langgraph.types import interrupt
from typing_extensions import override

from loopguard_core import Action, LoopGuard, Verdict
from loopguard_core.errors import InvalidInputError

from ._state import GuardedState, newest_batch, record_of

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

__all__ = ["AsksAboutBlocks"]

_ALLOWED: Final[tuple[Literal["approve"], Literal["reject"]]] = ("approve", "reject")


class AsksAboutBlocks(AgentMiddleware[GuardedState, Any, Any]):
    """The hook that asks; its own class, because every `after_model` hook costs a super-step."""

    guard: LoopGuard

    @override
    def after_model(self, state: GuardedState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        calls, answers = newest_batch(state["messages"])
        record = state.get("loopguard")
        if record is None:
            return None
        run = self.guard.resume(record["run"])
        # The same call in the same step gets the verdict it got before, also when this hook is
        # entered again after the answer.
        checked = [
            (call, run.check_call(call["name"], call["args"], call["id"]))
            for call in calls
            if call["id"] not in answers
        ]
        blocked = [(call, verdict) for call, verdict in checked if verdict.action is Action.BLOCK]
        if not blocked:
            return None
        refusals = []
        for (call, verdict), refusal in zip(blocked, _ask(blocked), strict=True):
            if refusal is None:
                run.allow_call(call["name"], call["args"])
                run.check_call(call["name"], call["args"], call["id"])
            else:
                refusals.append(refused(call, refusal or verdict.guidance))
        return {"messages": refusals, "loopguard": record_of(run, record["turn"])}

    @override
    async def aafter_model(
        self, state: GuardedState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        return self.after_model(state, runtime)


def refused(call: ToolCall, why: str) -> ToolMessage:
    """Build the answer to a call that is not executed."""
    return ToolMessage(
        content=why, name=call["name"], tool_call_id=call["id"] or "", status="error"
    )


def _ask(blocked: Sequence[tuple[ToolCall, Verdict]]) -> list[str | None]:
    """Ask a person; return None for an allowed call, else why not (empty: our own words)."""
    request = HITLRequest(
        action_requests=[
            ActionRequest(
                name=call["name"],
                args=call["args"],
                description=" ".join(finding.message for finding in verdict.findings),
            )
            for call, verdict in blocked
        ],
        review_configs=[
            ReviewConfig(action_name=name, allowed_decisions=list(_ALLOWED))
            for name in dict.fromkeys(call["name"] for call, _ in blocked)
        ],
    )
    response = interrupt(request)
    decisions = response.get("decisions") if isinstance(response, Mapping) else None
    if not isinstance(decisions, Sequence) or len(decisions) != len(blocked):
        raise InvalidInputError("decisions", response, f"a list of {len(blocked)} decisions")
    return [_reason(decision, position) for position, decision in enumerate(decisions)]


def _reason(decision: object, position: int) -> str | None:
    kind = decision.get("type") if isinstance(decision, Mapping) else None
    if kind not in _ALLOWED or not isinstance(decision, Mapping):
        raise InvalidInputError(f"decisions[{position}]", decision, "an approve or reject decision")
    return None if kind == "approve" else str(decision.get("message") or "")

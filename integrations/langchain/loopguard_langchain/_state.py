"""Where a run's state lives: a private key of the graph's state, as JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, NotRequired, cast

from langchain.agents.middleware import AgentState
from langchain.agents.middleware.types import PrivateStateAttr
from pydantic import TypeAdapter
from typing_extensions import TypedDict

from loopguard_core import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "BlockedCall",
    "GuardRecord",
    "GuardedState",
    "going_on",
    "record_in",
    "saved_verdict",
    "verdict_in",
]

_VERDICT: Final = TypeAdapter(Verdict)


class BlockedCall(TypedDict):
    """A call that a person is asked about."""

    call_id: str
    reason: str
    """What the person reads."""
    guidance: str
    """What the model reads if the person says no without a word."""


class GuardRecord(TypedDict):
    """What one checkpoint keeps of a guarded run."""

    run: dict[str, object]
    """The snapshot of the run."""
    turn: str | None
    """The id of the person's message that began the turn."""
    head: str | None
    """The id of the first message; it is another one once the history was rewritten."""
    blocked: NotRequired[list[BlockedCall]]
    """The calls of the newest message that a person is to be asked about."""
    halted: NotRequired[dict[str, object]]
    """The verdict that ended the run."""


class GuardedState(AgentState[Any]):
    """An agent's state with a guarded run in it; users neither pass nor get the key."""

    loopguard: NotRequired[Annotated[GuardRecord, PrivateStateAttr]]


def record_in(state: Mapping[str, object]) -> GuardRecord | None:
    """Return what a state keeps of a guarded run, None before the first."""
    return cast("GuardRecord | None", state.get("loopguard"))


def going_on(record: GuardRecord) -> GuardRecord:
    """Return *record* as of a run that nothing ended."""
    kept = record.copy()
    kept.pop("halted", None)
    return kept


def saved_verdict(verdict: Verdict) -> dict[str, object]:
    """Return *verdict* as JSON values."""
    saved: dict[str, object] = _VERDICT.dump_python(verdict, mode="json")
    return saved


def verdict_in(record: GuardRecord) -> Verdict | None:
    """Return the verdict that ended the run; None if none did."""
    saved = record.get("halted")
    return None if saved is None else _VERDICT.validate_python(saved)

"""What placeholders stand for in a turn, and the reply with them replaced, in the graph's state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, SystemMessage, ToolMessage
from typing_extensions import override

from loopguard_core.agent.transclusion import Slots, with_slot_note

from ._batch import newest_person
from ._content import read_content
from ._folds import context_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from langchain_core.messages import BaseMessage
    from langgraph.runtime import Runtime

    from ._folds import ShapedState, TurnSlots

__all__ = ["RAW", "Expands", "expanding", "noted", "slots_of_turn", "with_folded"]

M = TypeVar("M", bound=AgentMiddleware[Any, Any, Any])

RAW: Final = "loopguard_raw"
"""In a result's `additional_kwargs`: what the tool returned, where that was rewritten."""


class Expands(AgentMiddleware[Any, Any, Any]):
    """The hook that puts the reply into the state as a person reads it.

    Only when a run is over is it known what its reply is: the guard, or a limit, may have the last
    word after the model.
    """

    @override
    def after_agent(self, state: ShapedState, runtime: Runtime[Any]) -> dict[str, Any]:
        messages = state["messages"]
        final = messages[-1] if messages else AIMessage("")
        reply = str(final.text)  # a subclass of str, which a checkpoint need not know
        if isinstance(final, AIMessage):  # not what a tool with `return_direct` wrote
            reply = slots_of_turn(messages, _folded_slots(state)).expand(reply)
        return {"expanded_reply": reply}

    @override
    async def aafter_agent(self, state: ShapedState, runtime: Runtime[Any]) -> dict[str, Any]:
        return self.after_agent(state, runtime)


def expanding(cls: type[M]) -> type[M]:
    """Return a subclass of *cls* that has the hook, which costs a super-step of each run."""
    return type(cls.__name__, (cls, Expands), {"__module__": cls.__module__})


def slots_of_turn(messages: Sequence[BaseMessage], folded: TurnSlots | None) -> Slots:
    """Capture the results since the newest message of a person, as their tools returned them.

    Args:
        messages: The thread.
        folded: What is kept of results that were folded.
    """
    start = newest_person(messages)
    slots = Slots(_known(messages, folded))
    _capture(slots, messages[0 if start is None else start :])
    return slots


def with_folded(
    messages: Sequence[BaseMessage], folded: TurnSlots | None, gone: Iterable[int]
) -> TurnSlots:
    """Return what is to be kept when the messages at the indices *gone* are folded, too."""
    start = newest_person(messages)
    slots = Slots(_known(messages, folded))
    _capture(slots, [messages[index] for index in gone if start is None or index > start])
    return {"turn": _turn(messages), "slots": slots.snapshot()}


def noted(system: SystemMessage | None) -> SystemMessage:
    """Return a system message that teaches placeholders; blocks of content stay as they are."""
    if system is None:
        return SystemMessage(with_slot_note(""))
    noted_text = with_slot_note(system.text)
    if isinstance(system.content, str):
        return system.model_copy(update={"content": noted_text})
    note = {"type": "text", "text": noted_text.removeprefix(system.text)}
    return system.model_copy(update={"content": [*system.content, note]})


def _folded_slots(state: ShapedState) -> TurnSlots | None:
    record = context_in(state)
    return record.get("slots") if record else None


def _known(messages: Sequence[BaseMessage], folded: TurnSlots | None) -> dict[str, str] | None:
    turn = _turn(messages)
    return folded["slots"] if folded is not None and turn and folded["turn"] == turn else None


def _turn(messages: Sequence[BaseMessage]) -> str | None:
    start = newest_person(messages)
    return None if start is None else messages[start].id


def _capture(slots: Slots, messages: Iterable[BaseMessage]) -> None:
    for message in messages:
        if isinstance(message, ToolMessage):
            raw = message.additional_kwargs.get(RAW)
            slots.capture(raw if isinstance(raw, str) else read_content(message.content).text)

"""What an agent has written so far in a run: a scratchpad of messages, or of ReAct's steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from llama_index.core.agent.react.types import (
    ActionReasoningStep,
    ObservationReasoningStep,
    ResponseReasoningStep,
)
from llama_index.core.llms import ChatMessage, MessageRole

from ._content import Content, read_message

if TYPE_CHECKING:
    from llama_index.core.agent.workflow import AgentOutput
    from workflows.context.state_store import StateStore

__all__ = ["Draft", "ReActDraft", "ScratchpadDraft", "draft_of"]


class Draft(Protocol):
    """Reads and writes what an agent has said and been told, before it goes into memory."""

    async def said(self, output: AgentOutput) -> Content:
        """Return what the agent said last, without its protocol around it."""
        ...

    async def keep(self, texts: list[str], *, before_last: bool) -> None:
        """Keep what was said and cut: before the latest reply, or behind everything."""
        ...

    async def answer(self, call_id: str, text: str) -> None:
        """Answer a call of the latest reply that is not executed."""
        ...

    async def close(self, text: str) -> None:
        """End the run with *text* as the agent's last words."""
        ...

    async def withdraw(self) -> None:
        """Take the latest reply back."""
        ...


class _Stored:
    """A list in `ctx.store`."""

    def __init__(self, store: StateStore[Any], key: str) -> None:
        self._store = store
        self._key = key

    async def _entries(self) -> list[Any]:
        entries: list[Any] = await self._store.get(self._key, default=[])
        return entries

    async def _add(self, *entries: object, before_last: bool = False) -> None:
        present = await self._entries()
        at = len(present) - before_last
        await self._store.set(self._key, [*present[:at], *entries, *present[at:]])

    async def withdraw(self) -> None:
        await self._store.set(self._key, (await self._entries())[:-1])


class ScratchpadDraft(_Stored):
    """The messages of a `FunctionAgent`."""

    async def said(self, output: AgentOutput) -> Content:
        return read_message(output.response)

    async def keep(self, texts: list[str], *, before_last: bool) -> None:
        kept = [ChatMessage(role=MessageRole.ASSISTANT, content=text) for text in texts]
        await self._add(*kept, before_last=before_last)

    async def answer(self, call_id: str, text: str) -> None:
        told = {"tool_call_id": call_id}
        await self._add(ChatMessage(role=MessageRole.TOOL, content=text, additional_kwargs=told))

    async def close(self, text: str) -> None:
        await self._add(ChatMessage(role=MessageRole.ASSISTANT, content=text))


class ReActDraft(_Stored):
    """The thoughts, actions and observations of a `ReActAgent`."""

    async def said(self, output: AgentOutput) -> Content:
        content = read_message(output.response)
        steps = await self._entries()
        if output.retry_messages or not steps:
            return content
        if isinstance(steps[-1], ActionReasoningStep):
            content.text = ""  # the protocol demands a thought, so an equal one says nothing
        elif isinstance(steps[-1], ResponseReasoningStep):
            content.text = steps[-1].response
        return content

    async def keep(self, texts: list[str], *, before_last: bool) -> None:
        """Keep nothing: a reply that was cut is no step of this protocol."""

    async def answer(self, call_id: str, text: str) -> None:
        del call_id  # its calls have none that last
        await self._add(ObservationReasoningStep(observation=text))

    async def close(self, text: str) -> None:
        await self._add(ResponseReasoningStep(thought=text, response=text))


def draft_of(agent: object, store: StateStore[Any]) -> Draft:
    """Return what *agent* writes on, found by the key that it declares."""
    key = getattr(agent, "scratchpad_key", None)
    if isinstance(key, str):
        return ScratchpadDraft(store, key)
    key = getattr(agent, "reasoning_key", None)
    if isinstance(key, str):
        return ReActDraft(store, key)
    raise TypeError(f"{type(agent).__name__} is neither a function agent nor a ReAct agent")

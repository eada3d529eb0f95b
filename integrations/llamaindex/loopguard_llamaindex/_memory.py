"""`LoopGuardMemory`: a chat memory whose history fits, and which notices a thread in circles."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index.core.memory.chat_memory_buffer import (
    DEFAULT_TOKEN_LIMIT,
    DEFAULT_TOKEN_LIMIT_RATIO,
)
from llama_index.core.memory.types import DEFAULT_CHAT_STORE_KEY, BaseChatStoreMemory
from llama_index.core.storage.chat_store import BaseChatStore, SimpleChatStore
from llama_index.core.storage.chat_store.loading import load_chat_store
from pydantic import Field, PrivateAttr, field_serializer
from typing_extensions import override

from loopguard_core import Action, LoopDetected, LoopGuard, Verdict
from loopguard_core.message import activity_of
from loopguard_core.thread import Trimmer

from ._history import HistoryReading
from ._state import keeper_in, load_state
from ._tool_runs import store_underway
from ._tools import guard_tools

if TYPE_CHECKING:
    from llama_index.core.llms.llm import LLM
    from llama_index.core.tools import BaseTool

    from loopguard_core.tokens import Estimator

__all__ = ["LoopGuardMemory"]

_LOGGER: Final = logging.getLogger("loopguard")
_STEP_MESSAGES: Final[int] = Trimmer.model_fields["step_messages"].default


class LoopGuardMemory(BaseChatStoreMemory):
    """A memory that keeps everything, and reads what fits.

        memory = LoopGuardMemory.from_defaults(token_limit=8_000)
        agent = FunctionAgent(tools=memory.guard_tools(tools), llm=llm)
        await agent.run("...", memory=memory)

    What is read fits `token_limit` by whole exchanges: an assistant message goes with the results
    of its calls. System messages at the head, messages with
    `additional_kwargs={"loopguard_pinned": True}`, the newest exchange, and if possible the newest
    message of a person stay. Messages come back as the very same objects; only an oversized
    result in the newest exchange is cut in its middle, on a copy.

    It also judges what it reads. A thread that goes round is read with a note for the model behind
    it, which is not stored; where the policy halts, reading raises `LoopDetected`, which ends the
    run, whatever `on_halt` says. A memory alone does not see what happens inside a run: tools of
    `guard_tools` add that, for agents that are not guarded themselves. In a guarded agent the
    memory only trims.

    Args:
        chat_store: Where messages are kept.
        chat_store_key: Under which key.
        token_limit: The budget for what is read, at least 1.
        guard: What to watch for and what to do about it; not saved with the memory.
        estimate: Names the tokens of a message; None counts with tiktoken where its vocabulary is
            on the machine, else by characters. Not saved either.
        step_messages: What is left out grows by that many neutral messages at a time, so that
            prompts keep beginning alike and a provider's cache works.
    """

    token_limit: int = Field(ge=1)
    guard: LoopGuard = Field(default_factory=LoopGuard, exclude=True)
    estimate: Callable[..., float] | None = Field(default=None, exclude=True)
    step_messages: int = Field(default=_STEP_MESSAGES, ge=1)
    _reading: HistoryReading = PrivateAttr()

    @field_serializer("chat_store")
    @override
    def serialize_courses_in_order(self, chat_store: BaseChatStore) -> dict[str, Any]:
        """Save the messages; llama-index-core 0.14.25 cannot do it itself with pydantic 2.14."""
        if type(chat_store) is not SimpleChatStore:
            return super().serialize_courses_in_order(chat_store)
        saved = {
            key: [message.model_dump(mode="json") for message in messages]
            for key, messages in chat_store.store.items()
        }
        return {"store": saved, "class_name": chat_store.class_name()}

    @override
    def model_post_init(self, context: Any, /) -> None:
        """Begin to read."""
        super().model_post_init(context)
        self._reading = HistoryReading(self.guard)

    @classmethod
    @override
    def class_name(cls) -> str:
        """Return the name that is saved with it."""
        return "LoopGuardMemory"

    @classmethod
    @override
    def from_defaults(
        cls,
        chat_history: list[ChatMessage] | None = None,
        llm: LLM | None = None,
        chat_store: BaseChatStore | None = None,
        chat_store_key: str = DEFAULT_CHAT_STORE_KEY,
        token_limit: int | None = None,
        guard: LoopGuard | None = None,
        estimate: Estimator | None = None,
        **kwargs: Any,
    ) -> Self:
        """Make a memory as `ChatMemoryBuffer.from_defaults` does.

        Args:
            chat_history: What is in it; replaces what *chat_store* holds under the key.
            llm: Without *token_limit*, three quarters of its context window are the budget.
            chat_store: Where messages are kept; None keeps them in memory.
            chat_store_key: Under which key.
            token_limit: The budget.
            guard: None is `LoopGuard()`.
            estimate: As in the class.
            **kwargs: Further fields of the class.
        """
        if token_limit is None and llm is not None:
            token_limit = int(llm.metadata.context_window * DEFAULT_TOKEN_LIMIT_RATIO)
        store = SimpleChatStore() if chat_store is None else chat_store
        if chat_history is not None:
            store.set_messages(chat_store_key, chat_history)
        return cls(
            chat_store=store,
            chat_store_key=chat_store_key,
            token_limit=DEFAULT_TOKEN_LIMIT if token_limit is None else token_limit,
            guard=guard or LoopGuard(),
            estimate=estimate,
            **kwargs,
        )

    @classmethod
    @override
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """Load what `to_dict` saved; *kwargs* give what is not saved, such as `guard`."""
        fields = {key: value for key, value in data.items() if key != "class_name"}
        if isinstance(fields.get("chat_store"), dict):
            fields["chat_store"] = load_chat_store(dict(fields["chat_store"]))
        return cls(**fields, **kwargs)

    def guard_tools(self, tools: Iterable[BaseTool | Callable[..., Any]]) -> list[BaseTool]:
        """Return guarded copies of *tools*, which tell this memory what happens inside a run.

        Where they cannot do more than block a call, the next reading of the memory ends the run.
        """
        return guard_tools(tools, guard=self.guard)

    @override
    def get(
        self, input: str | None = None, initial_token_count: int = 0, **kwargs: Any
    ) -> list[ChatMessage]:
        """Return the history that fits.

        Args:
            input: What it is read for; not used.
            initial_token_count: What the request costs beside the history.
            **kwargs: Passed on to the chat store.

        Raises:
            LoopDetected: The thread goes round, and the policy halts.
        """
        messages = self.chat_store.get_messages(self.chat_store_key, **kwargs)
        return self._read(messages, initial_token_count, self._reading.judge(messages))

    @override
    async def aget(
        self, input: str | None = None, initial_token_count: int = 0, **kwargs: Any
    ) -> list[ChatMessage]:
        """Return the history that fits; see `get`."""
        messages = await self.chat_store.aget_messages(self.chat_store_key, **kwargs)
        verdict = await self._judge(messages)
        return self._read(messages, initial_token_count, verdict)

    @override
    def set(self, messages: list[ChatMessage]) -> None:
        """Replace the history."""
        super().set(messages)
        self._reading.forget()

    @override
    async def aset(self, messages: list[ChatMessage]) -> None:
        """Replace the history."""
        await super().aset(messages)
        self._reading.forget()

    async def _judge(self, messages: Sequence[ChatMessage]) -> Verdict:
        """Judge the run underway and the history; in a guarded agent that is done already."""
        store = store_underway()
        keeper = None if store is None else await keeper_in(store)
        if store is None or keeper is None:
            return self._reading.judge(messages)
        if keeper == "agent":
            return Verdict()
        state = await load_state(store, self.guard, keeper="tools")
        verdict = Verdict() if state is None else state.halted or state.judge_thread()
        return verdict if verdict.action > Action.ALLOW else self._reading.judge(messages)

    def _read(
        self, messages: Sequence[ChatMessage], beside: int, verdict: Verdict
    ) -> list[ChatMessage]:
        if verdict.action is Action.HALT:
            raise LoopDetected(verdict)
        fitting = self._fit(messages, max(1, self.token_limit - beside))
        if verdict.guidance:
            fitting.append(ChatMessage(role=MessageRole.USER, content=verdict.guidance))
        return fitting

    def _fit(self, messages: Sequence[ChatMessage], budget: int) -> list[ChatMessage]:
        thread = self._reading.as_sent(messages)
        trimmer = Trimmer(
            max_tokens=budget, estimate=self.estimate, step_messages=self.step_messages
        )
        plan = trimmer.plan(thread, pinned=thread.pins)
        if plan.over_budget:
            _LOGGER.warning("a history needs %d tokens, its budget is %d", plan.tokens, budget)
        kept = {thread.native_at(position) for positions in plan.kept for position in positions}
        cut = {thread.native_at(position): part for position, part in plan.replaced.items()}
        # A history of nothing but results without a call holds nothing to send; no model takes an
        # empty one either, so it is left to whoever made it.
        return [_cut(messages[at], cut.get(at)) for at in sorted(kept)] or list(messages)


def _cut(native: ChatMessage, part: Mapping[str, object] | None) -> ChatMessage:
    """Return *native*, or a copy with the result that *part* holds."""
    activity = activity_of(part) if part is not None else None
    if activity is None:
        return native
    others = [block for block in native.blocks if not isinstance(block, TextBlock)]
    blocks = [TextBlock(text=str(activity.result)), *others]
    return native.model_copy(update={"blocks": blocks})

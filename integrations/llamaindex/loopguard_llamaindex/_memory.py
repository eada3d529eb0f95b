"""`LoopGuardMemory`: a chat memory whose history fits, and which notices a thread in circles."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory.chat_memory_buffer import (
    DEFAULT_TOKEN_LIMIT,
    DEFAULT_TOKEN_LIMIT_RATIO,
)
from llama_index.core.memory.types import DEFAULT_CHAT_STORE_KEY
from llama_index.core.storage.chat_store import BaseChatStore, SimpleChatStore
from llama_index.core.storage.chat_store.loading import load_chat_store
from pydantic import Field, field_serializer
from typing_extensions import override

from loopguard_core import Action, InvalidInputError, LoopDetected, LoopGuard, Verdict
from loopguard_core.errors import checked
from loopguard_core.thread import Trimmer

from ._convert import NeutralThread
from ._fitting import fitting
from ._folding_memory import FoldingMemory
from ._pairs import with_answers
from ._shaper import ContextShaper
from ._state import keeper_in, load_state
from ._tool_runs import store_underway
from ._tools import guard_tools

if TYPE_CHECKING:
    from llama_index.core.llms.llm import LLM
    from llama_index.core.tools import BaseTool

    from loopguard_core.tokens import Estimator

__all__ = ["LoopGuardMemory"]

_STEP_MESSAGES: Final[int] = Trimmer.model_fields["step_messages"].default


class LoopGuardMemory(FoldingMemory):
    """A memory that keeps everything, and reads what fits.

        memory = LoopGuardMemory.from_defaults(token_limit=8_000)
        agent = FunctionAgent(tools=memory.guard_tools(tools), llm=llm)
        await agent.run("...", memory=memory)

    What is read fits `token_limit` by whole exchanges: an assistant message goes with the results
    of its calls. System messages at the head, messages with
    `additional_kwargs={"loopguard_pinned": True}`, the newest exchange, and if possible the newest
    message of a person stay. Messages come back as the very same objects; only an oversized
    result in the newest exchange is cut in its middle, on a copy. A call that nobody answered is
    read with an answer that says so, because no provider takes it without one.

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
        shaper: What shortens the history before it is trimmed, which then is the last resort; its
            `policy` has a budget of its own. A fold replaces a part of what is stored, in one
            write, by a summary with `additional_kwargs={"loopguard_compacted": True}`; if the
            history changed while it was summarised nothing is written. A summariser that fails is
            logged, and the history is read without a fold. Not saved with the memory: LlamaIndex
            saves and loads a context that it is given for a further run, and what is not saved is
            gone then. `await ctx.store.set("memory", None)` and `run(..., ctx=ctx, memory=memory)`
            give it the memory itself.
        folds: The record of each fold, oldest first, for as long as a summary is in the history.
    """

    token_limit: int = Field(ge=1)
    estimate: Callable[..., float] | None = Field(default=None, exclude=True)
    step_messages: int = Field(default=_STEP_MESSAGES, ge=1)

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
        shaper: ContextShaper | None = None,
        **kwargs: Any,
    ) -> Self:
        """Make a memory as `ChatMemoryBuffer.from_defaults` does.

        Args:
            chat_history: What is in it; replaces what *chat_store* holds under the key.
            llm: Without *token_limit*, three quarters of its context window are the budget;
                without both, that of *shaper*.
            chat_store: Where messages are kept; None keeps them in memory.
            chat_store_key: Under which key.
            token_limit: The budget.
            guard: None is `LoopGuard()`.
            estimate: As in the class.
            shaper: As in the class.
            **kwargs: Further fields of the class.

        Raises:
            InvalidInputError: An argument cannot be used, by its name.
        """
        cls._check(chat_history, shaper, kwargs)
        if token_limit is None and llm is not None:
            token_limit = int(llm.metadata.context_window * DEFAULT_TOKEN_LIMIT_RATIO)
        if token_limit is None and shaper is not None and shaper.policy.budget_tokens > 0:
            token_limit = shaper.policy.budget_tokens
        store = SimpleChatStore() if chat_store is None else chat_store
        if chat_history is not None:
            store.set_messages(chat_store_key, chat_history)
        return cls(
            chat_store=store,
            chat_store_key=chat_store_key,
            token_limit=DEFAULT_TOKEN_LIMIT if token_limit is None else token_limit,
            guard=checked("guard", guard, LoopGuard),
            estimate=estimate,
            shaper=shaper,
            **kwargs,
        )

    @classmethod
    def _check(cls, chat_history: object, shaper: object, fields: Mapping[str, object]) -> None:
        for name, value in fields.items():
            if name not in cls.model_fields:
                raise InvalidInputError(name, value, "nothing: it is no field of this memory")
        if not _is_history(chat_history):
            raise InvalidInputError("chat_history", chat_history, "a list of ChatMessage or None")
        if not (shaper is None or isinstance(shaper, ContextShaper)):
            raise InvalidInputError("shaper", shaper, "a ContextShaper or None")

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

    def to_string(self) -> str:
        """Return what `from_string` loads."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_string(cls, json_str: str, **kwargs: Any) -> Self:  # noqa: ANN401 - as in from_dict
        """Load what `to_string` saved; see `from_dict`."""
        return cls.from_dict(json.loads(json_str), **kwargs)

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
        verdict = _going_on(self._reading.judge(messages))
        if not kwargs:  # what is read with them may not be all of it, and a fold replaces all
            messages = self._folded(messages, initial_token_count)
        return self._read(messages, initial_token_count, verdict)

    @override
    async def aget(
        self, input: str | None = None, initial_token_count: int = 0, **kwargs: Any
    ) -> list[ChatMessage]:
        """Return the history that fits; see `get`."""
        messages = await self.chat_store.aget_messages(self.chat_store_key, **kwargs)
        verdict = _going_on(await self._judge(messages))
        if not kwargs:  # what is read with them may not be all of it, and a fold replaces all
            messages = await self._afolded(messages, initial_token_count)
        return self._read(messages, initial_token_count, verdict)

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
        read = self._fit(messages, beside)
        if verdict.guidance:
            read.append(ChatMessage(role=MessageRole.USER, content=verdict.guidance))
        return read

    def _fit(self, messages: Sequence[ChatMessage], beside: int) -> list[ChatMessage]:
        if self.shaper is None:
            thread = self._reading.as_sent(messages)
        else:
            shaped = self.shaper.sent(messages, beside_tokens=beside)
            thread = NeutralThread(shaped, as_sent=True)
        trimmer = Trimmer(
            max_tokens=max(1, self.token_limit - beside),
            estimate=self.estimate,
            step_messages=self.step_messages,
        )
        return with_answers(fitting(thread, trimmer))


def _is_history(value: object) -> bool:
    return value is None or (
        isinstance(value, list) and all(isinstance(message, ChatMessage) for message in value)
    )


def _going_on(verdict: Verdict) -> Verdict:
    """Return a verdict with which reading goes on."""
    if verdict.action is Action.HALT:
        raise LoopDetected(verdict)
    return verdict

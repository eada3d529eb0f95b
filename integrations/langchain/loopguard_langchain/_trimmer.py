"""Threads brought into a token budget, in a chain or in front of an agent's model.

As a Runnable it takes messages and returns those that fit. As a middleware it wraps the model
call: what is stored stays whole. It keeps no state.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import (
    BaseMessage,
    MessageLikeRepresentation,
    ToolMessage,
    convert_to_messages,
)
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableConfig
from typing_extensions import override

from loopguard_core import InvalidInputError, Message
from loopguard_core.message import activity_of
from loopguard_core.thread import Trimmer, TrimPlan
from loopguard_core.tokens import Estimator, default_estimator

from ._beside import tool_texts
from ._convert import NeutralThread
from ._results import with_text

__all__ = ["ThreadTrimmer"]

_LOGGER: Final = logging.getLogger("loopguard")
M = TypeVar("M", bound=BaseMessage)
_STEP_MESSAGES: Final[int] = Trimmer.model_fields["step_messages"].default


class ThreadTrimmer(  # type: ignore[misc]  # both bases have a name; the middleware's counts
    AgentMiddleware[Any, Any, Any],
    Runnable[PromptValue | Sequence[MessageLikeRepresentation], list[BaseMessage]],
):
    """Leaves out the oldest messages of a thread, so that the rest fits into a budget.

        trimmer = ThreadTrimmer(max_tokens=8_000)
        agent = create_agent(model, tools, middleware=[trimmer])    # or
        chain = prompt | trimmer | model

    An assistant message goes with the results of its calls, so that no call dangles and no result
    is left alone. System messages at the head, messages with
    `additional_kwargs={"loopguard_pinned": True}`, the newest exchange, and if possible the newest
    message of a person stay. Messages come back as the very same objects; only an oversized
    result in the newest exchange is cut in its middle, on a copy.

    In an agent the system prompt and the tools count against the budget. A thread that cannot be
    brought into it is passed on as short as it gets, and logged as a warning; `plan` says so too.

    Args:
        max_tokens: The budget for the model's input, at least 1.
        estimate: Names the tokens of a message; None counts with tiktoken where its vocabulary is
            on the machine, else by characters.
        step_messages: The cut moves by that many neutral messages at a time, at least 1, so that
            prompts keep beginning alike and a provider's cache works.
        keep_task: False gives the newest message of a person no protection.

    Raises:
        pydantic.ValidationError: An argument cannot be used; the error names it and its value.
    """

    def __init__(
        self,
        *,
        max_tokens: int,
        estimate: Estimator | None = None,
        step_messages: int = _STEP_MESSAGES,
        keep_task: bool = True,
    ) -> None:
        super().__init__()
        self._estimate = estimate or default_estimator()
        self._trimmer = Trimmer(
            max_tokens=max_tokens,
            estimate=self._estimate,
            step_messages=step_messages,
            keep_task=keep_task,
        )

    @override
    def invoke(
        self,
        input: PromptValue | Sequence[MessageLikeRepresentation],
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[BaseMessage]:
        """Return the messages that fit; also of a prompt, and of what becomes messages.

        Raises:
            InvalidInputError: *input* is neither; a graph's state, for one, only holds messages.
        """
        if isinstance(input, str) or not isinstance(input, (PromptValue, Sequence)):
            raise InvalidInputError("input", input, "a sequence of messages, or a prompt")
        return self._trim(convert_to_messages(input), self._trimmer)

    def plan(self, messages: Sequence[BaseMessage]) -> TrimPlan:
        """Say what would be kept, and at what price, without doing it.

        Returns:
            The core's plan. Its positions count neutral messages, of which a message of the model
            can be several. `over_budget` is True if even what must stay is too much.
        """
        thread = NeutralThread(messages, as_sent=True)
        return self._trimmer.plan(thread, pinned=thread.pinned())

    @override
    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Show the model what fits."""
        return handler(self._fitting(request))

    @override
    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Show the model what fits."""
        return await handler(self._fitting(request))

    def _fitting(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        room = max(1, self._trimmer.max_tokens - self._reserve(request))
        trimmer = self._trimmer.model_copy(update={"max_tokens": room})
        return request.override(messages=self._trim(request.messages, trimmer))

    def _reserve(self, request: ModelRequest[Any]) -> int:
        """Return what a request costs beside its messages."""
        beside = list(map(Message.system, tool_texts(request)))
        if request.system_message is not None:
            beside += NeutralThread([request.system_message], as_sent=True)
        return math.ceil(sum(map(self._estimate, beside)))

    def _trim(self, messages: Sequence[M], trimmer: Trimmer) -> list[M]:
        thread = NeutralThread(messages, as_sent=True)
        plan = trimmer.plan(thread, pinned=thread.pinned())
        if plan.over_budget:
            _LOGGER.warning(
                "a thread needs %d tokens, its budget is %d", plan.tokens, trimmer.max_tokens
            )
        kept = {thread.native_at(position) for positions in plan.kept for position in positions}
        cut = {thread.native_at(position): part for position, part in plan.replaced.items()}
        # A thread of nothing but results without a call holds nothing to send; no model takes an
        # empty one either, so it is left to whoever made it.
        return [_cut(messages[at], cut.get(at)) for at in sorted(kept)] or list(messages)


def _cut(native: M, part: Mapping[str, object] | None) -> M:
    """Return *native*, or a copy with the result that *part* holds.

    What a provider executed itself stands inside the model's message, which is never cut.
    """
    activity = activity_of(part) if part is not None else None
    if activity is None or not isinstance(native, ToolMessage):
        return native
    return with_text(native, str(activity.result))

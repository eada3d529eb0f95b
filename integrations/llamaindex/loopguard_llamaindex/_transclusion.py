"""`Transcluding`: an agent whose answers show what its tools returned, where it writes so."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from typing_extensions import override

from loopguard_core.agent.transclusion import Slots, with_slot_note

from ._shaped import with_text
from ._slots import begin_turn, slots_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.agent.workflow.agent_context import AgentContext
    from llama_index.core.memory import BaseMemory
    from llama_index.core.tools import AsyncBaseTool
    from llama_index.core.workflow import Context

__all__ = ["Transcluding", "expanded"]


if TYPE_CHECKING:
    from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent as _Agent
else:
    # A workflow lists its members five times a step, and walks a class once for each way that leads
    # to it: with the agent's class above both parents that cost more than the guard's verdicts.
    _Agent = object


class Transcluding(_Agent):
    """Shows results whole in an answer that has `{OUTPUT}`, or `{name}` for a section of one.

        tools = prepare_tools(tools, max_result_bytes=4_000, transclude=True)
        agent = GuardedFunctionAgent(tools=tools, llm=llm, transclude=True)

    Guarded agents can do it by themselves; put this before the class of another agent:
    `class MyAgent(Transcluding, FunctionAgent): ...`.

    The model is told of the placeholders in what is sent, if it has tools. What streams and what
    goes into memory keeps them; the response of the run has them replaced. What a tool with
    `return_direct` answers, and what LlamaIndex generates at `max_iterations`, is left alone.

    Args:
        transclude: False does nothing.
    """

    transclude: bool = False

    @override
    async def take_step(
        self,
        ctx: AgentContext,
        llm_input: list[ChatMessage],
        tools: Sequence[AsyncBaseTool],
        memory: BaseMemory,
    ) -> AgentOutput:
        """Tell the model how to write placeholders."""
        if self.transclude:
            if await ctx.store.get("num_iterations", default=None) == 0:
                await begin_turn(ctx.store)
            if tools:
                llm_input = _with_note(llm_input, is_react=hasattr(self, "reasoning_key"))
        return await super().take_step(ctx, llm_input, tools, memory)  # type: ignore[safe-super]  # the agent's

    @override
    async def finalize(self, ctx: Context, output: AgentOutput, memory: BaseMemory) -> AgentOutput:
        """Replace the placeholders in what leaves the run, after memory has what was written."""
        output = await super().finalize(ctx, output, memory)  # type: ignore[safe-super]  # the agent's
        if not self.transclude or output.tool_calls:  # these are there after a `return_direct`
            return output
        return _expanded(output, await slots_in(ctx.store))


@overload
async def expanded(answer: AgentOutput, ctx: Context) -> AgentOutput: ...
@overload
async def expanded(answer: str, ctx: Context) -> str: ...
async def expanded(answer: AgentOutput | str, ctx: Context) -> AgentOutput | str:
    """Return an answer with its placeholders replaced, for agents that are not `Transcluding`.

        handler = agent.run("...")
        answer = await expanded(await handler, handler.ctx)

    Such an agent is told of placeholders by `with_slot_note(system_prompt)`. An answer that was
    expanded already must not be expanded again.

    Args:
        answer: What the run returned; not changed. Without calls in its turn it stays as it is. A
            text cannot tell, so that it is expanded with the newest turn that had any.
        ctx: The run's context, with what `prepare_tools(..., transclude=True)` kept there.
    """
    if isinstance(answer, AgentOutput):
        return _expanded(answer, await slots_in(ctx.store)) if answer.tool_calls else answer
    return (await slots_in(ctx.store)).expand(answer)


def _with_note(llm_input: Sequence[ChatMessage], *, is_react: bool) -> list[ChatMessage]:
    """Return the input with the note in its system message.

    A ReAct agent throws that message away, for it has its text already; it gets a second one.
    """
    is_headed = bool(llm_input) and llm_input[0].role == MessageRole.SYSTEM
    head = llm_input[0] if is_headed else ChatMessage(role=MessageRole.SYSTEM)
    rest = llm_input[is_headed:]
    if is_react:
        return [head, ChatMessage(role=MessageRole.SYSTEM, content=with_slot_note("")), *rest]
    return [with_text(head, with_slot_note(head.content or "")), *rest]


def _expanded(output: AgentOutput, slots: Slots) -> AgentOutput:
    response = output.response
    blocks = [
        block.model_copy(update={"text": slots.expand(block.text)})
        if isinstance(block, TextBlock)
        else block
        for block in response.blocks
    ]
    if blocks == response.blocks:
        return output
    shown = response.model_copy(update={"blocks": blocks})
    return output.model_copy(update={"response": shown})

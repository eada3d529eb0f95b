"""The arguments of calls as the model wrote them: mended where that is safe, else refused.

LlamaIndex's integrations guess what arguments that are cut off were to be, and make none of those
that cannot be read; a tool would run with either.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llama_index.core.base.llms.types import ToolCallBlock

from loopguard_core.agent import gate_arguments

from ._prepared_tools import PreparedTool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.agent.workflow import AgentOutput
    from llama_index.core.tools import BaseTool

__all__ = ["with_gated_arguments"]


def with_gated_arguments(output: AgentOutput, tools: Sequence[BaseTool]) -> AgentOutput:
    """Return *output*, with the arguments that the gate lets through, or with stand-ins.

    What the agent keeps of the reply is changed with it: a provider takes no arguments that
    cannot be read. Only arguments that the integration keeps as text are looked at, and only
    those of tools that know a stand-in.

    Args:
        output: What the model asks for.
        tools: What it was offered.
    """
    known = {tool.metadata.name for tool in tools if isinstance(tool, PreparedTool)}
    if not known or not output.tool_calls:
        return output
    blocks = {
        block.tool_call_id: block
        for block in output.response.blocks
        if isinstance(block, ToolCallBlock)
    }
    for call in output.tool_calls:
        block = blocks.get(call.tool_id)
        text = None if block is None else block.tool_kwargs
        if block is not None and isinstance(text, str) and call.tool_name in known:
            fit = gate_arguments(text).stored
            if fit != text:
                block.tool_kwargs = fit
                call.tool_kwargs = json.loads(fit)
    return output

"""Two LlamaIndex agents that pass the work to and fro, stopped; scripted models, offline."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

from llama_index.core.agent.workflow import AgentOutput, AgentWorkflow
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from typing_extensions import override

from loopguard_core import LoggingListener, LoopGuard
from loopguard_llamaindex import GuardedReActAgent, LoopGuardMemory


class Passes(CustomLLM):
    """A model that hands the work to another agent, whatever happened before."""

    to: str

    @property
    @override
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    @override
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        reason = {"to_agent": self.to, "reason": "It is not my task."}
        text = f"Thought: Not me.\nAction: handoff\nAction Input: {json.dumps(reason)}"
        return CompletionResponse(text=text)

    @override
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        response = self.complete(prompt)
        yield CompletionResponse(text=response.text, delta=response.text)


async def main() -> None:
    """Run the workflow; without the guard it ends in an error after 20 steps."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    guard = LoopGuard(listeners=(LoggingListener(),))
    agents = [
        GuardedReActAgent(name=name, description=f"The {name}.", llm=Passes(to=to), guard=guard)
        for name, to in (("writer", "editor"), ("editor", "writer"))
    ]
    workflow = AgentWorkflow(agents=[*agents], root_agent="writer")
    memory = LoopGuardMemory.from_defaults(token_limit=8_000, guard=guard)
    output: AgentOutput = await workflow.run("Write a poem.", memory=memory)
    print(f"\n{output}\n\nreason: {output['loopguard']['detector']}")


if __name__ == "__main__":
    asyncio.run(main())

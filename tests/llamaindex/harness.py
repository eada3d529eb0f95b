"""What the tests of the LlamaIndex adapter share: agents, tools and runs in a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.tools import FunctionTool

from loopguard_core import LoopGuard, Policy
from loopguard_llamaindex import GuardedFunctionAgent, GuardedReActAgent

from .scripted import ScriptedModel, call, reply

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage

DONE = reply("Done.")
CIRCLE = "I will check the file once more to be sure. " * 60


def guard(**policy: Any) -> LoopGuard:
    """Return a guard with the given policy."""
    return LoopGuard(policy=Policy(**policy))


class Reader:
    """A tool that always reads the same, and counts how often it ran."""

    def __init__(self, text: str = "text") -> None:
        self.ran = 0
        self._text = text

    async def read(self, path: str) -> str:
        """Read a file."""
        self.ran += 1
        return self._text

    @property
    def tool(self) -> FunctionTool:
        """The tool."""
        return FunctionTool.from_defaults(async_fn=self.read, name="read")


READ = reply("", call("read", path="a.py"))


def model(*script: Any) -> ScriptedModel:
    """Return a scripted model."""
    return ScriptedModel(script=list(script))


def agent(*script: Any, tools: Any = (), **fields: Any) -> GuardedFunctionAgent:
    """Return a guarded function agent that follows a script."""
    fields.setdefault("streaming", False)
    return GuardedFunctionAgent(tools=list(tools), llm=model(*script), **fields)


def plain(*script: Any, tools: Any = (), **fields: Any) -> FunctionAgent:
    """Return a function agent that nobody guards."""
    fields.setdefault("streaming", False)
    return FunctionAgent(tools=list(tools), llm=model(*script), **fields)


def react(*script: Any, tools: Any = (), guarded: bool = True, **fields: Any) -> ReActAgent:
    """Return a ReAct agent."""
    kind = GuardedReActAgent if guarded else ReActAgent
    fields.setdefault("streaming", False)
    return kind(tools=list(tools), llm=model(*script), **fields)


def asked(runner: FunctionAgent | ReActAgent) -> ScriptedModel:
    """Return the scripted model of an agent, guarded or not."""
    inner = getattr(runner.llm, "llm", runner.llm)
    assert isinstance(inner, ScriptedModel)
    return inner


def pair(first: Any, second: Any, **fields: Any) -> AgentWorkflow:
    """Return a workflow of two guarded agents, `a` and `b`, each with its script."""
    agents = [
        agent(*script, name=name, description=f"Agent {name}.", **fields)
        for name, script in (("a", first), ("b", second))
    ]
    return AgentWorkflow(agents=list(agents), root_agent="a")


def notes(messages: list[ChatMessage]) -> list[str]:
    """Return the texts of loopguard among *messages*."""
    texts = [message.content or "" for message in messages]
    return [text for text in texts if "[loopguard]" in text]


def repeat(step: Any, times: int) -> list[Any]:
    """Return a script that says the same several times, and is done."""
    return [step] * times + [DONE]

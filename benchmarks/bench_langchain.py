"""What the middleware adds to a step of a LangChain agent, on a model that answers at once."""

from __future__ import annotations

import gc
import statistics
import time
from typing import TYPE_CHECKING, Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolCall
from langchain_core.messages.tool import ToolCallChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from timing import report

from loopguard_langchain import LoopGuardMiddleware

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.runnables import Runnable

STEPS = 200
PAIRS = 9
MILLI = 1_000
# 5% of a step whose model answers within 200 ms, which few do.
LIMIT_MS = 10.0
WORDS_A_CHUNK = 2


class Reads(BaseChatModel):
    """Reads one file after the other, with a sentence about each, then is done."""

    steps: int

    def bind_tools(self, tools: object, **_: object) -> Runnable[Any, AIMessage]:
        """Take *tools*."""
        return self.bind(tools=tools)

    @property
    def _llm_type(self) -> str:
        return "reads"

    def _said(self, messages: list[Any]) -> tuple[str, str | None]:
        number = len(messages) // 2
        if number >= self.steps:
            return "That is all there is to read.", None
        return f"File {number} may hold the reason, so I read it next.", f"src/file_{number}.py"

    def _generate(self, messages: list[Any], *_: object, **__: object) -> ChatResult:
        text, path = self._said(messages)
        calls = [ToolCall(name="read", args={"path": path}, id=path)] if path else []
        message = AIMessage(text, tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(
        self, messages: list[Any], *_: object, **__: object
    ) -> Iterator[ChatGenerationChunk]:
        text, path = self._said(messages)
        words = text.split(" ")
        for start in range(0, len(words), WORDS_A_CHUNK):
            piece = " ".join(words[start : start + WORDS_A_CHUNK])
            yield ChatGenerationChunk(message=AIMessageChunk(f"{piece} "))
        if path:
            call = ToolCallChunk(name="read", args=f'{{"path": "{path}"}}', id=path, index=0)
            yield ChatGenerationChunk(message=AIMessageChunk("", tool_call_chunks=[call]))


@tool
def read(path: str) -> str:
    """Read a file."""
    return f"# {path}\n" + "".join(f"value_{n} = compute({n}, {path!r})\n" for n in range(30))


def seconds(*middleware: AgentMiddleware[Any, Any, Any], streamed: bool) -> float:
    """Return how long a run takes; the agent is built outside of it."""
    agent = create_agent(Reads(steps=STEPS), [read], middleware=middleware)
    given: Any = {"messages": [HumanMessage("Why does it fail?")]}
    gc.collect()
    started = time.perf_counter()
    if streamed:
        for _ in agent.stream(given, stream_mode="messages"):
            pass
    else:
        agent.invoke(given)
    return time.perf_counter() - started


def compare(what: str, *, streamed: bool) -> None:
    """Time runs with and without the guard in turn, so that both meet the same machine."""
    seconds(LoopGuardMiddleware(), streamed=streamed)
    pairs = [
        (seconds(streamed=streamed), seconds(LoopGuardMiddleware(), streamed=streamed))
        for _ in range(PAIRS)
    ]
    plain = statistics.median(first for first, _ in pairs) / STEPS * MILLI
    added = statistics.median(second - first for first, second in pairs) / STEPS * MILLI
    report(f"{what}: what the guard adds to a step of {plain:.1f} ms", added, "ms", LIMIT_MS)


if __name__ == "__main__":
    compare("invoke, which the guard makes stream", streamed=False)
    compare("streamed either way", streamed=True)

"""A stuck agent, first alone, then guarded: a real `create_agent` on a scripted model, offline.

Saves both runs as OpenAI chat messages, for `loopguard scan demo-transcripts/*.jsonl`.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, convert_to_openai_messages
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from typing_extensions import override

from loopguard_langchain import LoopGuardMiddleware

if TYPE_CHECKING:
    from collections.abc import Iterator

RECURSION_LIMIT = 200  # the limit that create_agent sets, 9,999, makes 5,000 model calls


class ScriptedModel(GenericFakeChatModel):
    """A model that says what it is given to say; it takes tools and does not look at them."""

    @override
    def bind_tools(self, tools: Any, **kwargs: Any) -> ScriptedModel:
        return self


def same_search_for_ever(asked: list[str]) -> Iterator[AIMessage]:
    """Ask for the same search whatever comes back, and note each time in *asked*."""
    for number in itertools.count():
        asked.append(f"call_{number}")
        call = {"name": "search", "args": {"query": "loopguard"}, "id": asked[-1]}
        yield AIMessage("I will search for it.", tool_calls=[call])


@tool
def search(query: str) -> str:
    """Search the documentation."""
    return f"No results for {query}."


def run(name: str, *middleware: LoopGuardMiddleware) -> None:
    """Run the stuck agent, say how it went, and save what it did."""
    asked: list[str] = []
    model = ScriptedModel(messages=same_search_for_ever(asked))
    agent = create_agent(model, [search], middleware=middleware, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": name}, "recursion_limit": RECURSION_LIMIT}
    try:
        agent.invoke({"messages": [{"role": "user", "content": "What is loopguard?"}]}, config)
        ended = "by itself"
    except GraphRecursionError:
        ended = f"by the recursion limit of {RECURSION_LIMIT}"
    messages = agent.get_state(config).values["messages"]
    print(f"{name}: {len(asked)} model calls, ended {ended}; the last message is\n")
    print(f"    {messages[-1].text}\n")
    folder = Path("demo-transcripts")
    folder.mkdir(exist_ok=True)
    row = {"id": name, "messages": convert_to_openai_messages(messages)}
    (folder / f"{name}.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")


if __name__ == "__main__":
    print("With its default limit, create_agent would let the unguarded run make 5,000 calls.\n")
    run("unguarded")
    run("guarded", LoopGuardMiddleware())

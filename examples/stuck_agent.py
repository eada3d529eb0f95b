"""A stuck agent, first alone, then guarded: a real `create_agent` on a scripted model, offline.

Saves both runs as OpenAI chat messages, for `loopguard scan demo-transcripts/*.jsonl`.
"""

from __future__ import annotations

import json
from pathlib import Path

from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, convert_to_openai_messages
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError

from loopguard_langchain import LoopGuardMiddleware

RECURSION_LIMIT = 200  # the default of create_agent, 9,999, would make 5,000 model calls


class StuckModel(GenericFakeChatModel):
    """Asks for the same search again and again, whatever it is told."""

    def bind_tools(self, tools, **kwargs):  # noqa: ANN001, ANN003, ANN201, D102, ARG002
        return self


def replies():  # noqa: ANN201, D103
    for n in range(10_000):
        call = {"name": "search", "args": {"query": "loopguard"}, "id": f"call_{n}"}
        yield AIMessage("I will search for it.", tool_calls=[call])


@tool
def search(query: str) -> str:
    """Search the documentation."""
    return f"No results for {query}."


def run(name: str, *middleware: LoopGuardMiddleware) -> None:
    """Run the stuck agent, say how it went, and save what it did."""
    model = StuckModel(messages=replies())
    agent = create_agent(
        model, [search], middleware=middleware, checkpointer=InMemorySaver(), name=name
    )
    config = {"configurable": {"thread_id": name}, "recursion_limit": RECURSION_LIMIT}
    try:
        agent.invoke({"messages": [("user", "What is loopguard?")]}, config)
    except GraphRecursionError:
        print(f"{name}: stopped by the recursion limit of {RECURSION_LIMIT}")
    messages = agent.get_state(config).values["messages"]
    calls = sum(isinstance(m, AIMessage) and bool(m.tool_calls) for m in messages)
    print(f"{name}: {calls} model calls that asked for a tool; the last message is:")
    print(f"    {messages[-1].text}\n")
    folder = Path("demo-transcripts")
    folder.mkdir(exist_ok=True)
    row = {"id": name, "messages": convert_to_openai_messages(messages)}
    (folder / f"{name}.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")


if __name__ == "__main__":
    print("With the default recursion limit the unguarded agent would call its model 5,000 times.\n")
    run("unguarded")
    run("guarded", LoopGuardMiddleware())

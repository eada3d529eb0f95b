"""Which run an event belongs to, and that a run is forgotten however it ends."""

from __future__ import annotations

import asyncio
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import before_model
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import LLMResult
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from loopguard_core import LoopDetected, LoopGuard, Policy
from loopguard_core.guard.guidance import without_guidance
from loopguard_langchain import LoopGuardCallbackHandler

from .harness import MODES, blocking_guard, config, drive, failing_tool, search_tool, warning_guard
from .scripted import ScriptedModel, reply, tool_call

HI: dict[str, Any] = {"messages": [HumanMessage("hi")]}
STUCK = reply("", tool_call("search", {"q": "x"}))


def left_behind(handler: LoopGuardCallbackHandler) -> int:
    """Count the runs that the handler still knows."""
    return len(handler._runs)


def test_concurrent_runs_do_not_see_each_other() -> None:
    """Two equal calls are fine; those of eight runs at once must not be added up."""
    search, ran = search_tool()
    handler = LoopGuardCallbackHandler(guard=blocking_guard())

    def run(_: int) -> Any:
        model = ScriptedModel(script=[STUCK, STUCK, reply("Done.")])
        return create_agent(model, [search]).invoke(HI, config(handler))

    async def run_all() -> list[Any]:
        agents = [
            create_agent(ScriptedModel(script=[STUCK, STUCK, reply("Done.")]), [search])
            for _ in range(4)
        ]
        return await asyncio.gather(*(agent.ainvoke(HI, config(handler)) for agent in agents))

    with ThreadPoolExecutor(4) as pool:
        results = [*pool.map(run, range(4)), *asyncio.run(run_all())]
    assert [result["messages"][-1].text for result in results] == ["Done."] * 8
    assert len(ran) == 16
    assert left_behind(handler) == 0


def test_an_agent_inside_a_tool_belongs_to_the_run() -> None:
    """Callbacks are inherited: equal calls of three inner runs are three of this run."""
    search, ran = search_tool()

    @tool
    def delegate(task: str) -> str:
        """Let somebody else do it."""
        inner = create_agent(ScriptedModel(script=[STUCK, reply(f"did {task}")]), [search])
        return inner.invoke(HI)["messages"][-2].text

    script = [reply("", tool_call("delegate", {"task": str(turn)})) for turn in range(3)]
    model = ScriptedModel(script=[*script, reply("Done.")])
    handler = LoopGuardCallbackHandler(guard=blocking_guard())
    create_agent(model, [delegate]).invoke(HI, config(handler))
    assert len(ran) == 2
    assert "not executed" in model.inputs[-1][-1].text
    assert left_behind(handler) == 0


def test_nodes_that_report_no_events_do_not_cut_a_run_in_two() -> None:
    """Hooks of middleware run untraced; what they lie between still has the same root."""

    @before_model
    def look(state: Any, runtime: Any) -> None:
        """Do nothing, in a node of its own."""

    search, ran = search_tool()
    handler = LoopGuardCallbackHandler(guard=blocking_guard())
    agent = create_agent(ScriptedModel(script=[STUCK]), [search], middleware=[look])
    with pytest.raises(LoopDetected):
        agent.invoke(HI, config(handler))
    assert len(ran) == 2


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("where", ["tool", "model"])
def test_nothing_is_left_behind_when_a_run_fails(where: str, mode: str) -> None:
    """An error of the user's own goes through, and the run is forgotten."""
    script = [STUCK] if where == "tool" else [RuntimeError("down")]
    agent = create_agent(ScriptedModel(script=script), [failing_tool()])
    handler = LoopGuardCallbackHandler()
    with pytest.raises((ToolException, RuntimeError)):
        drive(agent, HI, config(handler), mode)
    assert left_behind(handler) == 0


def test_nothing_is_left_behind_when_nobody_reads_on() -> None:
    """A stream that is closed ends its run."""
    search, _ = search_tool()
    handler = LoopGuardCallbackHandler(guard=LoopGuard(policy=Policy.observe()))
    stream = create_agent(ScriptedModel(script=[STUCK]), [search]).stream(HI, config(handler))
    next(stream)
    stream.close()
    assert left_behind(handler) == 0


def test_a_tool_or_a_model_alone_is_a_run() -> None:
    """The outermost run may be anything; refused or not, it is forgotten."""
    search, _ = search_tool()
    handler = LoopGuardCallbackHandler(guard=blocking_guard())
    for _ in range(5):  # each is a run of its own
        search.invoke({"q": "x"}, config(handler))
    ScriptedModel(script=[reply("Hi.")]).invoke("hi", config(handler))
    thread = [message for _ in range(3) for message in (HumanMessage("a"), AIMessage("b"))]
    strict = LoopGuardCallbackHandler(
        guard=LoopGuard(policy=Policy(max_unheeded_nudges=1, on_warn=3))
    )
    with pytest.raises(LoopDetected):
        ScriptedModel(script=[reply("Hi.")]).invoke(thread, config(strict))
    assert left_behind(handler) == left_behind(strict) == 0


def test_an_interrupt_in_a_tool_is_no_failure() -> None:
    """The person is asked as if nobody watched, and the call runs once it is answered."""
    heard: list[Any] = []

    @tool
    def ask(q: str) -> str:
        """Ask a person."""
        return str(interrupt(q))

    batch = [tool_call("ask", {"q": "ok?"}) for _ in range(3)]
    model = ScriptedModel(script=[reply("", *batch), reply("Done.")])
    agent = create_agent(model, [ask], checkpointer=InMemorySaver())
    handler = LoopGuardCallbackHandler(guard=warning_guard(listeners=(heard.append,)))
    thread = {**config(handler), "configurable": {"thread_id": "1"}}
    interrupts = agent.invoke(HI, thread)["__interrupt__"]
    assert heard == []
    answers = {asked.id: str(number) for number, asked in enumerate(interrupts)}
    result = agent.invoke(Command(resume=answers), thread)
    texts = [without_guidance(message.text) for message in result["messages"][-4:]]
    assert sorted(texts) == ["0", "1", "2", "Done."]
    assert left_behind(handler) == 0


def test_nothing_is_left_behind_when_another_handler_refuses_a_tool() -> None:
    """The tool never reports its end then; it is forgotten with the run."""

    class Refuses(BaseCallbackHandler):
        raise_error = run_inline = True

        def on_tool_start(self, *_: Any, **__: Any) -> None:
            raise RuntimeError("not this one")

    search, _ = search_tool()
    handler = LoopGuardCallbackHandler()
    with pytest.raises(RuntimeError):
        create_agent(ScriptedModel(script=[STUCK]), [search]).invoke(
            HI, {"callbacks": [handler, Refuses()]}
        )
    assert left_behind(handler) == 0


def test_retrievers_and_plain_completions_belong_to_the_run() -> None:
    """They are followed and not judged; what they call is a part of the run that they are in."""
    search, _ = search_tool()

    class Retriever(BaseRetriever):
        """Looks things up with a tool."""

        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            if query == "bad":
                raise RuntimeError(query)
            return [Document(str(search.invoke({"q": query})))]

    retriever, completion = Retriever(), FakeListLLM(responses=["x"])
    handler = LoopGuardCallbackHandler(guard=blocking_guard())
    chain = completion | retriever | RunnableLambda(lambda found: found[0].page_content)

    assert chain.invoke("hi", config(handler)) == "nothing for x"
    with pytest.raises(LoopDetected):
        RunnableLambda(lambda _: [chain.invoke("hi") for _ in range(3)]).invoke("", config(handler))
    with pytest.raises(RuntimeError, match="bad"):
        retriever.invoke("bad", config(handler))
    assert left_behind(handler) == 0


def test_a_handler_that_joins_late_is_harmless() -> None:
    """Events of runs that began without it, or are over, say nothing."""
    handler = LoopGuardCallbackHandler()
    unknown = uuid.uuid4()
    handler.on_llm_new_token("x", chunk=None, run_id=unknown)
    handler.on_llm_end(LLMResult(generations=[]), run_id=unknown)
    handler.on_llm_error(RuntimeError(), run_id=unknown)
    handler.on_tool_end("x", run_id=unknown)
    handler.on_tool_error(RuntimeError(), run_id=unknown)
    handler.on_chain_end({}, run_id=unknown)
    assert left_behind(handler) == 0

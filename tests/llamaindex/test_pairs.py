"""Results find their calls, also where an integration gives calls no ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage
from typing_extensions import override

from loopguard_core.agent import ShaperPolicy
from loopguard_core.message import activity_of
from loopguard_llamaindex import (
    ContextShaper,
    GuardedFunctionAgent,
    GuardedLLM,
    LoopGuardMemory,
)
from loopguard_llamaindex._convert import NeutralThread

from .scripted import ScriptedModel, call, reply

if TYPE_CHECKING:
    from llama_index.core.llms.llm import ToolSelection


class WithoutIds(ScriptedModel):
    """A model whose integration makes no ids: `names` goes by the tools' names, as Ollama's."""

    names: bool = False

    @override
    def _with_id(self, block: Any) -> Any:
        return block

    @override
    def get_tool_calls_from_response(self, *args: Any, **kwargs: Any) -> list[ToolSelection]:
        calls = super().get_tool_calls_from_response(*args, **kwargs)
        for made in calls if self.names else ():
            made.tool_id = made.tool_name
        return calls


def read(path: str) -> str:
    """Read a file."""
    return f"text of {path}"


def result(text: str, call_id: str | None, **beside: Any) -> ChatMessage:
    """Return what a tool answered."""
    told = {"tool_call_id": call_id, **beside}
    return ChatMessage(role="tool", content=text, additional_kwargs=told)


MEMORIES = {
    "limit": lambda: LoopGuardMemory.from_defaults(token_limit=9_999),
    "shaper": lambda: LoopGuardMemory.from_defaults(
        shaper=ContextShaper(policy=ShaperPolicy.for_context(20_000))
    ),
}


@pytest.mark.parametrize("kept", MEMORIES)
@pytest.mark.parametrize("parallel", [1, 2])
@pytest.mark.parametrize("call_id", [None, "", "read", "by name"])
@pytest.mark.parametrize("kind", [FunctionAgent, GuardedFunctionAgent])
async def test_all_results_are_sent(
    kind: type[FunctionAgent], call_id: str | None, parallel: int, kept: str
) -> None:
    """Within a run and in the next one, each behind its own reply."""
    names = call_id == "by name"
    block_id = None if names else call_id
    steps = [
        reply("", *[call("read", block_id, path=f"{n}-{step}") for n in range(parallel)])
        for step in range(4)
    ]
    policy = ShaperPolicy.for_context(20_000)
    inside = WithoutIds(script=[*steps, reply("Done."), reply("Well.")], names=names)
    llm = GuardedLLM(llm=inside, shaper=ContextShaper(policy=policy))
    memory = MEMORIES[kept]()
    agent = kind(tools=[read], llm=llm, streaming=False)
    await agent.run("Read them.", memory=memory, max_iterations=40)
    await agent.run("And now?", memory=memory)
    texts = [f"text of {n}-{step}" for step in range(4) for n in range(parallel)]
    for sent in inside.inputs[-2:]:
        assert [m.content for m in sent if m.role == "tool"] == texts


@pytest.mark.parametrize(
    ("calls", "results", "answers"),
    [
        ([("a", None), ("b", None)], [("", {}), ("", {})], ["a", "b"]),
        ([("a", None), ("b", None)], [("b", {}), ("a", {})], ["b", "a"]),
        ([("a", None), ("b", None)], [("", {"name": "b"}), ("", {"name": "a"})], ["b", "a"]),
        ([("a", "x"), ("b", None)], [("", {}), ("x", {})], ["b", "a"]),
        ([("a", "x"), ("b", "x")], [("x", {}), ("x", {})], ["a", "b"]),
        ([("a", "x"), ("b", "y")], [("y", {}), ("x", {})], ["b", "a"]),
        ([("a", "x"), ("b", "y")], [("y", {}), ("z", {})], ["b", ""]),
        ([("a", None)], [("", {}), ("", {})], ["a", ""]),
    ],
)
def test_whose_result_it_is(calls: list[Any], results: list[Any], answers: list[str]) -> None:
    """Ids decide where there are any, then names, then the order."""
    asked = reply("", *[call(name, call_id, n=n) for n, (name, call_id) in enumerate(calls)])
    thread = NeutralThread([asked, *[result("ok", id_, **more) for id_, more in results]])
    read = [activity_of(message) for message in thread]
    assert [a.name for a in read[len(calls) :] if a is not None] == answers
    ids = [message.get("call_id") for message in thread]
    made, given = ids[: len(calls)], ids[len(calls) :]
    assert len(set(made)) == len(made)
    assert [id_ in made for id_ in given] == [bool(name) for name in answers]


def test_a_result_without_an_id_behind_other_talk_answers_nothing() -> None:
    """Only the results right behind a reply are its own."""
    asked = reply("", call("read", None, path="a"))
    talk = ChatMessage(role="user", content="Never mind.")
    thread = NeutralThread([asked, talk, result("late", "")])
    activity = activity_of(list(thread)[-1])
    assert activity is not None
    assert activity.name == ""


def test_a_call_without_an_id_is_answered_by_its_name() -> None:
    """What a shaper makes for a call without a result has no id that was made up here."""
    shaper = ContextShaper(policy=ShaperPolicy.for_context(20_000))
    asked = reply("", call("read", None, path="a"))
    sent = shaper.sent([asked, ChatMessage(role="user", content="Never mind.")])
    assert [m.role.value for m in sent] == ["assistant", "tool", "user"]
    assert sent[1].additional_kwargs["tool_call_id"] == "read"

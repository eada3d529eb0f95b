"""The guard beside LangChain's own middleware, inside and outside of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents.middleware import (
    AgentMiddleware,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    HumanInTheLoopMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    SummarizationMiddleware,
    ToolCallLimitMiddleware,
    ToolRetryMiddleware,
)
from langchain_core.messages import HumanMessage, RemoveMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command

from loopguard_core import LoopDetected, LoopGuard, VerdictEvent

from .agents import DONE, STUCK, finish, guarded, person, reason, thread
from .harness import MODES, assert_sendable, blocking_guard, refusals, search_tool, warning_guard
from .scripted import ScriptedModel, reply, tool_call

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

PLACES = ("before", "after")
NO_PROGRESS = "tool_loop.no_progress"


def summaries(**options: Any) -> SummarizationMiddleware:
    """Return middleware that summarises after a few messages."""
    writer = ScriptedModel(script=[reply("Nothing was found so far.")])
    limits: dict[str, Any] = {"trigger": ("messages", 6), "keep": ("messages", 3), **options}
    return SummarizationMiddleware(model=writer, **limits)


@pytest.mark.parametrize("guard", [blocking_guard(), LoopGuard()], ids=["calls", "default"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("mode", MODES)
def test_a_summary_does_not_hide_a_loop(mode: str, place: str, guard: LoopGuard) -> None:
    """LC34: a history that is replaced takes nothing of what was counted with it."""
    search, _ = search_tool()
    model = ScriptedModel(script=[STUCK])
    agent = guarded(model, search, guard=guard, **{place: [summaries()]})
    messages = finish(agent, person(), mode=mode)["messages"]
    assert reason(messages)
    assert model.calls <= 12
    assert_sendable(messages)
    for sent in model.inputs:
        assert_sendable(sent)


@pytest.mark.parametrize("place", PLACES)
def test_a_summary_is_no_message_of_a_person(place: str) -> None:
    """It has the type of one, but begins no turn, even where the person's own is gone."""
    search, ran = search_tool()
    others = [reply("", tool_call("search", {"q": str(n)})) for n in range(3)]
    model = ScriptedModel(script=[STUCK, *others, STUCK, DONE, STUCK, DONE])
    saver = InMemorySaver()
    agent = guarded(
        model, search, guard=blocking_guard(), checkpointer=saver, **{place: [summaries()]}
    )
    first = finish(agent, person("the task"))["messages"]
    assert "the task" not in str(first)
    messages = finish(agent, {"messages": []})["messages"]
    assert ran.count("x") == 2
    assert len(refusals(messages)) == 1


def test_a_model_that_starts_over_after_a_summary_is_found_sooner() -> None:
    """The run hears of a history that was rewritten."""
    heard: list[VerdictEvent] = []
    guard = blocking_guard().model_copy(
        update={"tool_loop": LoopGuard().tool_loop, "listeners": (heard.append,)}
    )
    search, ran = search_tool()
    numbers = iter(range(99))

    def step(messages: list[BaseMessage]) -> Any:
        if "summary" in str(messages[0].content):
            return STUCK
        return reply("", tool_call("search", {"q": f"{next(numbers)}"}))

    once = summaries(trigger=("messages", 20), keep=("messages", 2))
    agent = guarded(ScriptedModel(script=[step]), search, guard=guard, after=[once])
    messages = finish(agent, person())["messages"]
    assert reason(messages) == "tool_loop.post_compaction"
    assert ran.count("x") == 3


def test_a_healthy_run_goes_on_over_summaries() -> None:
    """Summaries alone are no evidence of anything."""
    search, ran = search_tool()
    numbers = iter(range(99))
    steps = [lambda _: reply("", tool_call("search", {"q": f"{next(numbers)}"}))] * 20
    model = ScriptedModel(script=[*steps, DONE])
    agent = guarded(model, search, before=[summaries()])
    messages = finish(agent, person(), thread(limit=100))["messages"]
    assert len(ran) == 20
    assert messages[-1].content == "Done."
    assert "[loopguard]" not in str(model.inputs)


@pytest.mark.parametrize("guard", [blocking_guard(), LoopGuard()], ids=["calls", "default"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("mode", MODES)
def test_editing_the_context_does_not_hide_a_loop(mode: str, place: str, guard: LoopGuard) -> None:
    """LC33: the guard reads what is stored, however little of it is sent."""
    editing = ContextEditingMiddleware(
        edits=[ClearToolUsesEdit(trigger=1, keep=1, clear_tool_inputs=True)]
    )
    search, _ = search_tool()
    model = ScriptedModel(script=[STUCK])
    messages = finish(
        guarded(model, search, guard=guard, **{place: [editing]}), person(), mode=mode
    )["messages"]
    assert reason(messages)
    assert model.calls <= 12
    assert "[cleared]" in str(model.inputs)
    assert_sendable(messages)
    for sent in model.inputs:
        assert_sendable(sent)


@pytest.mark.parametrize("place", PLACES)
def test_a_nudge_reaches_the_model_through_an_edited_context(place: str) -> None:
    """Whether the request has the stored results or copies of them, the model is told."""
    editing = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=1, keep=1)])
    search, _ = search_tool()
    model = ScriptedModel(script=[*[STUCK] * 3, DONE])
    finish(guarded(model, search, **{place: [editing]}), person())
    assert "[loopguard]" in str(model.inputs[-1])


def test_a_nudge_whose_result_was_taken_out_of_the_request_is_told_all_the_same() -> None:
    """Middleware outside the guard may send whatever it likes."""

    class SendsTheTaskAlone(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(messages=request.messages[:1]))

    search, _ = search_tool()
    model = ScriptedModel(script=[*[STUCK] * 3, DONE])
    finish(guarded(model, search, guard=warning_guard(), before=[SendsTheTaskAlone()]), person())
    assert isinstance(model.inputs[-1][-1], HumanMessage)
    assert "[loopguard]" in str(model.inputs[-1][-1].content)


def test_trimming_the_stored_history_does_not_hide_a_loop() -> None:
    """A hook that forgets the oldest messages at every step is read through."""

    class Forgets(AgentMiddleware):
        def before_model(self, state: Any, runtime: Any) -> Any:  # noqa: ARG002 - a hook
            messages = state["messages"]
            if len(messages) < 7:
                return None
            return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), messages[0], *messages[-4:]]}

    search, _ = search_tool()
    messages = finish(guarded(ScriptedModel(script=[STUCK]), search, after=[Forgets()]), person())[
        "messages"
    ]
    assert reason(messages)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("mode", MODES)
def test_a_model_call_that_is_retried_counts_once(mode: str, place: str) -> None:
    """A failed attempt leaves nothing behind, wherever the retry stands."""
    search, ran = search_tool()
    retry = ModelRetryMiddleware(max_retries=1, initial_delay=0, jitter=False)
    script = [STUCK, ConnectionError("gone"), STUCK, ConnectionError("gone"), STUCK, DONE]
    agent = guarded(
        ScriptedModel(script=script), search, guard=blocking_guard(), **{place: [retry]}
    )
    messages = finish(agent, person(), mode=mode)["messages"]
    assert len(ran) == 2
    assert len(refusals(messages)) == 1
    assert messages[-1].content == "Done."
    assert_sendable(messages)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("mode", MODES)
def test_a_fallback_model_is_guarded(mode: str, place: str) -> None:
    """Calls are judged whoever made them."""
    search, ran = search_tool()
    second = ScriptedModel(script=[STUCK])
    agent = guarded(
        ScriptedModel(script=[ConnectionError("gone")]),
        search,
        guard=blocking_guard(),
        **{place: [ModelFallbackMiddleware(second)]},
    )
    messages = finish(agent, person(), mode=mode)["messages"]
    assert len(ran) == 2
    assert reason(messages) == NO_PROGRESS


def test_a_halt_that_raises_goes_through_a_retry_inside_the_guard() -> None:
    """The exception is the guard's own, and nothing between it and the model sees it."""
    search, _ = search_tool()
    retry = ModelRetryMiddleware(max_retries=5, initial_delay=60)
    agent = guarded(
        ScriptedModel(script=[STUCK]), search, guard=blocking_guard(on_halt="raise"), after=[retry]
    )
    with pytest.raises(LoopDetected):
        finish(agent, person())


@pytest.mark.parametrize("place", PLACES)
def test_other_limits_on_calls_and_the_guard_answer_a_call_once(place: str) -> None:
    """LangChain's limit answers calls too; what one refused the other does not count."""
    search, _ = search_tool()
    limit = ToolCallLimitMiddleware(run_limit=3, exit_behavior="continue")
    model = ScriptedModel(script=[STUCK])
    agent = guarded(model, search, guard=blocking_guard(max_blocks_in_row=5), **{place: [limit]})
    messages = finish(agent, person())["messages"]
    assert reason(messages)
    assert_sendable(messages)


def test_a_refused_call_is_not_retried_as_a_tool() -> None:
    """A refusal is no failure of a tool."""
    search, ran = search_tool()
    retry = ToolRetryMiddleware(max_retries=3, initial_delay=0, jitter=False)
    agent = guarded(ScriptedModel(script=[STUCK]), search, guard=blocking_guard(), after=[retry])
    assert reason(finish(agent, person())["messages"]) == NO_PROGRESS
    assert len(ran) == 2


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_a_person_who_is_asked_about_a_refused_call_leaves_a_valid_thread(
    decision: str, place: str
) -> None:
    """LangChain's own middleware asks about refused calls too; a call keeps one answer."""
    search, ran = search_tool()
    asks = HumanInTheLoopMiddleware(interrupt_on={"search": True})
    both = reply("", tool_call("search", {"q": "x"}), tool_call("search", {"q": "y"}))
    model = ScriptedModel(script=[STUCK, STUCK, both, DONE])
    agent = guarded(
        model, search, guard=blocking_guard(), checkpointer=InMemorySaver(), **{place: [asks]}
    )
    yes = {"type": "approve"}
    finish(agent, person())
    for decisions in ([yes], [yes], [{"type": decision}, yes]):
        messages = finish(agent, Command(resume={"decisions": decisions}))["messages"]
    assert ran == ["x", "x", "y"]
    assert messages[-1].content == "Done."
    assert_sendable(messages)
    assert_sendable(model.inputs[-1])
    answers = [m for m in messages if isinstance(m, ToolMessage) and m.status == "error"]
    assert len(answers) == 1
    assert (answers[0] in refusals(messages)) is (decision == "approve")


def test_a_person_may_edit_a_call_that_the_guard_let_through() -> None:
    """What runs in its place is observed without harm."""
    search, ran = search_tool()
    asks = HumanInTheLoopMiddleware(interrupt_on={"search": True})
    agent = guarded(
        ScriptedModel(script=[STUCK, DONE]), search, checkpointer=InMemorySaver(), after=[asks]
    )
    finish(agent, person())
    edit = {"type": "edit", "edited_action": {"name": "search", "args": {"q": "better"}}}
    messages = finish(agent, Command(resume={"decisions": [edit]}))["messages"]
    assert ran == ["better"]
    assert messages[-1].content == "Done."


def test_thread_ids_are_not_needed() -> None:
    """LC26: a run without any id in its config is guarded like another."""
    search, _ = search_tool()
    agent = guarded(ScriptedModel(script=[STUCK]), search, guard=blocking_guard())
    assert reason(agent.invoke(person(), {"recursion_limit": 60})["messages"]) == NO_PROGRESS
    assert thread()["configurable"]

"""`on_block="ask"`: a person is asked about blocked calls, in LangChain's own form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from loopguard_core import LoopGuard, Policy
from loopguard_core.errors import InvalidInputError
from loopguard_langchain import LoopGuardMiddleware

from .agents import DONE, STUCK, finish, guarded, person, reason, thread
from .harness import MODES, assert_sendable, blocking_guard, refusals, search_tool
from .scripted import ScriptedModel, reply, tool_call

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from loopguard_core import VerdictEvent

X = tool_call("search", {"q": "x"})
Y = tool_call("search", {"q": "y"})
YES = {"type": "approve"}
NO = {"type": "reject"}


def asking_guard(**policy: Any) -> LoopGuard:
    """Return a guard that asks about the third equal call."""
    return blocking_guard(on_block="ask", **policy)


def answered(*decisions: Any) -> Command[Any]:
    """Return the input that answers an interrupt."""
    return Command(resume={"decisions": list(decisions)})


def interrupts(agent: Any) -> list[Any]:
    """Return what a thread waits for."""
    return [i.value for task in agent.get_state(thread()).tasks for i in task.interrupts]


def asked(
    *script: Any, guard: LoopGuard | None = None, **options: Any
) -> tuple[Any, ScriptedModel, list[str]]:
    """Return an agent whose third reply has calls to be asked about, its model and its runs."""
    search, ran = search_tool()
    model = ScriptedModel(script=[STUCK, STUCK, *script])
    options.setdefault("checkpointer", InMemorySaver())
    return guarded(model, search, guard=guard or asking_guard(), **options), model, ran


@pytest.mark.parametrize("mode", MODES)
def test_one_interrupt_asks_about_all_blocked_calls_of_a_message(mode: str) -> None:
    """The request has the form of `HumanInTheLoopMiddleware`; nothing runs before the answer."""
    other = reply("", tool_call("search", {"q": "y"}))
    search, ran = search_tool()
    model = ScriptedModel(script=[STUCK, other, STUCK, other, reply("", X, tool_call("other"), Y)])
    agent = guarded(model, search, guard=asking_guard(), checkpointer=InMemorySaver())
    finish(agent, person(), mode=mode)
    (request,) = interrupts(agent)
    assert [r["name"] for r in request["action_requests"]] == ["search", "search"]
    assert [r["args"] for r in request["action_requests"]] == [{"q": "x"}, {"q": "y"}]
    assert "was called" in request["action_requests"][0]["description"]
    assert request["review_configs"] == [
        {"action_name": "search", "allowed_decisions": ["approve", "reject"]}
    ]
    assert ran == ["x", "y", "x", "y"]


@pytest.mark.parametrize("mode", MODES)
def test_an_allowed_call_runs_and_its_count_starts_over(mode: str) -> None:
    """After a yes it takes as many equal results as before until somebody is asked again."""
    agent, model, ran = asked(STUCK)
    finish(agent, person(), mode=mode)
    assert (len(ran), len(interrupts(agent))) == (2, 1)
    finish(agent, answered(YES), mode=mode)
    assert (len(ran), len(interrupts(agent))) == (4, 1)
    finish(agent, answered(YES), mode=mode)
    assert (len(ran), len(interrupts(agent))) == (6, 1)
    assert model.calls == 7  # asked about the third, fifth and seventh call


@pytest.mark.parametrize(
    ("decision", "text"),
    [(NO, "This call was not executed."), ({**NO, "message": "Ask Ann instead."}, "Ask Ann")],
    ids=["without-a-word", "with-a-message"],
)
@pytest.mark.parametrize("mode", MODES)
def test_a_refused_call_is_answered(mode: str, decision: Any, text: str) -> None:
    """The model reads what the person said, or else the guidance."""
    agent, model, ran = asked(STUCK, DONE)
    finish(agent, person(), mode=mode)
    messages = finish(agent, answered(decision), mode=mode)["messages"]
    assert len(ran) == 2
    assert text in str(messages[-2].content)
    assert messages[-2].status == "error"
    assert model.inputs[-1][-1].content == messages[-2].content
    assert_sendable(messages)


@pytest.mark.parametrize("mode", MODES)
def test_decisions_are_taken_one_by_one(mode: str) -> None:
    """Of two blocked calls one may run and the other not; what was not blocked runs anyway."""
    other = reply("", Y)
    search, ran = search_tool()
    batch = reply("", X, Y, tool_call("search", {"q": "z"}))
    model = ScriptedModel(script=[STUCK, other, STUCK, other, batch, DONE])
    agent = guarded(model, search, guard=asking_guard(), checkpointer=InMemorySaver())
    finish(agent, person(), mode=mode)
    messages = finish(agent, answered(NO, YES), mode=mode)["messages"]
    assert sorted(ran[4:]) == ["y", "z"]
    assert len(refusals(messages)) == 1
    assert_sendable(messages)


def test_three_refusals_in_a_row_end_the_run() -> None:
    """A model that does not take a person's no is stopped as any other; nobody is asked again."""
    agent, model, ran = asked(STUCK)
    finish(agent, person())
    finish(agent, answered(NO))
    messages = finish(agent, answered(NO))["messages"]
    assert reason(messages) == "tool_loop.no_progress"
    assert (len(ran), model.calls) == (2, 5)
    assert not interrupts(agent)
    assert_sendable(messages)


@pytest.mark.parametrize(
    "answer",
    [
        "yes",
        {"decision": YES},
        [YES],
        {"decisions": []},
        {"decisions": [YES, YES]},
        {"decisions": "approve"},
        {"decisions": ["approve"]},
        {"decisions": [{"type": "edit", "edited_action": {"name": "search", "args": {}}}]},
        {"decisions": [{}]},
    ],
    ids=str,
)
def test_an_answer_in_another_form_is_a_clear_error_and_can_be_given_again(answer: Any) -> None:
    """It names the field and the value; the run still waits, and nothing was counted."""
    agent, _, ran = asked(STUCK, DONE)
    finish(agent, person())
    with pytest.raises(InvalidInputError, match="decisions") as caught:
        finish(agent, Command(resume=answer))
    assert "decision" in str(caught.value)
    messages = finish(agent, answered(YES))["messages"]
    assert len(ran) == 3
    assert messages[-1].content == "Done."


def test_a_person_is_asked_in_another_process() -> None:
    """The question and its answer need nothing of the objects that asked."""
    saver = InMemorySaver()
    agent, _, _ = asked(STUCK, checkpointer=saver)
    finish(agent, person())
    search, ran = search_tool()
    model = ScriptedModel(script=[DONE])
    other = guarded(model, search, guard=asking_guard(), checkpointer=saver)
    messages = finish(other, answered(YES))["messages"]
    assert ran == ["x"]
    assert messages[-1].content == "Done."


@pytest.mark.parametrize("mode", MODES)
def test_the_model_is_not_asked_again_for_an_answer(mode: str) -> None:
    """LC42, LC43: the hook is entered once more and the turn goes on; no reply is paid twice."""
    heard: list[VerdictEvent] = []
    agent, model, _ = asked(STUCK, DONE, guard=asking_guard(listeners=(heard.append,)))
    finish(agent, person(), mode=mode)
    assert model.calls == 3
    finish(agent, answered(YES), mode=mode)
    assert model.calls == 4
    assert [event.verdict.action.name for event in heard if event.kind == "call"] == ["BLOCK"]


@pytest.mark.parametrize("mode", MODES)
def test_without_a_checkpointer_the_run_ends_with_the_question(mode: str) -> None:
    """LC44: nothing says so but the result; the docstring does."""
    agent, model, ran = asked(STUCK, checkpointer=None)
    finish(agent, person(), mode=mode)
    assert (model.calls, len(ran)) == (3, 2)
    assert "needs a checkpointer" in str(LoopGuardMiddleware.__doc__)


def test_a_new_message_instead_of_an_answer_is_a_new_turn() -> None:
    """Whoever does not answer but says something else starts over."""
    agent, _, ran = asked(STUCK, STUCK, DONE)
    finish(agent, person())
    finish(agent, person("never mind"))
    assert len(ran) == 3
    assert not interrupts(agent)


def test_an_agent_that_nobody_is_asked_by_has_no_hook_for_it() -> None:
    """LC35: each hook costs a super-step, so only the policy that asks has one."""
    plain, asks = (
        LoopGuardMiddleware(guard=LoopGuard(policy=Policy(on_block=way))) for way in ("tell", "ask")
    )
    assert type(plain) is LoopGuardMiddleware
    assert type(plain).after_model is AgentMiddleware.after_model
    assert type(asks).after_model is not AgentMiddleware.after_model
    assert isinstance(asks, LoopGuardMiddleware)
    assert type(asks).__name__ == "LoopGuardMiddleware"


class Named(LoopGuardMiddleware):
    """A subclass with a constructor of its own, as users write them."""

    def __init__(self, label: str, *, asks: bool) -> None:
        super().__init__(guard=asking_guard() if asks else None)
        self.label = label


class Hooked(LoopGuardMiddleware):
    """A subclass that has the hook itself."""

    entered = 0

    def after_model(self, state: Any, runtime: Any) -> Any:
        """Count, and do what the hook does anyway."""
        parent: Any = super()
        self.entered += 1
        return parent.after_model(state, runtime)


@pytest.mark.parametrize(
    "make", [lambda: Named("n", asks=True), lambda: Hooked(guard=asking_guard())]
)
@pytest.mark.parametrize("mode", MODES)
def test_a_subclass_asks_too(mode: str, make: Any) -> None:
    """Whatever its constructor takes, and whatever hooks it has."""
    search, ran = search_tool()
    model = ScriptedModel(script=[STUCK, STUCK, STUCK, DONE])
    guard = make()
    agent = create_agent(model, [search], middleware=[guard], checkpointer=InMemorySaver())
    finish(agent, person(), mode=mode)
    assert len(interrupts(agent)) == 1
    messages = finish(agent, answered(YES), mode=mode)["messages"]
    assert len(ran) == 3
    assert messages[-1].content == "Done."
    assert getattr(guard, "entered", 5) == 5  # once for each reply, and once for the answer


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize("answers", [(YES, YES), (YES, NO), (NO,)], ids=["yes", "no", "first-no"])
def test_langchains_own_questions_and_ours_do_not_mix(answers: Any, place: str) -> None:
    """A person who is asked about every call is asked about a blocked one once more, if allowed."""
    asks = HumanInTheLoopMiddleware(interrupt_on={"search": True})
    agent, _, ran = asked(STUCK, DONE, **{place: [asks]})
    finish(agent, person())
    for _ in range(2):
        finish(agent, answered(YES))
    assert len(ran) == 2
    for answer in answers:
        if interrupts(agent):
            finish(agent, answered(answer))
    while interrupts(agent):
        finish(agent, answered(answers[-1]))
    messages: list[BaseMessage] = agent.get_state(thread()).values["messages"]
    assert messages[-1].content == "Done."
    assert len(ran) == (3 if set(map(str, answers)) == {str(YES)} else 2)
    assert_sendable(messages)


def test_many_calls_of_a_batch_are_not_asked_about() -> None:
    """Only what was blocked is, however many calls a message has."""
    many = reply("", *[tool_call("search", {"q": str(n // 3)}) for n in range(99)], X)
    agent, _, ran = asked(many, DONE)
    finish(agent, person())
    (request,) = interrupts(agent)
    assert [r["args"] for r in request["action_requests"]] == [{"q": "x"}]
    finish(agent, answered(NO))
    assert len(ran) == 101

"""`ContextShaper` in real agents: what the model is sent, and what the thread keeps."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langgraph.checkpoint.memory import InMemorySaver

from loopguard_core import InvalidInputError, LoopGuard, Policy
from loopguard_core.agent import ShaperPolicy
from loopguard_langchain import ContextShaper, LoopGuardMiddleware

from .agents import finish, person, thread
from .harness import MODES, assert_sendable
from .scripted import ScriptedModel, reply, tool_call

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from loopguard_core.agent import FoldRecord

POLICY = ShaperPolicy(
    budget_tokens=1_000,
    lod_headroom_tokens=-1,
    preserve_last_messages=3,
    preserve_last_tool_calls=2,
    lod_truncate_above_chars=400,
)
SMALL = POLICY.model_copy(update={"lod_truncate_above_chars": 0, "budget_tokens": 600})


def rounds(count: int, size: int = 600) -> list[BaseMessage]:
    """Return a thread of questions, calls, results and answers."""
    messages: list[BaseMessage] = []
    for number in range(count):
        call = tool_call("search", {"q": str(number)}, f"c{number}")
        messages += [
            HumanMessage(f"question {number}", id=f"h{number}"),
            AIMessage("", tool_calls=[call], id=f"a{number}"),
            ToolMessage("r" * size, tool_call_id=f"c{number}", name="search", id=f"t{number}"),
            AIMessage(f"answer {number}", id=f"d{number}"),
        ]
    return messages


def search(q: str) -> str:
    """Search."""
    return f"<report>{q}</report>" + "x" * 900


def agent(model: ScriptedModel, *middleware: Any, **options: Any) -> Any:
    """Return an agent with one tool."""
    return create_agent(model, [search], middleware=middleware, **options)


@pytest.mark.parametrize("mode", MODES)
def test_stubs_are_sent_and_not_stored(mode: str) -> None:
    """The model gets short results, the thread keeps long ones, and the rest are its objects."""
    model = ScriptedModel(script=[reply("Done.")])
    given = [*rounds(5, size=900), HumanMessage("now", id="now")]
    end = finish(agent(model, ContextShaper(policy=POLICY)), {"messages": given}, mode=mode)
    sent = model.inputs[-1]
    assert (
        next(message.text[:10] for message in sent if isinstance(message, ToolMessage))
        == "[truncated"
    )
    assert [message.text for message in end["messages"][:-1]] == [m.text for m in given]
    assert len(sent) == len(given)
    assert_sendable(sent)


@pytest.mark.parametrize("mode", MODES)
def test_a_fold_persists_and_is_recorded(mode: str) -> None:
    """A summary takes the place of the oldest part, in the thread and in the next turn."""
    model = ScriptedModel(script=[reply("Done.")])
    folds: list[FoldRecord] = []
    shaper = ContextShaper(policy=SMALL, summarizer=lambda _: "it was so", on_fold=folds.append)
    some = agent(model, shaper, checkpointer=InMemorySaver())
    given = [*rounds(5), HumanMessage("now", id="now")]
    end = finish(some, {"messages": given}, thread(), mode=mode)
    kept = [message.text for message in end["messages"]]
    assert kept[0] == "[compacted]\nit was so"
    assert kept[-2:] == ["now", "Done."]
    assert len(kept) < len(given)
    assert model.inputs[-1][0].text == kept[0]
    assert_sendable(model.inputs[-1])
    state = some.get_state(thread()).values["loopguard_context"]
    assert [record["summary"] for record in state["folds"]] == ["it was so"]
    assert folds[0].tokens_before > SMALL.budget_tokens >= folds[0].tokens_after
    again = finish(some, person("and then?"), thread(), mode=mode)
    assert [m.text for m in again["messages"]][: len(kept)] == kept
    assert len(folds) == 1


def test_a_second_fold_takes_the_first_summary_along() -> None:
    """One summary stands at the head, however often a thread is folded."""
    model = ScriptedModel(script=[reply("Done.")])
    prompts: list[str] = []

    def summarize(prompt: str) -> str:
        prompts.append(prompt)
        return f"summary {len(prompts)}"

    some = agent(
        model, ContextShaper(policy=SMALL, summarizer=summarize), checkpointer=InMemorySaver()
    )
    finish(some, {"messages": [*rounds(5), HumanMessage("now")]}, thread())
    more = [message.model_copy(update={"id": None}) for message in rounds(5)]
    end = finish(some, {"messages": [*more, HumanMessage("again")]}, thread())
    texts = [message.text for message in end["messages"]]
    assert texts[0] == "[compacted]\nsummary 2"
    assert sum("[compacted]" in text for text in texts) == 1
    assert "summary 1" in prompts[1]


@pytest.mark.parametrize("outer", [True, False])
def test_a_fold_arms_the_guard(monkeypatch: pytest.MonkeyPatch, *, outer: bool) -> None:
    """The guard's run hears of a compaction, whichever middleware comes first."""
    heard: list[bool] = []
    monkeypatch.setattr(
        "loopguard_core.guard.run.GuardedRun.context_compacted", lambda _: heard.append(True)
    )
    model = ScriptedModel(script=[reply("", tool_call("search", {"q": "x"})), reply("Done.")])
    both = [LoopGuardMiddleware(), ContextShaper(policy=SMALL, summarizer=lambda _: "so")]
    some = agent(model, *(both if outer else reversed(both)))
    end = finish(some, {"messages": [*rounds(5), HumanMessage("now", id="now")]})
    assert end["messages"][-1].text == "Done."
    assert heard == [True]


def test_the_summariser_is_not_streamed() -> None:
    """Whoever streams the messages of a run sees the answer, and no summary."""
    writer = ScriptedModel(script=[reply("a secret summary")])
    model = ScriptedModel(script=[reply("Done.")])
    some = agent(model, ContextShaper(policy=SMALL, summarizer=writer))
    pieces = [
        piece.text
        for piece, _ in some.stream(
            {"messages": [*rounds(5), HumanMessage("now")]}, stream_mode="messages"
        )
        if isinstance(piece, AIMessage)
    ]
    assert writer.calls == 1
    assert "secret" not in "".join(pieces)
    assert "Done." in "".join(pieces)


@pytest.mark.parametrize("way", ["model", "bound", "chain", "method"])
def test_whatever_answers_can_summarise(way: str) -> None:
    """A model, a Runnable made of one, and a callable that returns what the model said."""
    writer = ScriptedModel(script=[reply("it was so")])
    summarizer: Any = {
        "model": writer,
        "bound": writer.bind(stop=["x"]),
        "chain": writer | StrOutputParser(),
        "method": writer.invoke,
    }[way]
    some = agent(
        ScriptedModel(script=[reply("ok")]), ContextShaper(policy=SMALL, summarizer=summarizer)
    )
    end = finish(some, {"messages": [*rounds(5), HumanMessage("now")]})
    assert end["messages"][0].text == "[compacted]\nit was so"


async def test_a_summariser_may_wait() -> None:
    """A coroutine function works under `ainvoke`, and is named in the error under `invoke`."""

    async def summarize(prompt: str) -> str:
        return f"{len(prompt)} characters"

    some = agent(
        ScriptedModel(script=[reply("ok")]), ContextShaper(policy=SMALL, summarizer=summarize)
    )
    given = {"messages": [*rounds(5), HumanMessage("now")]}
    end = await some.ainvoke(given)
    assert "characters" in end["messages"][0].text
    with pytest.raises(InvalidInputError, match="summarizer"):
        some.invoke(given)


def _broken(prompt: str) -> str:
    raise OSError(len(prompt))


@pytest.mark.parametrize(
    ("summarizer", "said"),
    [
        (_broken, "was not folded"),
        (lambda _: "  ", "summary is empty"),
        (lambda _: None, "was not folded"),
        (lambda _: 5, "was not folded"),
    ],
)
def test_a_fold_that_fails_stops_nothing(
    summarizer: Any, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The call is made without it, and the log says so."""
    some = agent(
        ScriptedModel(script=[reply("ok")]), ContextShaper(policy=SMALL, summarizer=summarizer)
    )
    with caplog.at_level(logging.WARNING, "loopguard"):
        end = finish(some, {"messages": [*rounds(5), HumanMessage("now")]})
    assert (len(end["messages"]), end["messages"][-1].text) == (22, "ok")
    assert said in caplog.text


def test_a_budget_below_the_system_prompt(caplog: pytest.LogCaptureFixture) -> None:
    """It is said once, nothing is folded, and the run goes on."""
    model = ScriptedModel(script=[reply("", tool_call("search", {"q": "x"})), reply("Done.")])
    shaper = ContextShaper(policy=SMALL, summarizer=_broken)
    some = agent(model, shaper, system_prompt=SystemMessage("s" * 9_000))
    with caplog.at_level(logging.WARNING, "loopguard"):
        end = finish(some, {"messages": [*rounds(3), HumanMessage("now")]})
    assert end["messages"][-1].text == "Done."
    assert len(caplog.records) == 1
    assert "cannot be brought into it" in caplog.text


def test_the_task_and_what_is_pinned_are_never_folded() -> None:
    """However long the run since."""
    given = rounds(6)
    given[4].additional_kwargs["loopguard_pinned"] = True
    model = ScriptedModel(script=[reply("ok")])
    shaper = ContextShaper(policy=SMALL, summarizer=lambda _: "so")
    work = [message for message in rounds(9)[24:] if not isinstance(message, HumanMessage)]
    end = finish(agent(model, shaper), {"messages": [*given, HumanMessage("the task"), *work]})
    texts = [message.text for message in end["messages"]]
    assert texts[0].startswith("[compacted]")
    assert "question 1" in texts
    assert "the task" in texts
    assert "question 0" not in texts


def test_calls_and_results_are_brought_together() -> None:
    """A thread that a provider would refuse can be sent (Q11)."""
    call = tool_call("search", {"q": "x"}, "c")
    broken = [
        HumanMessage("go"),
        AIMessage("", tool_calls=[call]),
        HumanMessage("meanwhile"),
        ToolMessage("lost", tool_call_id="gone", name="search"),
        AIMessage("", tool_calls=[tool_call("search", {}, "d")]),
        ToolMessage("late", tool_call_id="d", name="search"),
        HumanMessage("now"),
    ]
    model = ScriptedModel(script=[reply("ok")])
    finish(agent(model, ContextShaper(policy=ShaperPolicy())), {"messages": broken})
    assert_sendable(model.inputs[-1])
    assert [message.type for message in model.inputs[-1]] == [
        "human", "ai", "tool", "human", "human", "ai", "tool", "human",
    ]  # fmt: skip


def test_what_is_whole_is_sent_as_the_same_objects() -> None:
    """No copies where nothing is cut short."""
    model = ScriptedModel(script=[reply("ok")])
    end = finish(agent(model, ContextShaper(policy=POLICY)), {"messages": rounds(1)[:3]})
    assert model.inputs[-1][-1] is end["messages"][-2]


@pytest.mark.parametrize("mode", MODES)
def test_results_are_cut_and_shown_whole_in_the_reply(mode: str) -> None:
    """The model reads head and tail and writes a placeholder; the reader gets the whole."""
    model = ScriptedModel(
        script=[reply("", tool_call("search", {"q": "Oslo"})), reply("It says {report}: {OUTPUT}")]
    )
    shaper = ContextShaper(policy=ShaperPolicy(), max_result_bytes=200, transclude=True)
    end = finish(agent(model, shaper, system_prompt="Be brief."), person(), mode=mode)
    sent = model.inputs[-1]
    assert sent[0].text.startswith("Be brief.\n\n")
    assert "{OUTPUT}" in sent[0].text
    assert "{report}" in sent[-1].text
    assert len(sent[-1].text) < 500
    assert end["expanded_reply"] == "It says Oslo: Oslo" + "x" * 900
    assert end["messages"][-1].text == "It says {report}: {OUTPUT}"
    assert end["messages"][-2].text.endswith("x" * 900)


def test_control_tokens_in_results_are_harmless() -> None:
    """In what is sent; what is stored is what came."""
    call = tool_call("search", {"q": "x"}, "c")
    given = [
        HumanMessage("<|im_start|>"),
        AIMessage("", tool_calls=[call]),
        ToolMessage("<|im_start|>", tool_call_id="c"),
    ]
    model = ScriptedModel(script=[reply("ok")])
    end = finish(agent(model, ContextShaper(policy=ShaperPolicy())), {"messages": given})
    assert [message.text for message in model.inputs[-1]][::2] == [
        "<|im_start|>",
        "&lt;|im_start|>",
    ]
    assert end["messages"][2].text == "<|im_start|>"


def test_the_guard_decides_alike_beside_it() -> None:
    """A stuck agent is stopped at the same step with and without shaping, in either order."""
    seen = []
    shaper = ContextShaper(policy=POLICY, max_result_bytes=200, transclude=True)
    for middleware in ([], [shaper], None):
        model = ScriptedModel(script=[reply("", tool_call("search", {"q": "x"}))])
        guard = LoopGuardMiddleware(guard=LoopGuard(policy=Policy()))
        order = [shaper, guard] if middleware is None else [guard, *middleware]
        end = finish(agent(model, *order), person(), thread())
        reason = end["messages"][-1].response_metadata["loopguard"]
        seen.append((model.calls, reason["findings"][0]["detector"]))
    assert len(set(seen)) == 1


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("policy", {"policy": 3}),
        ("summarizer", {"summarizer": "gpt"}),
        ("max_result_bytes", {"max_result_bytes": -1}),
    ],
)
def test_bad_arguments_are_named(field: str, options: dict[str, Any]) -> None:
    """The error names the argument."""
    with pytest.raises(InvalidInputError, match=field):
        ContextShaper(**{"policy": POLICY} | options)


class Prefixed(AgentMiddleware[Any, Any, Any]):
    """Shows the model messages that the thread does not have, as other middleware does."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        """Put an exchange of its own in front."""
        extra = [HumanMessage("about me", id="extra"), AIMessage("noted", id="noted")]
        return handler(request.override(messages=[*extra, *request.messages]))


def test_messages_that_are_not_stored_are_folded_too() -> None:
    """What other middleware shows can be folded; only what is stored is removed from the state."""
    model = ScriptedModel(script=[reply("ok")])
    some = agent(model, Prefixed(), ContextShaper(policy=SMALL, summarizer=lambda _: "so"))
    end = finish(some, {"messages": [*rounds(5), HumanMessage("now", id="now")]})
    assert model.inputs[-1][0].text == "[compacted]\nso"
    assert "noted" not in [message.text for message in end["messages"]]
    assert_sendable(end["messages"])


def test_placeholders_stand_for_results_of_this_turn() -> None:
    """A section of an earlier turn is left as it was written."""
    shaper = ContextShaper(policy=ShaperPolicy(), transclude=True)
    model = ScriptedModel(
        script=[reply("", tool_call("search", {"q": "x"})), reply("{report}"), reply("{report}")]
    )
    some = agent(model, shaper, checkpointer=InMemorySaver())
    assert finish(some, person(), thread())["expanded_reply"] == "x"
    assert finish(some, person("again"), thread())["expanded_reply"] == "{report}"

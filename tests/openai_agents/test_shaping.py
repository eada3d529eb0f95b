"""`ContextShaper` and `ShapedSession` in real runs: what is sent, and what is stored."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import pytest
from agents import Agent, RunConfig, function_tool
from agents.run_config import CallModelData, ModelInputData
from agents.testing import ScriptedModel, function_call

from loopguard_core import InvalidInputError
from loopguard_core.agent import ShaperPolicy
from loopguard_core.agent.shaping import HISTORY_HEADING
from loopguard_openai_agents import (
    ContextShaper,
    LoopGuardHooks,
    expanded_output,
    guarded_run,
)
from loopguard_openai_agents._shaping import summary_at_head

from .driver import assert_valid
from .harness import MODES, agent_of, calling, run, saying, search_tool

if TYPE_CHECKING:
    from loopguard_core.agent import FoldRecord

POLICY = ShaperPolicy(
    budget_tokens=1_000,
    lod_headroom_tokens=-1,
    preserve_last_messages=3,
    preserve_last_tool_calls=2,
    lod_truncate_above_chars=400,
)
SMALL = POLICY.model_copy(update={"lod_truncate_above_chars": 0, "budget_tokens": 600})
# Its target is less than the longest summary that is allowed.
IDLE = SMALL.model_copy(update={"lod_headroom_tokens": 400})


def rounds(count: int, size: int = 600) -> list[Any]:
    """Return a thread of questions, reasoning, calls, results and answers."""
    items: list[Any] = []
    for number in range(count):
        items += [
            {"role": "user", "content": f"question {number}"},
            {"type": "reasoning", "id": f"rs{number}", "summary": []},
            {"type": "function_call", "call_id": f"c{number}", "name": "search", "arguments": "{}"},
            {"type": "function_call_output", "call_id": f"c{number}", "output": "r" * size},
            {"type": "message", "role": "assistant", "content": f"answer {number}"},
        ]
    return items


NOW = {"role": "user", "content": "now"}


def config(shaper: Any) -> RunConfig:
    """Return a config whose filter is *shaper*."""
    return RunConfig(tracing_disabled=True, call_model_input_filter=shaper)


def shaped(shaper: ContextShaper, items: list[Any]) -> list[Any]:
    """Return what *shaper* sends of *items*."""
    return asyncio.run(shaper.shaped(items))


@pytest.mark.parametrize("mode", MODES)
def test_stubs_are_sent_in_a_run(mode: str) -> None:
    """The model gets short results before the tail; the result of the run has them whole."""
    agent = agent_of(saying("Done."))
    given = [*rounds(5, size=900), NOW]
    result = run(agent, given, mode, run_config=config(ContextShaper(policy=POLICY)))
    (call,) = agent.model.calls
    sent = [item["output"] for item in call.input if "output" in item]
    assert sent[0].startswith("[truncated event_id=c0 len=900]")
    assert len(call.input) == len(given)
    assert_valid(call.input)
    assert [item["output"] for item in result.to_input_list() if "output" in item] == [
        "r" * 900
    ] * 5


def test_what_is_whole_is_sent_as_the_same_objects() -> None:
    """No copies where nothing is cut short, and the input is not changed."""
    given = [*rounds(5, size=900), NOW]
    before = [dict(item) for item in given]
    sent = shaped(ContextShaper(policy=POLICY), given)
    assert sum(mine is theirs for mine, theirs in zip(sent, given, strict=True)) >= 21
    assert given == before


@pytest.mark.parametrize("mode", MODES)
def test_a_fold_serves_the_whole_run(mode: str) -> None:
    """One summary is asked for, and stands in every later call of the run."""
    prompts: list[str] = []
    folds: list[FoldRecord] = []
    shaper = ContextShaper(
        policy=SMALL, summarizer=lambda p: prompts.append(p) or "it was so", on_fold=folds.append
    )
    search, _ = search_tool()
    agent = agent_of([*calling(2), *saying("Done.")], search)
    run(agent, [*rounds(5), NOW], mode, run_config=config(shaper))
    assert len(prompts) == len(folds) == 1
    assert folds[0].tokens_before > SMALL.budget_tokens >= folds[0].tokens_after
    for call in agent.model.calls:
        assert call.input[0] == {"role": "user", "content": "[compacted]\nit was so"}
        assert NOW in call.input
        assert_valid(call.input)


async def test_runs_at_the_same_time_do_not_mix() -> None:
    """Two histories, two summaries, each in its own run."""
    shaper = ContextShaper(policy=SMALL, summarizer=lambda p: "A" if "alpha" in p else "B")
    sent = await asyncio.gather(
        *(
            shaper.shaped([{"role": "user", "content": name}, *rounds(5), NOW])
            for name in ("alpha", "beta")
        )
    )
    assert [items[0]["content"][-1] for items in sent] == ["A", "B"]


def test_reasoning_stays_in_front_of_what_followed_it() -> None:
    """A fold takes it along; what is left begins with none."""
    sent = shaped(ContextShaper(policy=SMALL, summarizer=lambda _: "so"), [*rounds(6), NOW])
    for place, item in enumerate(sent):
        if item.get("type") == "reasoning":
            assert sent[place + 1]["type"] == "function_call"


def test_a_conversation_that_the_server_keeps_is_left_alone() -> None:
    """An input that begins with an answer is the end of a thread that is elsewhere."""
    items: list[Any] = [{"type": "function_call_output", "call_id": "x", "output": "<|end|>"}]
    data = CallModelData(ModelInputData(items, None), Agent(name="a"), None)
    sent = asyncio.run(ContextShaper(policy=SMALL, summarizer=_never)(data))
    assert sent.input is items


def _never(prompt: str) -> str:
    raise AssertionError(prompt)


def _broken(prompt: str) -> str:
    raise OSError(len(prompt))


@pytest.mark.parametrize(
    ("summarizer", "said"),
    [
        (_broken, "was not folded"),
        (lambda _: " ", "summary is empty"),
        (lambda _: None, "was not folded"),
        (lambda _: 5, "was not folded"),
    ],
)
def test_a_fold_that_fails_stops_nothing(
    summarizer: Any, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The call is made without it, and the log says so."""
    with caplog.at_level(logging.WARNING, "loopguard"):
        sent = shaped(ContextShaper(policy=SMALL, summarizer=summarizer), [*rounds(5), NOW])
    assert len(sent) == 26
    assert said in caplog.text


def test_instructions_over_the_budget(caplog: pytest.LogCaptureFixture) -> None:
    """It is said once, nothing is folded, and the run goes on."""
    search, _ = search_tool()
    agent = agent_of([*calling(2), *saying("Done.")], search, instructions="s" * 9_000)
    with caplog.at_level(logging.WARNING, "loopguard"):
        result = run(agent, run_config=config(ContextShaper(policy=SMALL, summarizer=_never)))
    assert result.final_output == "Done."
    assert len([record for record in caplog.records if "cannot be brought" in record.message]) == 1


def test_a_model_of_the_sdk_summarises() -> None:
    """It is asked once, without tools."""
    writer = ScriptedModel(saying("a summary"))
    sent = shaped(ContextShaper(policy=SMALL, summarizer=writer), [*rounds(5), NOW])
    assert sent[0]["content"] == "[compacted]\na summary"
    (asked,) = writer.calls
    assert not asked.tools


@pytest.mark.parametrize("mode", MODES)
def test_results_are_cut_and_shown_whole_in_the_output(mode: str) -> None:
    """The model reads head and tail and writes a placeholder; the reader gets the whole."""
    search, _ = search_tool()
    long = "y" * 900
    agent = agent_of(
        [*calling(1, q=long), *saying("It says: {OUTPUT}")], search, instructions="Be brief."
    )
    shaper = ContextShaper(policy=ShaperPolicy(), max_result_bytes=200, transclude=True)
    result = run(agent, mode=mode, run_config=config(shaper))
    last = agent.model.calls[-1]
    assert last.system_instructions.startswith("Be brief.\n\n")
    assert "{OUTPUT}" in last.system_instructions
    assert len(last.input[-1]["output"]) < 500
    assert "write {OUTPUT}" in last.input[-1]["output"]
    assert result.final_output == "It says: {OUTPUT}"
    assert expanded_output(result) == f"It says: nothing for {long} in 3"


def test_a_fold_arms_the_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run hears of a compaction once, and decides on."""
    heard: list[bool] = []
    monkeypatch.setattr(
        "loopguard_core.guard.run.GuardedRun.context_compacted", lambda _: heard.append(True)
    )
    search, _ = search_tool()
    agent = agent_of([*calling(2), *saying("Done.")], search)
    shaper = ContextShaper(policy=SMALL, summarizer=lambda _: "so")
    result = asyncio.run(guarded_run(agent, [*rounds(5), NOW], run_config=config(shaper)))
    assert result.final_output == "Done."
    assert heard == [True]


@pytest.mark.parametrize("task", ["the task", "the task " + "t" * 1_600])
def test_a_fold_within_one_turn(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The task stays whole in front of the summary, and the guard hears of each fold."""
    heard: list[bool] = []
    monkeypatch.setattr(
        "loopguard_core.guard.run.GuardedRun.context_compacted", lambda _: heard.append(True)
    )

    @function_tool
    def page(number: int) -> str:
        """Read a page."""
        return f"{number}" * 700

    calls = [[function_call("page", {"number": n}, call_id=f"c{n}")] for n in range(8)]
    agent = agent_of([*calls, *saying("Done.")], page)
    folds: list[FoldRecord] = []
    numbers = iter(range(9))
    shaper = ContextShaper(
        policy=SMALL, summarizer=lambda _: f"so {next(numbers)}", on_fold=folds.append
    )
    asyncio.run(guarded_run(agent, task, run_config=config(shaper)))
    assert len(heard) == len(folds) > 1
    last = agent.model.calls[-1].input
    assert last[0]["content"] == task
    assert last[1]["content"] == f"[compacted]\nso {len(folds) - 1}"
    assert_valid(last)


def test_a_summary_is_looked_for_at_the_head() -> None:
    """Behind what a fold leaves; a thread without one is not read to its end at every step."""
    summary = {"role": "user", "content": "[compacted]\nso"}
    head: list[Any] = [{"role": "developer", "content": "obey"}, {"type": "compaction"}, NOW]
    assert summary_at_head([*head, summary, *rounds(1)]) == summary["content"]
    assert not summary_at_head([*head, *rounds(1), summary])


def test_a_model_without_tools_is_not_taught_placeholders() -> None:
    """It has nothing to show."""
    agent = agent_of(saying("Done."), instructions="Be brief.")
    run(agent, run_config=config(ContextShaper(policy=ShaperPolicy(), transclude=True)))
    assert agent.model.calls[0].system_instructions == "Be brief."


async def test_threads_that_begin_and_end_alike() -> None:
    """Have summaries of their own."""
    shaper = ContextShaper(policy=SMALL, summarizer=lambda p: "A" if "alpha" in p else "B")
    threads = [
        [NOW, {"role": "assistant", "content": name}, *rounds(5), NOW] for name in ("alpha", "beta")
    ]
    sent: list[Any] = [await shaper.shaped(thread) for thread in threads]
    assert [items[0]["content"][-1] for items in sent] == ["A", "B"]


async def test_folds_of_many_runs_are_found_again() -> None:
    """More runs at once than one would think of still ask for one summary each."""
    asked: list[str] = []
    shaper = ContextShaper(policy=SMALL, summarizer=lambda p: asked.append(p) or f"so {len(asked)}")
    threads = [[{"role": "user", "content": f"run {n}"}, *rounds(5), NOW] for n in range(100)]
    first = [await shaper.shaped(thread) for thread in threads]
    assert [await shaper.shaped([*thread, NOW]) for thread in threads] == [[*f, NOW] for f in first]
    assert len(asked) == 100


async def test_the_folds_that_are_kept_are_those_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fold that nobody needed for longest goes first."""
    monkeypatch.setattr("loopguard_openai_agents._folds._MAX_KNOWN", 2)
    asked: list[str] = []
    shaper = ContextShaper(policy=SMALL, summarizer=lambda p: asked.append(p) or "so")
    long = [[{"role": "user", "content": name}, *rounds(5), NOW] for name in "abc"]
    for thread in (long[0], long[1], long[0], long[2], long[0]):
        await shaper.shaped(thread)
    assert len(asked) == 3
    await shaper.shaped(long[1])
    assert len(asked) == 4


async def test_folds_that_free_nothing_rest() -> None:
    """After three in a row no more summaries are asked for in that thread."""
    asked: list[str] = []
    shaper = ContextShaper(policy=IDLE, summarizer=lambda p: asked.append(p) or "s" * 1_100)
    items = [*rounds(5), NOW]
    for number in range(8):
        items = [*items, {"type": "message", "role": "assistant", "content": f"{number}"}]
        await shaper.shaped(items)
    assert 1 < len(asked) < 8


async def test_a_summariser_that_is_down_is_left_alone() -> None:
    """After three failures in a row it is asked once in seventeen calls."""
    asked: list[str] = []

    def fail(prompt: str) -> str:
        asked.append(prompt)
        raise OSError("unreachable")

    shaper = ContextShaper(policy=SMALL, summarizer=fail)
    for _ in range(40):
        assert await shaper.shaped([*rounds(5), NOW])
    assert len(asked) == 5


async def test_a_summary_that_runs_away_is_cut() -> None:
    """In what is sent, and in what is recorded."""
    records: list[Any] = []
    shaper = ContextShaper(policy=SMALL, summarizer=lambda _: "s" * 90_000, on_fold=records.append)
    sent: list[Any] = await shaper.shaped([*rounds(5), NOW])
    assert sum(len(str(item.get("content"))) for item in sent) < 4 * SMALL.budget_tokens
    assert len(records[0].summary) < 2 * SMALL.budget_tokens


def test_a_budget_that_cannot_be_kept_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """What a person says is never cut, and the model is asked all the same."""
    shaper = ContextShaper(policy=SMALL)
    with caplog.at_level(logging.WARNING, "loopguard"):
        for _ in range(3):
            shaped(shaper, [{"role": "user", "content": "w" * 9_000}])
    assert len([record for record in caplog.records if "cannot be brought" in record.message]) == 1


def test_an_oversized_newest_result_is_cut() -> None:
    """It is not fatal: head and tail are sent, and the thread fits."""
    call = {"type": "function_call", "call_id": "c", "name": "search", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c", "output": "r" * 90_000}
    sent: list[Any] = shaped(ContextShaper(policy=SMALL), [NOW, call, result])
    assert "…[truncated" in sent[2]["output"]
    assert len(sent[2]["output"]) < 4 * SMALL.budget_tokens


def test_a_summary_is_marked_as_history() -> None:
    """A model must not take what it tells of for its next task."""
    policy = SMALL.model_copy(update={"summary_heading": HISTORY_HEADING})
    sent = shaped(ContextShaper(policy=policy, summarizer=lambda _: "so"), [*rounds(5), NOW])
    assert sent[0]["content"] == f"[compacted]\n{HISTORY_HEADING}\nso"


def test_filters_can_be_called_one_from_another() -> None:
    """Shaped first, trimmed then."""
    shaper, hooks = ContextShaper(policy=POLICY), LoopGuardHooks(max_tokens=400)

    async def both(data: CallModelData[Any]) -> ModelInputData:
        shown = await shaper(data)
        return hooks.trim_input(CallModelData(shown, data.agent, data.context))

    agent = agent_of(saying("Done."))
    run(agent, [*rounds(5, size=900), NOW], run_config=config(both))
    (call,) = agent.model.calls
    assert len(call.input) < 26
    assert_valid(call.input)


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

"""`ContextShaper`: what is sent is short and whole, what is stored is not touched but by a fold."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock, ThinkingBlock
from llama_index.core.storage.chat_store import BaseChatStore, SimpleChatStore
from llama_index.core.workflow import Context
from pydantic import Field, ValidationError
from typing_extensions import override

from loopguard_core import GuardedRun
from loopguard_core.agent import ShaperPolicy
from loopguard_core.agent.thread_shaping import FoldRecord
from loopguard_core.tokens import chars_estimate
from loopguard_llamaindex import ContextShaper, GuardedLLM, LoopGuardMemory

from .driver import assert_valid
from .harness import DONE, READ, Reader, agent, asked, model, pair, plain
from .scripted import call, reply

LARGE = "HEAD" + "x" * 10_000 + "TAIL"


def policy(**fields: Any) -> ShaperPolicy:
    """Return limits that keep the newest exchange and stub what is over 400 bytes before it."""
    defaults: dict[str, Any] = {
        "preserve_last_messages": 2,
        "preserve_last_tool_calls": 2,
        "lod_truncate_above_chars": 400,
        "lod_headroom_tokens": -1,
    }
    return ShaperPolicy(**defaults | fields)


def shaper(budget: int = 0, **fields: Any) -> ContextShaper:
    """Return a shaper with a budget; further fields are its own."""
    return ContextShaper(policy=policy(budget_tokens=budget), **fields)


def memory(shaping: ContextShaper, limit: int = 10**6, **fields: Any) -> LoopGuardMemory:
    """Return a memory that counts characters."""
    return LoopGuardMemory.from_defaults(
        token_limit=limit, estimate=chars_estimate, shaper=shaping, **fields
    )


def user(text: str, **beside: Any) -> ChatMessage:
    """Return a person's message."""
    return ChatMessage(role="user", content=text, additional_kwargs=beside)


def result(call_id: str, text: str) -> ChatMessage:
    """Return a tool's result."""
    return ChatMessage(role="tool", content=text, additional_kwargs={"tool_call_id": call_id})


def exchange(number: int, text: str = "ok") -> list[ChatMessage]:
    """Return a call and its result."""
    return [reply("", call("read", f"c{number}", page=number)), result(f"c{number}", text)]


def talk(turns: int, text: str = "ok") -> list[ChatMessage]:
    """Return turns of a question, an exchange and an answer."""
    return [
        message
        for n in range(turns)
        for message in (user(f"Question {n}?"), *exchange(n, text), reply(f"Answer {n}."))
    ]


def texts(messages: list[ChatMessage]) -> list[str]:
    """Return what messages say."""
    return [message.content or "" for message in messages]


class Summaries:
    """A summariser that counts, and keeps what it was asked."""

    def __init__(self, text: str = "They read pages.") -> None:
        self.prompts: list[str] = []
        self._text = text

    def now(self, prompt: str) -> str:
        """Summarise."""
        self.prompts.append(prompt)
        return self._text

    async def later(self, prompt: str) -> str:
        """Summarise after a while."""
        await asyncio.sleep(0)
        return self.now(prompt)


class OwnStore(BaseChatStore):
    """A store that is not LlamaIndex's own, and keeps what was set."""

    inner: SimpleChatStore = Field(default_factory=SimpleChatStore)
    written: list[Any] = Field(default_factory=list)

    @override
    def get_messages(self, key: str, last: int = 0) -> list[ChatMessage]:
        return list(self.inner.get_messages(key))[-last:]

    @override
    async def aget_messages(self, key: str, last: int = 0) -> list[ChatMessage]:
        return self.get_messages(key, last)

    @override
    def set_messages(self, key: str, messages: list[ChatMessage]) -> None:
        self.written.append(messages)
        self.inner.set_messages(key, messages)

    @override
    def add_message(self, key: str, message: ChatMessage) -> None:
        self.inner.add_message(key, message)

    @override
    def delete_messages(self, key: str) -> Any:
        return self.inner.delete_messages(key)

    @override
    def delete_message(self, key: str, idx: int) -> Any:
        return self.inner.delete_message(key, idx)

    @override
    def delete_last_message(self, key: str) -> Any:
        return self.inner.delete_last_message(key)

    @override
    def get_keys(self) -> list[str]:
        return self.inner.get_keys()


# What is sent


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        pytest.param(talk(1), "same", id="a short history"),
        pytest.param(
            [user("Go."), *exchange(0, "a <|im_end|> b")], "a &lt;|im_end|> b", id="token"
        ),
        pytest.param([user("<|im_end|>")], "same", id="a person's words are left alone"),
        pytest.param([user("Go."), *exchange(0, LARGE)], "…[truncated", id="an oversized result"),
    ],
)
async def test_what_a_reading_shortens(history: list[ChatMessage], expected: str) -> None:
    """Only results that are dangerous or large are changed, on copies; all else is the very object."""
    kept = memory(shaper(max_result_bytes=2_000))
    kept.put_messages(history)
    before = texts(kept.get_all())
    read = await kept.aget()
    assert read == kept.get()
    assert texts(kept.get_all()) == before
    if expected == "same":
        assert all(a is b for a, b in zip(read, history, strict=True))
    else:
        assert expected in texts(read)[-1]
        assert all(a is b for a, b in zip(read[:-1], history[:-1], strict=True))


def test_old_long_messages_become_stubs_where_it_does_not_fit() -> None:
    """The newest exchange stays whole; pictures beside a stubbed text stay."""
    kept = memory(shaper(2_000))
    history = talk(4, "y" * 2_000)
    history[2].blocks.append(ImageBlock(image=b"GIF89a"))
    kept.put_messages(history)
    read = kept.get()
    assert texts(read)[2].startswith("[truncated event_id=c0 len=2000]")
    assert [block.block_type for block in read[2].blocks] == ["text", "image"]
    assert read[-2] is history[-2]
    assert read[0] is history[0]
    assert history[2].content == "y" * 2_000


def test_long_arguments_become_stubs_that_are_arguments() -> None:
    """With `stub_arguments` old arguments are cut as JSON, in the form in which they stood."""
    limits = policy(budget_tokens=400, stub_arguments=True)
    asking = reply("", call("read", "a", page=1), call("write", "b", text="z" * 3_000))
    asking.blocks.insert(0, ThinkingBlock(content="Hm."))
    history = [user("Go."), asking, result("a", "ok"), result("b", "ok"), *talk(2)]
    sent = ContextShaper(policy=limits).sent(history)
    kinds = [block.block_type for block in sent[1].blocks]
    assert kinds == ["thinking", "tool_call", "tool_call"]
    assert sent[1].blocks[1] is asking.blocks[1]
    shortened: Any = sent[1].blocks[2]
    assert set(shortened.tool_kwargs) == {"_truncated", "_head"}
    assert asking.blocks[2].tool_kwargs == {"text": "z" * 3_000}  # type: ignore[union-attr]


def test_thinking_stays_before_the_text_that_is_shortened() -> None:
    """Blocks keep their order: providers want thinking first."""
    said = reply("y" * 2_000, thinking="Hm.")
    sent = shaper(300).sent([user("Go."), said, *talk(2)])
    assert [block.block_type for block in sent[1].blocks] == ["thinking", "text"]
    assert texts(sent)[1].startswith("[truncated")


def test_pairs_are_repaired() -> None:
    """A call without a result is answered, and a result without a call becomes a message."""
    kept = memory(shaper())
    kept.put_messages([user("Go."), result("lost", "found"), reply("", call("read", "c"))])
    read = kept.get()
    assert_valid(read)
    assert [message.role.value for message in read] == ["user", "user", "assistant", "tool"]
    assert texts(read)[1] == "[tool_result] found"
    assert len(kept.get_all()) == 3


def test_trimming_is_the_last_resort() -> None:
    """What the shaper cannot bring below the memory's limit is trimmed, whole and with the summary."""
    kept = memory(shaper(), limit=120)
    mark = user("Earlier: xyzzy.", loopguard_compacted=True)
    kept.put_messages([mark, *talk(30)])
    read = kept.get()
    assert_valid(read)
    assert read[0] is mark
    assert sum(len(text) // 4 for text in texts(read)) <= 120
    assert len(read) < 20


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("make", [agent, plain])
async def test_a_run_that_goes_on_is_shortened_by_its_model(make: Any, streaming: bool) -> None:
    """A `GuardedLLM` shortens the scratchpad of guarded and plain agents; memory gets it whole."""
    tools = [Reader(LARGE).tool]
    runner = make(READ, DONE, tools=tools, streaming=streaming)
    inner = asked(runner)
    runner.llm = GuardedLLM(llm=inner, shaper=shaper(max_result_bytes=500))
    kept = LoopGuardMemory.from_defaults(token_limit=10**6)
    await runner.run("Read.", memory=kept)
    assert "…[truncated" in texts(inner.inputs[-1])[-1]
    assert any(message.content == LARGE for message in kept.get_all())


# Folds


@pytest.mark.parametrize("kind", ["sync", "async", "model"])
async def test_a_fold_is_stored_and_recorded(kind: str) -> None:
    """All summarisers work in `aget`: the history is replaced once, marked, recorded, reported."""
    summaries, records = Summaries(), list[FoldRecord]()
    ways: dict[str, Any] = {
        "sync": summaries.now,
        "async": summaries.later,
        "model": model(reply("They read pages.")),
    }
    kept = memory(shaper(300, summarizer=ways[kind], on_fold=records.append))
    kept.put_messages(talk(30))
    read = await kept.aget()
    stored = kept.get_all()
    assert stored[0].additional_kwargs == {"loopguard_compacted": True}
    assert "They read pages." in texts(stored)[0]
    assert len(stored) < 10
    assert all(a is b for a, b in zip(read, stored, strict=True))
    assert_valid(stored)
    assert kept.folds == records
    assert records[0].summary == "They read pages."
    assert records[0].tokens_after < records[0].tokens_before
    assert await kept.aget() == stored
    assert len(records) == 1


def test_a_sync_reading_folds_unless_it_would_have_to_wait() -> None:
    """`get` folds with plain callables and models, and leaves an async one to `aget`."""
    for summarizer, folds in (
        (Summaries().now, 1),
        (model(reply("Pages.")), 1),
        (Summaries().later, 0),
    ):
        kept = memory(shaper(300, summarizer=summarizer))
        kept.put_messages(talk(30))
        kept.get()
        assert len(kept.folds) == folds


async def test_a_second_fold_takes_the_first_summary_with_it() -> None:
    """One summary is left, and the summariser has read the earlier one."""
    summaries = Summaries()
    kept = memory(shaper(300, summarizer=summaries.now))
    for _ in range(2):
        await kept.aput_messages(talk(30))
        await kept.aget()
    marked = [m for m in kept.get_all() if "loopguard_compacted" in m.additional_kwargs]
    assert len(marked) == 1
    assert len(kept.folds) == 2
    assert "They read pages." in summaries.prompts[1]


async def test_system_and_pinned_messages_are_not_folded() -> None:
    """They stand where they stood, as the same objects."""
    kept = memory(shaper(300, summarizer=Summaries().now))
    system = ChatMessage(role="system", content="Be brief.")
    pin = user("The password is xyzzy.", loopguard_pinned=True)
    kept.put_messages([system, *talk(10), pin, *talk(20)])
    await kept.aget()
    stored = kept.get_all()
    assert stored[0] is system
    assert any(message is pin for message in stored)
    assert len(kept.folds) == 1


async def test_messages_that_come_while_it_is_summarised_stay() -> None:
    """What was put meanwhile stands behind the summary; two readings at once fold once."""
    gate, asked_for = asyncio.Event(), list[str]()

    async def summarize(prompt: str) -> str:
        asked_for.append(prompt)
        await gate.wait()
        return "Short."

    kept = memory(shaper(300, summarizer=summarize))
    kept.put_messages(talk(30))
    readings = [asyncio.create_task(kept.aget()) for _ in range(2)]
    await asyncio.sleep(0.05)
    late = user("And now?")
    kept.put(late)
    gate.set()
    read, _ = await asyncio.gather(*readings)
    assert kept.get_all()[-1] is late
    assert len(kept.folds) == len(asked_for) == 1
    assert [m for m in kept.get_all() if "loopguard_compacted" in m.additional_kwargs] == read[:1]


@pytest.mark.parametrize("store", [SimpleChatStore, OwnStore])
async def test_a_history_that_was_replaced_meanwhile_is_not_folded(store: Any) -> None:
    """The summary is of another history; what is there now is read, and stays."""
    other = [user("Hello."), reply("Hello!")]

    async def summarize(prompt: str) -> str:
        await kept.aset(other)
        return "Short."

    kept = memory(shaper(300, summarizer=summarize), chat_store=store())
    kept.put_messages(talk(30))
    assert await kept.aget() == other
    assert kept.get_all() == other
    assert kept.folds == []


async def test_a_store_of_ones_own_is_folded_in_one_write() -> None:
    """Through its own async methods."""
    store = OwnStore()
    kept = memory(shaper(300, summarizer=Summaries().later), chat_store=store)
    kept.put_messages(talk(30))
    read = await kept.aget()
    assert [len(messages) for messages in store.written] == [len(read)]
    assert read[0].additional_kwargs == {"loopguard_compacted": True}


@pytest.mark.parametrize("answer", ["", "  \n", RuntimeError("429")])
async def test_a_summariser_that_fails_changes_nothing(
    answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is written or recorded, it is said, and the history is read all the same."""

    def summarize(prompt: str) -> str:
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    kept = memory(shaper(300, summarizer=summarize), limit=300)
    history = talk(30)
    kept.put_messages(history)
    assert_valid(await kept.aget())
    assert kept.get_all() == history
    assert kept.folds == []
    assert "read without a fold: summarize" in caplog.text


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_partial_reading_does_not_fold(*, is_async: bool) -> None:
    """A store that is read with arguments of its own may give a part; a fold replaces all."""
    kept = memory(shaper(300, summarizer=Summaries().now), chat_store=OwnStore())
    kept.put_messages(talk(60))
    read = await kept.aget(last=100) if is_async else kept.get(last=100)
    assert len(read) == 100
    assert kept.folds == []
    assert len(kept.get_all()) == 240


def test_folds_are_saved_and_forgotten_with_their_history() -> None:
    """`to_dict` and `from_dict` keep the records; a new history has none."""
    kept = memory(shaper(300, summarizer=Summaries().now))
    kept.put_messages(talk(30))
    kept.get()
    loaded = LoopGuardMemory.from_dict(kept.to_dict(), shaper=kept.shaper)
    assert loaded.folds == kept.folds
    assert loaded.get_all()[0].additional_kwargs == {"loopguard_compacted": True}
    loaded.set([*loaded.get_all(), user("More.")])
    assert len(loaded.folds) == 1
    loaded.set([user("Hello.")])
    assert loaded.folds == []
    kept.reset()
    assert kept.folds == []


@pytest.fixture
def armed(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return the runs that are told of a fold, as they are told."""
    runs: list[object] = []
    original = GuardedRun.context_compacted

    def compacted(run: GuardedRun) -> None:
        runs.append(run)
        original(run)

    monkeypatch.setattr(GuardedRun, "context_compacted", compacted)
    return runs


@pytest.mark.parametrize("guarded", [True, False])
@pytest.mark.parametrize("turns", [1, 2])
async def test_a_fold_arms_the_watch_of_the_run(
    guarded: bool, turns: int, armed: list[object]
) -> None:
    """After a fold equal calls are noticed sooner: by an agent's run, and by that of tools."""
    kept = memory(shaper(300, summarizer=Summaries().later))
    tools = [Reader("same").tool]
    script = [READ, DONE] * turns
    runner = (
        agent(*script, tools=tools) if guarded else plain(*script, tools=kept.guard_tools(tools))
    )
    ctx: Any = Context(runner)
    for _ in range(turns - 1):
        await runner.run("Go.", ctx=ctx, memory=kept)
    assert armed == []
    kept.put_messages(talk(30))
    await ctx.store.set("memory", None)  # a context that runs again has saved and loaded its own
    await runner.run("Go.", ctx=ctx, memory=kept)
    assert len(kept.folds) == 1
    assert len({id(run) for run in armed}) == 2  # that of the run, and the one of the history


async def test_a_fold_at_a_hand_off_arms_the_run_at_once(armed: list[object]) -> None:
    """A hand-off puts what was done into memory, so that a run may fold while it goes on."""
    kept = memory(shaper(300, summarizer=Summaries().later))
    pages = [reply("", call("read", path=f"{n}.py")) for n in range(4)]
    handoff = reply("", call("handoff", to_agent="b", reason="go"))
    workflow = pair([*pages, handoff], [DONE], tools=[Reader("y" * 900).tool])
    await workflow.run("Go.", memory=kept)
    assert len(kept.folds) == 1
    assert len({id(run) for run in armed}) == 2  # that of the run, and the one of the history


# What people complain about


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what was logged."""
    return [record.message for record in caplog.records if record.levelno >= logging.WARNING]


async def test_without_a_summariser_it_never_folds_and_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Over budget, the history is only shortened; that is said once."""
    kept = memory(shaper(100))
    kept.put_messages(talk(30))
    for _ in range(3):
        await kept.aget()
    assert len(kept.get_all()) == 120
    assert len(warnings(caplog)) == 1
    assert "no summarizer" in warnings(caplog)[0]


async def test_a_summariser_that_is_down_is_left_alone() -> None:
    """After three failures in a row it is asked once in seventeen readings."""
    asked = list[str]()

    def fail(prompt: str) -> str:
        asked.append(prompt)
        raise OSError("unreachable")

    kept = memory(shaper(50, summarizer=fail))
    kept.put_messages(talk(9))
    for turn in range(40):
        assert await kept.aget() if turn % 2 else kept.get()
    assert len(asked) == 5


async def test_a_summary_that_runs_away_is_cut() -> None:
    """In what is stored, and in what is recorded."""
    kept = memory(shaper(600, summarizer=lambda _: "s" * 90_000))
    kept.put_messages(talk(60))
    assert sum(len(message.content or "") for message in await kept.aget()) < 4 * 600
    assert len(kept.folds[0].summary) < 2 * 600


async def test_folds_that_free_nothing_rest(caplog: pytest.LogCaptureFixture) -> None:
    """After the third in a row none is made until there is more to fold; that is said once."""
    summaries = list[str]()

    def repeat(prompt: str) -> str:
        summaries.append(prompt)
        return "s" * 3_900

    # its target is less than the longest summary that is allowed
    limits = policy(budget_tokens=4_000, lod_headroom_tokens=3_200, lod_truncate_above_chars=0)
    kept = memory(ContextShaper(policy=limits, summarizer=repeat))
    kept.put_messages([user("s" * 3_900), *talk(3)])
    for _ in range(6):
        await kept.aput_messages(talk(1))
        await kept.aget()
    assert len(summaries) == 3
    await kept.aput_messages(talk(100))
    await kept.aget()
    assert len(summaries) == 4
    assert sum("folding rests" in message for message in warnings(caplog)) == 1


async def test_a_budget_below_the_system_prompt_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nothing is folded, because that cannot help, and the run goes on."""
    summaries = Summaries()
    kept = memory(shaper(50, summarizer=summaries.now))
    kept.put_messages([ChatMessage(role="system", content="s" * 2_000), *talk(10)])
    for _ in range(3):
        assert_valid(await kept.aget())
    assert summaries.prompts == []
    assert len(warnings(caplog)) == 1


async def test_an_oversized_newest_result_is_cut_not_fatal() -> None:
    """Where nothing can be folded, its middle goes; what is stored stays."""
    kept = memory(shaper(500, summarizer=Summaries().now))
    kept.put_messages([user("Read."), *exchange(0, LARGE)])
    text = texts(await kept.aget())[-1]
    assert text.startswith("HEAD")
    assert text.endswith("TAIL")
    assert len(text) < 3_000
    assert kept.get_all()[-1].content == LARGE


async def test_the_summary_is_marked_as_history() -> None:
    """A heading says that it is no new task, and the reply's share of the window is reserved."""
    limits = ShaperPolicy.for_context(
        2_000, preserve_last_messages=2, preserve_last_tool_calls=2, lod_headroom_tokens=-1
    )
    shaping = ContextShaper(policy=limits, summarizer=Summaries().now)
    kept = LoopGuardMemory.from_defaults(shaper=shaping, estimate=chars_estimate)
    assert kept.token_limit == limits.budget_tokens == 1_500
    kept.put_messages([user(f"Question {n}? {'a' * 100}") for n in range(80)])
    first = (await kept.aget())[0]
    assert first.role == "user"
    assert first.content is not None
    assert first.content.startswith(f"[compacted]\n{limits.summary_heading}")


async def test_the_border_of_the_stubs_does_not_move_every_turn() -> None:
    """Prompts keep beginning alike, so that a provider's cache works."""
    limits = policy(budget_tokens=2_500, step_entries=8)
    kept = memory(ContextShaper(policy=limits))
    kept.put_messages(talk(8, "y" * 900))
    stubs = set()
    for n in range(4):
        kept.put(user(f"More {n}?"))
        stubs.add(sum(text.startswith("[truncated") for text in texts(await kept.aget())))
    assert len(stubs) <= 2


@pytest.mark.parametrize(
    ("field", "value"),
    [("policy", None), ("max_result_bytes", -1), ("summarizer", "gpt"), ("estimate", 4), ("n", 1)],
)
def test_a_wrong_argument_is_named(field: str, value: object) -> None:
    """The error has the field and the value."""
    fields: dict[str, Any] = {"policy": policy(), field: value}
    with pytest.raises(ValidationError, match=field):
        ContextShaper(**fields)


def test_a_text_block_only_is_replaced() -> None:
    """A result of several texts is cut as one; a picture between them stays."""
    asking, answered = exchange(0)
    answered.blocks = [TextBlock(text=LARGE), ImageBlock(image=b"GIF89a"), TextBlock(text=LARGE)]
    sent = shaper(max_result_bytes=500).sent([user("Go."), asking, answered])
    assert [block.block_type for block in sent[-1].blocks] == ["text", "image"]

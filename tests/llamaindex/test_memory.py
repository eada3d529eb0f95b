"""`LoopGuardMemory`: what is read fits and is whole, what goes round is noticed, what is saved loads."""

from __future__ import annotations

import copy
import itertools
import logging
from typing import Any

import pytest
from llama_index.core.base.llms.types import (
    ChatMessage,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.memory import BaseMemory
from llama_index.core.storage.chat_store import SimpleChatStore
from llama_index.core.workflow import Context
from pydantic import ValidationError

from loopguard_core import Action, LoopDetected, LoopGuard
from loopguard_core.agent import ShaperPolicy
from loopguard_core.tokens import chars_estimate
from loopguard_llamaindex import ContextShaper, LoopGuardMemory
from tests.drivers import Ear

from .driver import assert_valid
from .harness import DONE, READ, Reader, agent, asked, guard, model, notes, plain, repeat
from .scripted import call, reply


def memory(limit: int = 10**6, **fields: Any) -> LoopGuardMemory:
    """Return a memory that counts characters, so that tests need no vocabulary."""
    return LoopGuardMemory.from_defaults(token_limit=limit, estimate=chars_estimate, **fields)


def user(text: str, **beside: Any) -> ChatMessage:
    """Return a person's message."""
    return ChatMessage(role="user", content=text, additional_kwargs=beside)


def exchange(number: int, result: str = "the result", *, calls: int = 1) -> list[ChatMessage]:
    """Return a message with calls, and their results."""
    ids = [f"c{number}-{n}" for n in range(calls)]
    asking = reply("Let me see.", *(call("read", i, page=number) for i in ids))
    results = [
        ChatMessage(role="tool", content=result, additional_kwargs={"tool_call_id": i}) for i in ids
    ]
    return [asking, *results]


def conversation(turns: int) -> list[ChatMessage]:
    """Return turns of a question, two exchanges and an answer."""
    return [
        message
        for n in range(turns)
        for message in (
            user(f"Question {n}?"),
            *exchange(2 * n),
            *exchange(2 * n + 1),
            reply(f"Answer {n}."),
        )
    ]


@pytest.mark.parametrize("limit", [1, 40, 100, 300, 1_000, 5_000])
async def test_what_is_read_is_whole_and_fits(limit: int) -> None:
    """Every result kept has its call, order and objects stay, and sync and async read the same."""
    kept = memory(limit)
    kept.put_messages(conversation(20))
    read = kept.get()
    assert_valid(read)
    assert read
    everything = kept.get_all()
    places = [next(i for i, m in enumerate(everything) if m is message) for message in read]
    assert places == sorted(places)
    assert await kept.aget() == read
    assert sum(map(price, read)) <= limit or len(read) <= 5


def price(message: ChatMessage) -> int:
    """Count roughly what a message costs."""
    return len(message.content or "") // 4


def test_what_fits_is_read_whole() -> None:
    """Below the limit nothing is left out, and the messages are the stored ones."""
    kept = memory()
    messages = conversation(5)
    kept.put_messages(messages)
    assert all(a is b for a, b in zip(kept.get(), messages, strict=True))


def test_system_and_pinned_messages_stay() -> None:
    """System messages at the head and pinned ones are kept whatever their age."""
    kept = memory(200)
    system = ChatMessage(role="system", content="Be brief.")
    pin = user("The password is xyzzy.", loopguard_pinned=True)
    kept.put_messages([system, *conversation(5), pin, *conversation(15)])
    read = kept.get()
    assert read[0] is system
    assert any(message is pin for message in read)
    assert len(read) < len(kept.get_all())


def test_a_result_that_is_too_large_is_cut_and_not_dropped() -> None:
    """The newest result keeps head and tail; the stored one stays whole."""
    kept = memory(200)
    large = "HEAD" + "x" * 10_000 + "TAIL"
    kept.put_messages([user("Read."), *exchange(0, large)])
    read = kept.get()
    assert_valid(read)
    text = read[-1].content or ""
    assert text.startswith("HEAD")
    assert text.endswith("TAIL")
    assert len(text) < 1_000
    assert kept.get_all()[-1].content == large


def test_a_picture_beside_a_cut_text_stays() -> None:
    """Only text is cut; the other blocks of the result are kept."""
    kept = memory(2_000)
    image = ImageBlock(image=b"GIF89a")
    asking, result = exchange(0, "x" * 20_000)
    result.blocks = [TextBlock(text="x" * 20_000), image]
    kept.put_messages([user("Look."), asking, result])
    assert [block.block_type for block in kept.get()[-1].blocks] == ["text", "image"]


def test_parallel_calls_stay_together() -> None:
    """A message with several calls is kept with all its results, or not at all."""
    kept = memory(150)
    kept.put_messages([user("Go."), *exchange(0, calls=3), *exchange(1, calls=3)])
    assert_valid(kept.get())


def test_calls_thinking_and_pictures_are_counted() -> None:
    """What is no text costs as well, so that it is not forgotten in the budget."""
    block = ToolCallBlock(tool_call_id="c", tool_name="read", tool_kwargs={"text": "x" * 4_000})
    heavy = [
        [
            reply("", block),
            ChatMessage(role="tool", content="ok", additional_kwargs={"tool_call_id": "c"}),
        ],
        [ChatMessage(role="assistant", blocks=[ThinkingBlock(content="x" * 4_000)])],
        [ChatMessage(role="user", blocks=[ImageBlock(image=b"GIF89a")])],
    ]
    for messages in heavy:
        kept = memory(900, step_messages=1)
        kept.put_messages([*messages, user("And?"), reply("Yes.")])
        assert len(kept.get()) == 2, messages


def test_what_the_request_costs_beside_is_left_free() -> None:
    """`initial_token_count` lowers the budget; beyond the limit the least is still read."""
    kept = memory(400, step_messages=1)
    kept.put_messages(conversation(20))
    whole, less = kept.get(), kept.get(initial_token_count=200)
    assert 0 < len(less) < len(whole)
    assert kept.get(initial_token_count=10**6)


def test_a_history_that_cannot_fit_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The newest exchange stays although it is too much, and somebody can know."""
    kept = memory(1)
    kept.put_messages(conversation(2))
    with caplog.at_level(logging.WARNING, "loopguard"):
        assert kept.get()
    assert "its budget is 1" in caplog.text


def test_an_orphan_result_is_not_read_and_nothing_else_is_lost() -> None:
    """A result without its call is left out; alone, it is left to whoever stored it."""
    orphan = exchange(0)[1]
    kept = memory()
    kept.put_messages([orphan])
    assert kept.get() == [orphan]
    kept.put_messages([user("Hello."), reply("Hi.")])
    assert_valid(kept.get())


def test_the_cut_falls_seldom() -> None:
    """While a history grows, what is read keeps its beginning for several messages."""
    kept = memory(600)
    firsts = []
    for message in conversation(30):
        kept.put(message)
        firsts.append(kept.get()[0])
    moves = sum(a is not b for a, b in itertools.pairwise(firsts))
    assert moves <= len(firsts) // 8


@pytest.mark.parametrize("shaped", [False, True])
@pytest.mark.parametrize("answered", [(), ("a",), ("b",), ("a", "b")])
def test_a_call_that_nobody_answered_is_read_with_an_answer(
    answered: tuple[str, ...], *, shaped: bool
) -> None:
    """LlamaIndex leaves some where a tool that ends the run fails; what is stored stays."""
    asked = reply("", call("look", "a", q=1), call("look", "b", q=2))
    results = [
        ChatMessage(role="tool", content=f"of {id_}", additional_kwargs={"tool_call_id": id_})
        for id_ in answered
    ]
    shaper = ContextShaper(policy=ShaperPolicy.for_context(9_000)) if shaped else None
    kept = LoopGuardMemory.from_defaults(
        [user("Go."), asked, *results, user("And?")], shaper=shaper
    )
    read = kept.get()
    assert_valid(read)
    assert [m.content for m in read if m.content in {"of a", "of b"}] == [
        m.content for m in results
    ]
    assert len(read) == 5
    assert len(kept.get_all()) == 3 + len(answered)


def test_it_is_saved_as_a_string() -> None:
    """As the framework's own buffer is."""
    kept = memory(600)
    kept.put_messages(conversation(2))
    text = kept.to_string()
    loaded = LoopGuardMemory.from_string(text, estimate=kept.estimate)
    assert loaded.get() == kept.get()
    assert loaded.token_limit == 600


def test_a_store_that_was_edited_behind_its_back_is_read_anew() -> None:
    """A deleted, replaced or rewritten message is noticed."""
    store = SimpleChatStore()
    kept = memory(chat_store=store, chat_store_key="k")
    kept.put_messages(conversation(3))
    kept.get()
    store.delete_last_message("k")
    assert kept.get() == kept.get_all()
    kept.set([user("Anew.")])
    assert kept.get() == kept.get_all() == [user("Anew.")]
    kept.reset()
    assert kept.get() == []


async def test_the_asynchronous_half_sets_and_resets_too() -> None:
    """`aset` and `areset` do what their sync halves do."""
    kept = memory()
    await kept.aput_messages(conversation(2))
    await kept.aget()
    await kept.aset([user("Anew.")])
    assert await kept.aget() == [user("Anew.")]
    await kept.areset()
    assert await kept.aget() == []


def same_answers(times: int) -> list[ChatMessage]:
    """Return a conversation in which the agent does and says the same again and again."""
    return [
        message for _ in range(times) for message in (*exchange(0), reply("I will look again."))
    ]


def test_a_thread_that_goes_round_is_read_with_a_note() -> None:
    """The note stands behind the history and is not stored."""
    kept = memory()
    kept.put_messages([user("Look."), *same_answers(3)])
    read = kept.get()
    assert "[loopguard]" in (read[-1].content or "")
    assert kept.get() == read
    assert notes(kept.get_all()) == []


def test_a_healthy_history_is_read_as_it_is() -> None:
    """No note without a finding."""
    kept = memory()
    kept.put_messages(conversation(30))
    assert notes(kept.get()) == []


def test_where_the_policy_halts_reading_raises() -> None:
    """The policy says whether a cyclic thread ends the run."""
    kept = memory(guard=guard(on_warn=Action.HALT))
    kept.put_messages([user("Look."), *same_answers(3)])
    with pytest.raises(LoopDetected) as caught:
        kept.get()
    assert caught.value.verdict.reason.startswith("thread.")


async def test_memory_and_tools_guard_an_agent_that_is_not_guarded() -> None:
    """Tools block and tell; what they cannot end, the next reading of the memory ends."""
    reader, kept = Reader(), memory()
    runner = plain(READ, tools=kept.guard_tools([reader.tool]))
    with pytest.raises(LoopDetected):
        await runner.run("Read.", memory=kept, max_iterations=60)
    assert reader.ran < 10


async def test_memory_and_tools_leave_healthy_work_alone() -> None:
    """A run that reads different things is not touched."""
    reader, kept = Reader(), memory()
    steps = [reply("", call("read", path=f"{n}.py")) for n in range(10)]
    runner = plain(*steps, DONE, tools=kept.guard_tools([reader.tool]))
    assert str(await runner.run("Read.", memory=kept)) == "Done."
    assert all(not notes(messages) for messages in asked(runner).inputs)


async def test_the_note_of_a_run_is_sent_and_not_stored() -> None:
    """In a run, too, the model is told through what is read."""
    reader, kept = Reader(), memory()
    runner = plain(*repeat(READ, 4), tools=kept.guard_tools([reader.tool]))
    await runner.run("Read.", memory=kept)
    assert any(notes(messages) for messages in asked(runner).inputs)
    stored = [m for m in kept.get_all() if m.role.value == "user"]
    assert len(stored) == 1


async def test_in_a_guarded_agent_the_memory_only_trims() -> None:
    """One brain: the agent judges, and listeners hear of everything once."""
    ear, reader = Ear(), Reader()
    policy = ear.on(LoopGuard())
    kept = memory(guard=policy)
    await agent(*repeat(READ, 4), tools=[reader.tool], guard=policy).run("Read.", memory=kept)
    assert [event.kind for event in ear.events] == ["thread", "thread"]


async def test_it_is_the_memory_that_the_agent_uses() -> None:
    """An empty memory must not look like none."""
    kept = memory()
    assert kept
    await plain(DONE).run("Hello.", memory=kept)
    assert [m.content for m in kept.get_all()] == ["Hello.", "Done."]


def test_it_saves_and_loads_as_the_frameworks_memories_do() -> None:
    """Messages, key and limit survive; the guard is given again."""
    kept = memory(500, chat_store_key="k")
    kept.put_messages(conversation(3))
    policy = guard(on_halt="raise")
    loaded = LoopGuardMemory.from_dict(kept.to_dict(), guard=policy, estimate=chars_estimate)
    assert loaded.get_all() == kept.get_all()
    assert loaded.get() == kept.get()
    assert (loaded.token_limit, loaded.chat_store_key, loaded.guard) == (500, "k", policy)
    assert LoopGuardMemory.from_json(kept.to_json()).get_all() == kept.get_all()


async def test_a_saved_context_brings_the_memory_along() -> None:
    """Unlike a buffer with a tokenizer, it is part of what a context saves."""
    kept = memory()
    runner = agent(DONE)
    ctx = Context(runner)
    await runner.run("Hello.", ctx=ctx, memory=kept)
    loaded = Context.from_dict(runner, ctx.to_dict())
    again = await loaded.store.get("memory")
    assert [m.content for m in again.get_all()] == ["Hello.", "Done."]


def test_a_copy_shares_what_is_alive() -> None:
    """`edit_state` copies a memory; its run is not doubled, and its listeners are heard."""
    kept = memory()
    assert copy.deepcopy(kept)._reading is kept._reading


def test_defaults_are_those_of_the_framework() -> None:
    """Without a limit, the model's window decides, else the framework's own default."""
    assert LoopGuardMemory.from_defaults(llm=model(DONE)).token_limit == 75_000
    assert LoopGuardMemory.from_defaults().token_limit == 3_000
    assert isinstance(LoopGuardMemory.from_defaults(), BaseMemory)
    assert LoopGuardMemory.from_defaults(chat_history=[user("Hi.")]).get_all() == [user("Hi.")]


def test_a_limit_that_cannot_be_is_refused() -> None:
    """The error names the field."""
    with pytest.raises(ValidationError, match="token_limit"):
        LoopGuardMemory.from_defaults(token_limit=0)

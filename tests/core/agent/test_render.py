"""Entries as messages: the conformance cases, and what the reference leaves open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from loopguard_core.agent.budget import tokens_of
from loopguard_core.agent.entries import Entry, in_order
from loopguard_core.agent.render import RenderFormat, default_builder, grouped, render
from loopguard_core.agent.shaping import ShaperPolicy
from loopguard_core.agent.shaping.plan import tail_start
from loopguard_core.agent.shaping.prices import PriceList
from loopguard_core.agent.store import MemoryStore

from .cases import cases, ids

if TYPE_CHECKING:
    from loopguard_core.agent.chat import ChatMessage

RENDERED = cases("render", "render")
SHAPED = cases("render", "shaper_render")


def as_json(message: ChatMessage) -> dict[str, Any]:
    """Return a message as the cases have it: calls are flat, what is empty is left out."""
    shown = message.wire()
    calls = [
        {"id": call.id, "name": call.name, "arguments": call.arguments}
        for call in message.tool_calls
    ]
    if message.parts:
        shown = {**shown, "content": message.content, "parts": shown["content"]}
    return {**shown, "tool_calls": calls} if calls else shown


def policy_of(policy: dict[str, Any]) -> ShaperPolicy:
    """Make the policy of a case; what the reference does not do is off."""
    return ShaperPolicy(
        budget_tokens=policy.get("budget", 0),
        lod_headroom_tokens=policy.get("headroom", 0),
        preserve_last_messages=policy.get("last_messages", 0),
        preserve_last_tool_calls=policy.get("last_tool_calls", 0),
        lod_truncate_above_chars=policy.get("lod_chars", 0),
        always_lod=policy.get("always_lod", False),
        tool_format="heredoc" if policy.get("format") == "heredoc" else "native",
        verbatim_tool_results=policy.get("verbatim", False),
        count_arguments=False,
        repair_pairs=False,
    )


def test_no_case_is_lost() -> None:
    """The copy holds as many cases as it was made with."""
    assert (len(RENDERED), len(SHAPED)) == (18, 6)


@pytest.mark.parametrize("case", RENDERED, ids=ids(RENDERED))
def test_a_history_is_rendered(case: dict[str, Any]) -> None:
    """Entries become the messages that the case names."""
    given = case["in"]
    form = RenderFormat(
        tool_format="heredoc" if given["format"] == "heredoc" else "native",
        verbatim_tool_results=given["verbatim"],
    )
    entries = in_order(Entry(**entry) for entry in given["entries"])
    messages = render(entries, system=given["system"], form=form)
    assert [as_json(message) for message in messages] == case["out"]


@pytest.mark.parametrize("case", SHAPED, ids=ids(SHAPED))
def test_a_history_is_rendered_with_stubs(case: dict[str, Any]) -> None:
    """The tail, the stubs before it and the price are those that the case names."""
    given = case["in"]
    policy = policy_of(given["policy"])
    entries = in_order(Entry(**entry) for entry in given["entries"])
    start = tail_start(entries, policy)
    stubs = PriceList(policy).stubs(entries, start)[0] if given["lod"] else {}
    form = RenderFormat(
        tool_format=policy.tool_format, verbatim_tool_results=policy.verbatim_tool_results
    )
    messages = render(entries, system=given["system"], form=form, stubs=stubs)
    assert {
        "messages": [as_json(message) for message in messages],
        "pristine": len(entries) - start,
        "tokens": tokens_of(messages, count_arguments=False),
    } == case["out"]


def test_groups_are_messages() -> None:
    """Each group becomes one message, and together they hold every entry once, in order."""
    kinds = ["user", "assistant", "tool_call", "tool_call", "tool_result", "tool_call", "odd"]
    entries = [Entry(kind=kind, id=str(at)) for at, kind in enumerate(kinds)]
    groups = list(grouped(entries))
    assert [[entry.id for entry in group.entries] for group in groups] == [
        ["0"], ["1", "2", "3"], ["4"], ["5"], ["6"],
    ]  # fmt: skip
    assert len(render(entries)) == len(groups)


@pytest.mark.parametrize(("tool_format", "calls"), [("native", 1), ("heredoc", 0)])
async def test_the_default_builder_follows_the_format(tool_format: Any, calls: int) -> None:
    """Calls of a heredoc session are replayed as text (quirk Q03)."""
    store = MemoryStore()
    call = Entry(kind="tool_call", id="c", content="{}", tool_name="f", tool_call_id="i")
    await store.append("s", call.model_copy(update={"created_at": 1}))
    messages = await default_builder(store, tool_format=tool_format)("s", "")
    assert len(messages[0].tool_calls) == calls
    assert ("@@call f" in messages[0].content) is (tool_format == "heredoc")

"""Calls and results brought together: what every strict provider demands holds afterwards."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.agent.chat import ChatMessage, ToolCall
from loopguard_core.agent.pairing import UNANSWERED, repair_pairs


def message(word: str) -> ChatMessage:
    """Make a message from a word: `u`, `a`, `c1,2` (one message, two calls), `r1:text`."""
    match word[0]:
        case "u":
            return ChatMessage(role="user", content=word)
        case "a":
            return ChatMessage(role="assistant", content=word)
        case "c":
            calls = tuple(ToolCall(call_id, "f", "{}") for call_id in word[1:].split(","))
            return ChatMessage(role="assistant", tool_calls=calls)
        case _:
            call_id, _, text = word[1:].partition(":")
            return ChatMessage(role="tool", content=text, tool_call_id=call_id)


def word(some: ChatMessage) -> str:
    """Return the word that `message` makes *some* of."""
    if some.tool_calls:
        return "c" + ",".join(call.id for call in some.tool_calls)
    if some.role == "tool":
        content = "?" if some.content == UNANSWERED else some.content
        return f"r{some.tool_call_id}:{content}"
    return some.content


@pytest.mark.parametrize(
    ("given_words", "expected"),
    [
        # healthy: nothing changes
        ("u c1 r1:x a", "u c1 r1:x a"),
        ("c1,2 r1:x r2:y u", "c1,2 r1:x r2:y u"),
        ("c1 r1:x c1 r1:y", "c1 r1:x c1 r1:y"),
        ("u a u a", "u a u a"),
        ("", ""),
        # out of order, parted, lost
        ("c1,2 r2:y r1:x", "c1,2 r1:x r2:y"),
        ("c1 u1 r1:x", "c1 r1:x u1"),
        ("c1,2 r1:x u1 r2:y a", "c1,2 r1:x r2:y u1 a"),
        ("c1 u1 c2 r2:y r1:x", "c1 r1:x u1 c2 r2:y"),
        ("c1 u1", "c1 r1:? u1"),
        ("c1,2 r2:y", "c1,2 r1:? r2:y"),
        # a result that comes again before the model has read the first (Q15)
        ("c1 r1:pending r1:done u", "c1 r1:done u"),
        ("c1 r1:pending u1 r1:done a", "c1 r1:done u1 a"),
        ("c1,2 r1:pending r2:x r1:done", "c1,2 r1:done r2:x"),
        # one id for two calls of a message, and calls without an id
        ("c1,1 r1:x r1:y", "c1,1_2 r1:x r1_2:y"),
        ("c1,1 r1:x", "c1,1_2 r1:x r1_2:?"),
        ("c, r7:x r8:y", "c7,8 r7:x r8:y"),
        ("c", "ccall_0 rcall_0:?"),
    ],
)
def test_pairs_are_repaired(given_words: str, expected: str) -> None:
    """Each call is answered right behind it, exactly once."""
    repaired = repair_pairs([message(some) for some in given_words.split()])
    assert " ".join(map(word, repaired)) == expected


def test_a_result_without_a_call_says_what_it_is() -> None:
    """It becomes a user message; a provider refuses the result itself."""
    (orphan,) = repair_pairs([message("r9:late")])
    assert (orphan.role, orphan.content) == ("user", "[tool_result] late")


@pytest.mark.parametrize("said", ["a", "c2 r2:x"])
def test_what_has_come_of_a_lifted_call_is_news(said: str) -> None:
    """The model has read "pending" and spoken: the result is a message of its own, and the last.

    In the place of the first it would be behind the model's back, and the request would end with
    the assistant's own words, which some providers refuse (Q15).
    """
    thread = [message(some) for some in f"c1 r1:pending {said} r1:done".split()]
    repaired = repair_pairs(thread)
    assert repaired[:-1] == thread[:-1]
    assert (repaired[-1].role, repaired[-1].content) == ("user", "[tool_result 1] done")


def test_what_is_whole_is_the_very_same() -> None:
    """Messages that need no mending are not rebuilt."""
    whole = [message(some) for some in ["u", "c1,2", "r1:x", "r2:y", "a"]]
    assert all(mine is theirs for mine, theirs in zip(whole, repair_pairs(whole), strict=True))


WORDS = st.lists(
    st.sampled_from(
        ["u", "a", "c1", "c2", "c1,2", "c1,1", "c", "c1,", "r1:x", "r1:y", "r2:z", "r:", "r3:o"]
    ),
    max_size=12,
)


@given(WORDS)
@settings(derandomize=True, max_examples=300, deadline=None)
def test_every_history_can_be_sent(words: list[str]) -> None:
    """Afterwards no provider's rule is broken, nothing said is lost, and it is done for good."""
    before = [message(some) for some in words]
    after = repair_pairs(before)
    at = 0
    while at < len(after):
        calls = after[at].tool_calls
        answers = after[at + 1 : at + 1 + len(calls)]
        assert after[at].role != "tool"
        assert [answer.tool_call_id for answer in answers] == [call.id for call in calls]
        assert all(answer.role == "tool" for answer in answers)
        assert len({call.id for call in calls} | {""}) == len(calls) + 1
        at += 1 + len(calls)
    kept = [some.content for some in after]
    assert all(some.content in kept for some in before if some.role in {"user", "assistant"})
    assert repair_pairs(after) == after

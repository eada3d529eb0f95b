"""What texts and messages cost, and how much of a window may be filled."""

from __future__ import annotations

from typing import Any

import pytest

from loopguard_core.agent.budget import (
    CharsByFour,
    budget,
    byte_length,
    message_tokens,
    tokens_of,
)
from loopguard_core.agent.chat import ChatMessage, ImagePart, ImageUrl, TextPart, ToolCall
from loopguard_core.tokens import BLOCK_TOKENS

from .cases import cases, ids

ESTIMATES, BUDGETS = cases("tokens", "estimate"), cases("tokens", "budget")


def test_number_of_cases() -> None:
    """All conformance cases are there."""
    assert (len(ESTIMATES), len(BUDGETS)) == (8, 8)
    assert len(cases("tokens")) == 16


@pytest.mark.parametrize("case", ESTIMATES, ids=ids(ESTIMATES))
def test_estimate(case: dict[str, Any]) -> None:
    """A token is four bytes of UTF-8, rounded up."""
    assert CharsByFour.estimate(case["in"]["text"]) == case["out"]


@pytest.mark.parametrize("case", BUDGETS, ids=ids(BUDGETS))
def test_budget(case: dict[str, Any]) -> None:
    """A reserve of 0 to 99 percent is left out of the window."""
    assert budget(case["in"]["context"], case["in"]["reserve"]) == case["out"]


@pytest.mark.parametrize(("text", "length"), [("", 0), ("é", 2), ("🙂", 4), ("\ud800", 3)])
def test_length_is_in_bytes(text: str, length: int) -> None:
    """A text is as long as its UTF-8, a lone surrogate three bytes."""
    assert byte_length(text) == length


@pytest.mark.parametrize(
    ("role", "tokens"), [("user", 1), ("tool", 1), ("system", 2), ("assistant", 3)]
)
def test_a_role_has_a_price(role: Any, tokens: int) -> None:
    """A message without content costs its role."""
    assert message_tokens(ChatMessage(role=role)) == tokens


def test_each_text_is_rounded_up_alone() -> None:
    """Content, role and name of one byte more than four each cost two tokens and a whole one."""
    message = ChatMessage(role="user", content="12345", name="n")
    assert message_tokens(message) == 2 + 1 + 1
    assert tokens_of([message, message]) == 8


CALLING = ChatMessage(role="assistant", tool_calls=(ToolCall("id", "look", '{"a":1}'),))
PICTURE = ChatMessage(
    role="user",
    parts=(TextPart(text="12345"), ImagePart(image_url=ImageUrl(url="data:" + "x" * 10_000))),
)


@pytest.mark.parametrize(
    ("message", "extra"), [(CALLING, 1 + 2), (PICTURE, 2 + BLOCK_TOKENS)], ids=["call", "parts"]
)
def test_calls_and_parts_cost_unless_told_otherwise(message: ChatMessage, extra: int) -> None:
    """Arguments and parts are counted by default, and not as the reference counts (Q21)."""
    bare = message_tokens(message, count_arguments=False)
    assert bare == CharsByFour.estimate(message.role)
    assert message_tokens(message) == bare + extra


def test_an_estimator_of_the_host_prices_each_text() -> None:
    """Any callable from a text to a number will do; empty texts are not asked about."""
    asked: list[str] = []

    def estimate(text: str) -> int:
        asked.append(text)
        return 7

    assert message_tokens(ChatMessage(role="user", content="hello"), estimate) == 14
    assert asked == ["hello", "user"]

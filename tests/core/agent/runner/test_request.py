"""What a request asks, how it is configured, and what is needed for it."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from pydantic import ValidationError

from loopguard_core import InvalidInputError
from loopguard_core.agent.chat import ChatMessage, ToolCall, ToolDefinition
from loopguard_core.agent.runner import (
    ChatOptions,
    OpenAIRunner,
    OpenAIRunnerConfig,
    finding_text,
)
from loopguard_core.agent.runner.request import request_body
from loopguard_core.reply import ExactFinding

ASK = (ChatMessage(role="user", content="Hi"),)


def body(options: ChatOptions | None = None, *tools: ToolDefinition, **config: Any) -> Any:
    """Return the body of a request for `ASK`."""
    return request_body(ASK, tools, options or ChatOptions(), OpenAIRunnerConfig(**config))


def test_what_is_not_asked_is_left_out() -> None:
    """Servers refuse fields that they do not know."""
    assert body(include_usage=False) == {"messages": [ASK[0].wire()], "stream": True}


def test_the_call_goes_before_the_runner() -> None:
    """A field of the call replaces the runner's, and the call's own fields anything."""
    extra = {"temperature": 1, "stop": ["A"], "seed": 1}
    options = ChatOptions(stop=("B",), extra={"seed": 2, "stream_options": None})
    asked = body(options, extra_body=extra)
    assert (asked["temperature"], asked["stop"], asked["seed"]) == (1, ["B"], 2)
    assert asked["stream_options"] is None


def test_half_characters_are_mended_everywhere() -> None:
    """In keys, in lists and in texts."""
    options = ChatOptions(extra={"\ud800": ["\ud83d\ude00", {"a": "\udfff"}, 1, None]})
    assert body(options)["\ufffd"] == ["😀", {"a": "\ufffd"}, 1, None]


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("look", "look"),
        ("server.look", "server.look"),  # a tool's own name, whoever takes it
        ("functions.look", "functions_look"),
        ("", "unnamed"),
        ("two words", "two_words"),
        ("x" * 99, "x" * 64),
        ("\u00e9", "_"),
    ],
)
def test_names_of_calls_are_ones_that_endpoints_take(written: str, sent: str) -> None:
    """A call that no tool has would fail every later request; what is stored stays."""
    message = ChatMessage(role="assistant", tool_calls=(ToolCall("c", written, "{}"),))
    tools = [ToolDefinition(name="look"), ToolDefinition(name="server.look")]
    asked: Any = request_body([message], tools, ChatOptions(), OpenAIRunnerConfig())
    assert asked["messages"][0]["tool_calls"][0]["function"]["name"] == sent
    assert message.tool_calls[0].name == written


@pytest.mark.parametrize(
    "wrong",
    [
        {"timeout_s": 0},
        {"timeout_s": float("inf")},
        {"max_retries": -1},
        {"max_retries": "2"},
        {"include_usage": 1},
        {"trace_header": "X Trace"},
        {"trace_header": "X:"},
        {"extra_body": 1},
        {"unknown": 1},
    ],
)
def test_a_wrong_setting_is_named(wrong: dict[str, Any]) -> None:
    """The error names the setting."""
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        OpenAIRunnerConfig(**wrong)


def test_a_wrong_config_is_named() -> None:
    """A dict is no config."""
    with pytest.raises(InvalidInputError, match="config"):
        OpenAIRunner("m", config={})  # type: ignore[arg-type]  # on purpose


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the `openai` package the error says how to get it; importing costs nothing."""
    monkeypatch.delitem(sys.modules, "loopguard_core.agent.runner.endpoint", raising=False)
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ImportError, match=r"loopguard-core\[agent\]"):
        OpenAIRunner("m")


def test_a_sample_that_ends_within_a_character() -> None:
    """The rest of it is left out."""
    finding = ExactFinding("content", 201, 3, 402, b"a" * 199 + "ä".encode()[:1])
    assert finding_text(finding).endswith('"' + "a" * 199 + '"')

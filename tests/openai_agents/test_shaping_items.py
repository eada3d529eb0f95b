"""What shaping does to each kind of item."""

from __future__ import annotations

from typing import Any

import pytest

from loopguard_core.agent import ShaperPolicy
from loopguard_openai_agents import ContextShaper

from .driver import assert_valid
from .test_shaping import NOW, POLICY, SMALL, rounds, shaped

STUBS = POLICY.model_copy(update={"always_lod": True})


def call(kind: str = "function_call", call_id: str = "c", /, **fields: Any) -> dict[str, Any]:
    """Return a call."""
    fields = fields or {"name": "f", "arguments": "{}"}
    return {"type": kind, "call_id": call_id, **fields}


def output(value: Any, call_id: str = "c") -> dict[str, Any]:
    """Return what a call was answered."""
    return {"type": "function_call_output", "call_id": call_id, "output": value}


PICTURE = {"type": "input_image", "image_url": "u", "detail": "auto"}


def test_items_of_a_server_are_never_edited() -> None:
    """Compactions, hosted calls and pictures pass through; nobody answers a hosted call."""
    items = [
        {"type": "compaction", "id": "cmp", "encrypted_content": "x" * 3_000},
        {
            "type": "web_search_call",
            "id": "ws",
            "status": "completed",
            "action": {"type": "search"},
        },
        {"role": "user", "content": [{"type": "input_image", "image_url": "u", "detail": "auto"}]},
        {"type": "mcp_call", "id": "m", "name": "f", "arguments": "{}", "output": "o" * 900},
        *rounds(1),
        NOW,
    ]
    sent = shaped(ContextShaper(policy=STUBS), items)
    assert [mine is theirs for mine, theirs in zip(sent, items, strict=True)].count(False) == 0


@pytest.mark.parametrize(
    ("items", "kinds"),
    [
        (
            [{"type": "function_call_output", "call_id": "x", "output": "lost"}, NOW],
            ["user", "user"],
        ),
        (
            [NOW, {"type": "function_call", "call_id": "x", "name": "f", "arguments": "{}"}, NOW],
            ["user", "function_call", "function_call_output", "user"],
        ),
        (
            [
                {"type": "function_call", "call_id": "x", "name": "f", "arguments": "{}"},
                NOW,
                {"type": "function_call_output", "call_id": "x", "output": "late"},
            ],
            ["function_call", "function_call_output", "user"],
        ),
        ([NOW, {"type": "computer_call", "call_id": "x", "action": {}}], ["user", "computer_call"]),
    ],
)
def test_pairs_are_repaired(items: list[Any], kinds: list[str]) -> None:
    """Each call is answered right behind it, where a text can answer it (Q11)."""
    sent = shaped(ContextShaper(policy=ShaperPolicy()), items)
    assert [item.get("type") or item["role"] for item in sent] == kinds


@pytest.mark.parametrize(
    ("item", "key", "rest"),
    [
        ({"role": "assistant", "content": "a" * 900}, "content", []),
        (
            {
                "type": "message",
                "role": "assistant",
                "id": "m",
                "content": [
                    {
                        "type": "output_text",
                        "text": "a" * 500,
                        "annotations": [{}],
                        "logprobs": [{}],
                    },
                    {"type": "output_text", "text": "a" * 400, "annotations": []},
                    {"type": "refusal", "refusal": "no"},
                ],
            },
            "content",
            [{"type": "refusal", "refusal": "no"}],
        ),
        (
            {"role": "user", "content": [PICTURE, {"type": "input_text", "text": "a" * 900}]},
            "content",
            [PICTURE],
        ),
    ],
)
def test_messages_are_stubbed_in_their_text(item: Any, key: str, rest: list[Any]) -> None:
    """Whatever their form; the rest of their content stays, and notes about the text go."""
    items = [item, *rounds(3, size=9)]
    before = repr(items)
    (sent, *others) = shaped(ContextShaper(policy=STUBS), items)
    value: Any = sent[key]
    parts = [{"text": value, "annotations": []}] if isinstance(value, str) else value
    (text,) = [part for part in parts if "text" in part]
    assert text["text"].startswith("[truncated event_id=0 len=90")
    assert text.get("annotations", []) == []
    assert "logprobs" not in text
    assert [part for part in parts if part is not text] == rest
    assert all(mine is theirs for mine, theirs in zip(others, items[1:], strict=True))
    assert repr(items) == before


@pytest.mark.parametrize("verbatim", [True, False])
def test_results_of_several_parts(*, verbatim: bool) -> None:
    """Their text is made harmless and cut like any other, and pictures stay."""
    parts = [{"type": "input_text", "text": "<|im_end|>" + "b" * 900}, PICTURE]
    policy = ShaperPolicy(verbatim_tool_results=verbatim)
    sent: Any = shaped(
        ContextShaper(policy=policy, max_result_bytes=90), [NOW, call(), output(parts)]
    )
    text, picture = sent[2]["output"]
    assert text["text"].startswith("<|im_end|>" if verbatim else "&lt;|im_end|>")
    assert "…[truncated" in text["text"]
    assert picture is PICTURE
    assert parts[0]["text"].endswith("b" * 900)


def test_what_has_no_text_is_sent_as_it_is() -> None:
    """Of a shell and of a computer, however long."""
    shell = {"type": "shell_call_output", "call_id": "s", "output": [{"stdout": "<|x|>" * 400}]}
    screen = {"type": "computer_call_output", "call_id": "k", "output": {"image_url": "u" * 900}}
    items: Any = [
        NOW,
        call("shell_call", "s", action={"commands": ["ls"]}),
        shell,
        call("computer_call", "k", action={"type": "screenshot"}),
        screen,
        *rounds(2),
    ]
    sent = shaped(ContextShaper(policy=STUBS, max_result_bytes=50), items)
    assert all(mine is theirs for mine, theirs in zip(sent[:5], items, strict=False))


def test_what_a_shell_wrote_is_summarised() -> None:
    """It is text, though it cannot be shortened; pictures are not."""
    prompts: list[str] = []
    items: Any = [
        NOW,
        call("shell_call", "s", action={"commands": ["ls"]}),
        {"type": "shell_call_output", "call_id": "s", "output": [{"stdout": "found it" * 300}]},
        call("computer_call", "k", action={"type": "screenshot"}),
        {"type": "computer_call_output", "call_id": "k", "output": {"image_url": "base64"}},
        *rounds(2),
    ]
    shaper = ContextShaper(policy=SMALL, summarizer=lambda p: prompts.append(p) or "so")
    assert len(shaped(shaper, items)) < len(items)
    assert "found it" in prompts[0]


def test_pictures_have_their_price() -> None:
    """Those of a computer too: old ones are folded where they are over the budget."""
    items: Any = [NOW]
    for number in range(9):
        screen = {"type": "computer_screenshot", "image_url": "data:"}
        items += [
            call("computer_call", f"k{number}", action={"type": "screenshot"}),
            {"type": "computer_call_output", "call_id": f"k{number}", "output": screen},
        ]
    policy = ShaperPolicy.for_context(9_000, lod_headroom_tokens=-1)
    sent = shaped(ContextShaper(policy=policy, summarizer=lambda _: "so"), items)
    assert len(sent) < len(items)
    assert_valid(sent)


@pytest.mark.parametrize("stubs", [True, False])
def test_arguments_are_stubbed_as_json_if_the_policy_says_so(*, stubs: bool) -> None:
    """Only those of functions, which a provider parses."""
    policy = STUBS.model_copy(update={"stub_arguments": stubs})
    long = '{"a": "' + "z" * 900 + '"}'
    items: Any = [
        call(name="f", arguments=long),
        output("r"),
        call("custom_tool_call", "k", name="f", input="z" * 900),
        {"type": "custom_tool_call_output", "call_id": "k", "output": "r"},
        *rounds(3, size=9),
    ]
    sent: Any = shaped(ContextShaper(policy=policy), items)
    assert ("_truncated" in sent[0]["arguments"]) is stubs
    assert sent[2] is items[2]


def test_a_fold_leaves_what_only_the_server_can_read() -> None:
    """And what a developer says; the summary stands behind a compaction, where it counts."""
    kept: list[Any] = [
        {"type": "compaction", "id": "cmp", "encrypted_content": "x" * 900},
        {"role": "developer", "content": "obey"},
        {"type": "reasoning", "id": "rs", "summary": []},
        {"type": "mcp_approval_request", "id": "ap", "name": "f", "arguments": "{}"},
        {"type": "mcp_approval_response", "approval_request_id": "ap", "approve": True},
        {"type": "item_reference", "id": "msg"},
        {"type": "tool_search_call", "call_id": "t", "execution": "server", "arguments": {}},
        {"type": "tool_search_output", "call_id": "t", "execution": "server", "tools": []},
    ]
    items = [{"role": "user", "content": "q"}, *kept, *rounds(5), NOW]
    sent = shaped(ContextShaper(policy=SMALL, summarizer=lambda _: "so"), items)
    assert sent[: len(kept)] == kept
    assert sent[len(kept)] == {"role": "user", "content": "[compacted]\nso"}
    assert_valid(sent)


def test_ids_that_come_again() -> None:
    """A call without a result is answered as what it is, though its id was answered elsewhere."""
    shell = [
        call("shell_call", action={"commands": ["ls"]}),
        {"type": "shell_call_output", "call_id": "c", "output": []},
    ]
    shaper = ContextShaper(policy=ShaperPolicy())
    sent: list[Any] = shaped(shaper, [NOW, *shell, NOW, call(), NOW])
    assert sent[5]["type"] == "function_call_output"
    assert_valid(sent)
    sent = shaped(shaper, [NOW, call(), NOW, *shell, NOW])
    assert sent[2]["type"] == "function_call_output"


def test_what_cannot_be_shortened_is_priced_whole() -> None:
    """A stub of it would fit, but it is not sent as one, so it is folded."""
    items: Any = [
        {"type": "mcp_call", "id": "m", "name": "f", "arguments": "{}", "output": "o" * 4_400},
        *rounds(3, size=9),
        NOW,
    ]
    sent = shaped(ContextShaper(policy=POLICY, summarizer=lambda _: "so"), items)
    assert sent[0] == {"role": "user", "content": "[compacted]\nso"}

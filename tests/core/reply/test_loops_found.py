"""The shapes of loops that a guard must find, and how soon."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from .writing import Writer, first_report

_writer = Writer(1)
PARAGRAPH = _writer.prose(760) + "\n\n"
OTHER = _writer.prose(400) + "\n\n"
PASSAGE = _writer.prose(3000)
BLOCK = "First we check the input. Then we validate the schema. Finally we write the output."
LONG_BLOCK = (
    "The parser reads the incoming request and checks it. It then stores the value in the cache "
    "for later. After that the worker returns the result to the caller."
)
REWORDED = [
    "Let me think about this problem again.",
    "I need to reconsider this problem once more.",
    "Thinking about the problem again.",
    "I should think about this problem one more time.",
    "Once more, let me reconsider the problem.",
    "Let me go over this problem again.",
]
STATED = [
    "The server returns an error because the token has expired.",
    "We have to refresh the token before we call the server.",
    "The cached token is too old, so the request is rejected.",
    "After refreshing the token the request should be accepted.",
]
CALLS = "".join(
    f'{{"name": "search", "arguments": {{"query": "weather in {city}"}}}}\n'
    for city in ("Paris", "Rome", "Oslo", "Bern")
)


@dataclass(frozen=True)
class Loop:
    """A text that loops, and the character by which that must be reported."""

    id: str
    text: str
    by: float  # up to 1: share of the text; above: characters
    channel: str = "content"


def _shuffled(sentence: str, turn: int) -> str:
    words = sentence.rstrip(".").lower().split()
    turn %= len(words)
    return " ".join(words[turn:] + words[:turn]).capitalize() + ". "


LOOPS = [
    Loop("short-phrase", "I don't know. " * 60, 0.5),
    Loop("short-phrase-with-comma", "so it goes, " * 60, 0.5),
    Loop("paragraph", PARAGRAPH * 5, 0.8),
    Loop("two-paragraphs-alternating", (PARAGRAPH + OTHER) * 6, 0.8),
    Loop("three-paragraphs-of-each", (PARAGRAPH + OTHER) * 3, 0.8),
    Loop("counter", "".join(f"Step {i}: check the value.\n" for i in range(60)), 0.5),
    Loop("counter-and-dots", "".join(f"step {i} ...\n" for i in range(1, 61)), 0.5),
    Loop(
        "counter-in-two-sentences",
        "".join(f"Step {i}: I check it again. It is still the same.\n" for i in range(60)),
        0.5,
    ),
    Loop("counter-in-a-list", "".join(f"{i}. Continue as before\n" for i in range(60)), 0.5),
    Loop("word", "word " * 300, 0.5),
    Loop("short-word", "go " * 300, 0.5),
    Loop("word-a-line", "buffalo\n" * 300, 0.5),
    Loop("newlines", "\n" * 700, 600),
    Loop("spaces", " " * 700, 600),
    Loop("chinese", "我们需要再考虑一下这个问题。" * 25, 0.5),
    Loop("chinese-short", "这是一个测试句子。" * 25, 0.5),
    Loop("chinese-lines", "我们需要再考虑一下这个问题。\n" * 25, 0.5),
    Loop("japanese", "もう一度考えてみましょう。" * 25, 0.5),
    Loop("korean", "다시 한번 생각해 보겠습니다. " * 25, 0.5),
    Loop("thai", "ฉันไม่รู้จะทำอย่างไร " * 25, 0.5),
    Loop("emoji", "😀" * 300, 0.5),
    Loop("emoji-of-many-parts", "👨‍👩‍👧" * 300, 0.5),
    Loop("letter", "a" * 500, 500),
    Loop("bullet", "- Check the configuration\n" * 60, 0.5),
    Loop("short-bullet", "- item\n" * 60, 0.5),
    Loop("code-line", "```python\n" + "    x += 1\n" * 80 + "```\n", 0.5),
    Loop("code-word", "```python\n" + "pass\n" * 80 + "```\n", 0.5),
    Loop("long-code-line", "```\n" + "    self.assertEqual(result, expected)\n" * 80, 0.5),
    Loop("block-in-a-list", f"- {BLOCK}\n" * 12, 0.5),
    Loop("block-in-a-numbered-list", "".join(f"{i}. {BLOCK}\n" for i in range(1, 13)), 0.5),
    Loop("long-block-in-a-list", f"- {LONG_BLOCK}\n" * 12, 0.5),
    Loop("digits", "7" * 400, 400),
    Loop("digits-in-turn", "1234567890" * 40, 400),
    Loop("digits-of-a-number", "3.14" * 400, 600),
    Loop("json-and-newlines", '{"a": 1, "b": [1, 2]}' + "\n" * 2000, 600),
    Loop("json-and-indents", '{"a": 1}' + "\n                  " * 200, 600),
    Loop("json-and-space-in-a-call", '{"a": 1}' + " \n\t" * 700, 600, "tool:write arguments"),
    Loop("code-in-a-call", '{"code": "' + "x = y + 1\\n" * 200, 0.5, "tool:write arguments"),
    Loop("passage", PASSAGE * 4 + _writer.prose(8000), 0.8),
    Loop("passage-at-the-end", _writer.prose(8000) + PASSAGE * 4, 0.8),
    Loop("passage-in-between", "".join(_writer.prose(2000) + PASSAGE for _ in range(4)), 0.8),
    Loop("reworded", "".join(REWORDED[i * i % 6] + " " for i in range(120)), 0.5, "reasoning"),
    Loop(
        "reworded-in-another-order",
        "".join(_shuffled(STATED[i * i % 4], i) for i in range(80)),
        0.5,
        "reasoning",
    ),
    Loop("tags", "</b><b>" * 60, 0.5),
    Loop("tags-on-lines", "</think>\n<think>\n" * 60, 0.5),
    Loop("calls", CALLS * 12, 0.5),
    Loop(
        "label-that-counts",
        "".join(f"({c}) Find the value of x. {BLOCK} " for c in "abcdefghij" * 3),
        0.5,
    ),
]


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.id)
def test_it_is_found_in_time(loop: Loop) -> None:
    """Before half of the text; before 80% of it where there are few copies; in 600 characters."""
    report = first_report(loop.text, loop.channel)
    assert report is not None
    at, finding = report
    assert at <= (loop.by * len(loop.text) if loop.by <= 1 else loop.by)
    assert finding.where == loop.channel
    assert 0 <= finding.keep_chars < at


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.id)
@pytest.mark.parametrize("piece_chars", [1, 7, 100])
def test_it_is_found_at_the_same_character_however_it_is_cut(loop: Loop, piece_chars: int) -> None:
    """Pieces of any size lead to the same finding at the same place."""
    expected = first_report(loop.text, loop.channel)
    assert expected is not None
    head = loop.text[: expected[0] + 200]
    assert first_report(head, loop.channel, piece_chars=piece_chars) == expected

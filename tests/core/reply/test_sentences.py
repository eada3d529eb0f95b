"""Sentences, words, keys, and what a sentence looks like."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from loopguard_core.reply.line_kind import LineKind, line_kind
from loopguard_core.reply.sentences import SentenceStream, count_characters, key_of, words_of


def _cut(text: str, max_bytes: int = 512) -> list[str]:
    return [sentence.text for sentence in SentenceStream(max_bytes).feed(text)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?"]),
        ("a line\nanother\n", ["a line", "another"]),
        ("3.14 in a.py is 1.5 no end", []),
        ("Ends here.", []),
        ("Ends here. ", ["Ends here."]),
        ("这是一句。还有一句\uff01真的\uff1f没完", ["这是一句。", "还有一句\uff01", "真的\uff1f"]),
        ("\n\n", ["", ""]),
    ],
    ids=["marks", "lines", "numbers", "mark-at-the-end", "mark-and-space", "chinese", "blank"],
)
def test_where_a_sentence_ends(text: str, sentences: list[str]) -> None:
    """After a newline, a mark before white space, or a mark of Chinese writing; never before."""
    assert _cut(text) == sentences


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("word " * 10, "word word word word"),
        ("x" * 30, "x" * 20),
        ("ä" * 30, "ä" * 10),
        ("😀" * 30, "😀" * 5),
        ("aaa" + "ä" * 30, "aaa" + "ä" * 8),
        ("\ud800" * 30, "\ud800" * 6),
    ],
    ids=["last-space", "no-space", "two-bytes", "four-bytes", "inside-a-character", "surrogates"],
)
def test_text_without_an_end_is_cut(text: str, first: str) -> None:
    """At 20 bytes: at the last space if there is one, and never inside a character."""
    assert _cut(text, 20)[0] == first


TEXTS = st.text(st.sampled_from("aaaabbb   .!\n。ää😀"), max_size=120)


@settings(max_examples=150, derandomize=True, deadline=None)
@given(text=TEXTS, cuts=st.lists(st.integers(0, 120), max_size=8))
@example(text="a" * 40 + "\n" + "b" * 23 + ". ", cuts=[])
@example(text="a b" * 7 + "ab. ", cuts=[24])
def test_cuts_depend_on_the_text_alone(text: str, cuts: list[int]) -> None:
    """However the text is chunked, the same sentences end at the same characters."""
    bounds = [0, *sorted(cuts), len(text)]
    stream = SentenceStream(24)
    chunked = [
        sentence for start, end in pairwise(bounds) for sentence in stream.feed(text[start:end])
    ]
    assert chunked == SentenceStream(24).feed(text)
    assert all(len(sentence.text.encode()) <= 24 for sentence in chunked)


def test_ends_count_characters() -> None:
    """A sentence knows where in the channel it ended, and whether a line ended there."""
    stream = SentenceStream(512)
    sentences = [*stream.feed("Äh. One two"), *stream.feed("\nLast"), *stream.close()]
    assert [(s.text, s.end, s.ends_line) for s in sentences] == [
        ("Äh.", 3, False),
        ("One two", 12, True),
        ("Last", 16, False),
    ]
    assert stream.close() == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's a_b 3.14, OK?", ["it", "s", "a", "b", "3", "14", "ok"]),
        ("Straße naïve", ["straße", "naïve"]),
        ("再考虑一下", ["再考", "考虑", "虑一", "一下"]),
        ("使用 Python 吧", ["使用", "python", "吧"]),
        ("รู้จัก", ["รู", "ู้", "้จ", "จั", "ัก"]),
        ("---", []),
    ],
    ids=["latin", "letters", "chinese", "mixed", "thai", "none"],
)
def test_words(text: str, words: list[str]) -> None:
    """Runs of letters and digits; pairs of characters where writing has no spaces."""
    assert words_of(text) == words


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Let me check.", "let  me CHECK!", True),
        ("(b) Find the value.", "(c) Find the value", True),
        ("- an item", "an item", True),
        ("x = -1", "x = 1", False),
        ("a < b", "a > b", False),
        ("3.14 is it", "14 is it", False),
    ],
)
def test_key(one: str, other: str, *, same: bool) -> None:
    """Case, spacing, closing marks and a label of a list do not matter; signs do."""
    assert (key_of(one) == key_of(other)) == same


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The parser reads the value.", LineKind.PROSE),
        ('He said "read the value again."', LineKind.PROSE),
        ("这个答案是正确的、但是还需要验证。", LineKind.PROSE),
        ("The parser reads the value", LineKind.LINE),
        ("It is so.", LineKind.LINE),
        ("return self.value(other, thing)", LineKind.LINE),
        ("[INFO] worker has nothing to do.", LineKind.LINE),
        ("2024-05-01 worker has nothing to do.", LineKind.LINE),
        ('File "app/core.py", line 40, in run', LineKind.FRAME),
        ('INTERNALERROR> File "core.py", line 4, in run', LineKind.FRAME),
        ("at Object.run (core.js:40:12)", LineKind.FRAME),
        ("src/app/core.py:40: AttributeError", LineKind.FRAME),
        ("1 + 1 = 2.", LineKind.DATA),
        ("| --- | --- |", LineKind.DATA),
    ],
)
def test_line_kind(text: str, kind: LineKind) -> None:
    """Prose ends like a sentence and has four words of three letters."""
    assert line_kind(text) is kind


def test_characters_are_counted_by_where_they_begin() -> None:
    """Bytes that continue a character count nothing."""
    assert count_characters("äx😀".encode()[1:]) == 2

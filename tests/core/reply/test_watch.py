"""`ReplyWatch` and `ReplyLoopDetector`: verdicts, findings, history and totals."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.errors import InvalidInputError
from loopguard_core.message import Message
from loopguard_core.reply import ExactConfig, ReplyLoopConfig, ReplyLoopDetector

from .writing import GUARD, Writer

SENTENCES = [Writer(i).sentence() + " " for i in range(30)]
LOOP = "".join(SENTENCES)
SMALL = ReplyLoopConfig(window=10, exact=ExactConfig(off=True), min_span=100)
BLOCK = "EXCEPT THE WESTERLY 50 FEET OF LOTS 7 TO 10 AND THE NORTHERLY 20 FEET OF LOT 11 TOO "


def test_a_cut_is_asked_for_once() -> None:
    """At the third saying; after it nothing is returned, and counting goes on."""
    detector = ReplyLoopDetector(SMALL)
    watch = detector.begin()
    cuts = [found for _ in range(8) if (found := watch.watch("content", LOOP)) is not None]
    assert [found.reps for found in cuts] == [3]
    assert watch.loops()[0] == 8
    assert watch.finding is not None
    assert watch.finding.reps == 8
    assert dict(detector.counters().interrupted) == {"cycle": 1}


def test_nothing_found() -> None:
    """A reply that goes on has no loops."""
    watch = ReplyLoopDetector().begin()
    assert watch.watch("content", LOOP) is None
    assert watch.watch("content", "") is None
    assert (watch.loops(), watch.finding) == ((0, ""), None)


def test_what_a_finding_of_sentences_says() -> None:
    """The earliest and the newest text, and how much of the channel is worth keeping."""
    watch = ReplyLoopDetector(SMALL).begin()
    found = watch.watch("content", "Äpfel zuerst. " + LOOP * 4)
    assert found is not None
    assert (found.kind, found.detector, found.where) == ("cycle", "reply.cycle", "content")
    assert (found.period, found.reps, found.trailing) == (0, 3, 0)
    assert found.first == found.last == found.sample
    assert found.first + " " in SENTENCES
    assert found.keep_chars == len("Äpfel zuerst. " + LOOP) - 1


def test_texts_of_a_finding_are_cut() -> None:
    """To so many bytes of UTF-8, never inside a character."""
    config = SMALL.model_copy(update={"sample_bytes": 5})
    watch = ReplyLoopDetector(config).begin()
    loop = "".join(f"Ääää {word} öffnet etwas. " for word in "abcdefghijk")
    found = watch.watch("content", loop * 4)
    assert found is not None
    assert (found.first, found.last) == ("Ää", "Ää")


def test_the_block_comes_before_the_sentences() -> None:
    """A delta in which both see a loop is named after the block, which has one copy to keep."""
    watch = ReplyLoopDetector().begin()
    found = watch.watch("content", BLOCK * 20)
    assert found is not None
    assert (found.kind, found.reps, found.trailing) == ("exact", 20, 19 * 84)
    assert found.keep_chars == len(BLOCK)


def test_channels_have_their_own_memory() -> None:
    """An answer that was drafted twice in thinking is not cut when it is given."""
    watch = ReplyLoopDetector(GUARD).begin()
    assert watch.watch("thinking", LOOP + "That is a draft. " + LOOP) is None
    assert watch.watch("content", LOOP) is None
    assert watch.watch("thinking", LOOP) is not None


def test_arguments_are_not_read_as_sentences() -> None:
    """Under a label for arguments there are blocks, and no sentences."""
    detector = ReplyLoopDetector(SMALL)
    watch = detector.begin()
    assert watch.watch("tool:write arguments", LOOP * 9) is None
    assert detector.counters().sentences == 0


def test_channels_are_bounded() -> None:
    """Names of tools are the model's; only the latest channels are remembered."""
    watch = ReplyLoopDetector(GUARD).begin()
    for i in range(100):
        watch.watch(f"tool:{i} arguments", "x")
    assert len(watch._channels) == 16


def test_off() -> None:
    """A detector that is off counts nothing and asks for nothing."""
    detector = ReplyLoopDetector(ReplyLoopConfig(off=True))
    watch = detector.begin([Message.bot(LOOP * 9)])
    assert watch.watch("content", BLOCK * 90) is None
    assert watch.watch_tool_call("t", {}) is None
    assert (watch.loops(), detector.counters().sessions) == ((0, ""), 0)


@pytest.mark.parametrize("text", ["\ud800" * 900, "\0" * 900, "a\u0301" * 900, "\u202e x." * 90])
def test_odd_text_does_not_raise(text: str) -> None:
    """What a model says is data, and its finding can be encoded."""
    for config in (GUARD, ReplyLoopConfig()):
        watch = ReplyLoopDetector(config).begin()
        for start in range(0, len(text), 10):
            watch.watch("content", text[start : start + 10])
        if watch.finding is not None:
            watch.finding.sample.encode()


# History


def _call(result: str, name: str = "status") -> Message:
    return Message.tool_response(name, {"job": 1}, result, "id")


def test_history_counts_and_never_cuts() -> None:
    """A turn that loops is found before the reply says anything, and cut when it goes on."""
    history = [Message.user("go on"), Message.bot(LOOP * 4)]
    detector = ReplyLoopDetector(SMALL)
    watch = detector.begin(history)
    assert watch.loops() == (4, "cycle")
    assert dict(detector.counters().detected)["cycle"] == 1
    assert watch.watch("content", "I will look at it in another way from here on. ") is None
    assert watch.watch("content", SENTENCES[0]) is not None
    assert detector.counters().sentences == 2


def test_history_waits_for_a_whole_sentence() -> None:
    """What has no end yet repeats nothing; until then the turn before it is not read."""
    detector = ReplyLoopDetector(SMALL)
    watch = detector.begin([Message.bot(LOOP * 4)])
    assert watch.watch("content", SENTENCES[0].strip()) is None
    assert dict(detector.counters().detected) == {}
    assert watch.watch("content", " ") is not None
    assert "cycle" in dict(detector.counters().detected)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=9))
@settings(derandomize=True, max_examples=30, deadline=None)
def test_when_the_history_is_read_changes_no_cut(sizes: list[int]) -> None:
    """Asked for its loops at once, or never, a watch cuts at the same character."""
    text, history = LOOP * 3, [Message.bot(LOOP), Message.bot(LOOP)]
    eager, lazy = ReplyLoopDetector(SMALL).begin(history), ReplyLoopDetector(SMALL).begin(history)
    eager.loops()
    at = 0
    for n in range(200):
        piece = text[at : at + sizes[n % len(sizes)]]
        at += len(piece)
        assert eager.watch("content", piece) == lazy.watch("content", piece)
    assert eager.loops() == lazy.loops()


def test_history_does_not_shift_what_is_kept() -> None:
    """Characters are those of the reply."""
    watch = ReplyLoopDetector(SMALL).begin([Message.bot(LOOP * 2)])
    found = watch.watch("content", "Something else that is new here. " + LOOP)
    assert found is not None
    assert found.keep_chars == len("Something else that is new here.")


def test_the_last_sentence_of_a_message_ends_with_it() -> None:
    """A message is whole; its end is the end of a sentence."""
    said = "the parser reads the incoming request"
    watch = ReplyLoopDetector(SMALL).begin([Message.bot(said)] * 12)
    assert watch.loops() == (6, "cycle")


@pytest.mark.parametrize(
    ("history", "count"),
    [
        ([_call("running")] * 6, 6),
        ([_call("running")] * 6 + [Message.user("stop")], 0),
        ([_call(str(i)) for i in range(6)], 0),
        ([Message.tool_request("status", {"job": 1}, "id")] * 6, 0),
        ([Message(type="activity", meta={"activity": {"type": "response"}})] * 6, 0),
        ([Message.user(LOOP)] * 6, 0),
        ([_call(LOOP, str(i)) for i in range(6)], 0),
    ],
    ids=["same", "before-a-person", "progress", "no-result", "unreadable", "person", "results"],
)
def test_what_of_the_history_is_read(history: list[Message], count: int) -> None:
    """The turn's finished calls and the model's own texts, not what people or tools said."""
    assert ReplyLoopDetector(SMALL).begin(history).loops()[0] == count


def test_a_call_that_goes_on_with_the_history() -> None:
    """The call of the reply asks for the cut, by the tool's name."""
    watch = ReplyLoopDetector().begin([_call("running")] * 3)
    found = watch.watch_tool_call("status", '{"job": 1}')
    assert found is not None
    assert (found.kind, found.where, found.reps, found.keep_chars) == ("tool", "status", 4, 0)
    assert found.sample == 'status({"job": 1})'
    assert watch.watch_tool_call("status", {"job": 1}) is None


@pytest.mark.parametrize("history", ["text", [1], None])
def test_a_bad_history_is_named(history: object) -> None:
    """What is no sequence of messages is the programmer's error."""
    with pytest.raises(InvalidInputError, match="history"):
        ReplyLoopDetector().begin(history)  # type: ignore[arg-type]  # that is the test


# Totals


def test_counters() -> None:
    """Totals add up over replies, kinds once a reply, and reading them gives a copy."""
    detector = ReplyLoopDetector()
    before = detector.counters()
    for _ in range(2):
        watch = detector.begin()
        watch.watch("content", "Äpfel und Birnen sind Obst. " * 3 + BLOCK * 40)
    counters = detector.counters()
    assert (before.sessions, counters.sessions) == (0, 2)
    assert counters.bytes == 2 * (3 * 29 + 40 * 84)
    assert counters.sentences > counters.repeats > 2
    assert counters.detected["exact"] == counters.interrupted["exact"] == 2


def test_replies_in_threads() -> None:
    """Replies that stream at the same time share totals and stems, and nothing else."""
    detector = ReplyLoopDetector(GUARD)

    def reply(number: int) -> int:
        watch = detector.begin()
        text = LOOP * (4 if number % 2 else 1)
        return sum(
            watch.watch("content", text[i : i + 32]) is not None for i in range(0, len(text), 32)
        )

    with ThreadPoolExecutor(4) as pool:
        cuts = list(pool.map(reply, range(20)))
    assert cuts == [0, 1] * 10
    counters = detector.counters()
    assert (counters.sessions, sum(counters.interrupted.values())) == (20, 10)
    assert counters.bytes == 10 * 5 * len(LOOP)


@settings(max_examples=25, derandomize=True, deadline=None)
@given(data=st.data())
def test_sentences_do_not_depend_on_how_they_are_cut(data: st.DataObject) -> None:
    """However the text is chunked, cycle and phrase ask for the same cut."""
    text = "".join(data.draw(st.lists(st.sampled_from(SENTENCES[:6]), min_size=20, max_size=60)))
    expected = ReplyLoopDetector(SMALL).begin()
    whole = expected.watch("content", text)
    watch = ReplyLoopDetector(SMALL).begin()
    cuts, at = [], 0
    while at < len(text):
        size = data.draw(st.integers(1, 200))
        cuts.append(watch.watch("content", text[at : at + size]))
        at += size
    assert next(filter(None, cuts), None) == whole
    assert watch.finding == expected.finding

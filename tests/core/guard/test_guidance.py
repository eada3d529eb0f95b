"""The texts a model reads: framed, and taken away again without a trace."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core import Action, Finding, Verdict
from loopguard_core.guard import guidance

FINDING = Finding("thread.repeated_suffix", "warn", 3, "The last messages repeat.", ("read",))
HALT = Verdict(Action.HALT, (FINDING,))
NOTES = {
    "nudge": guidance.nudge_text((FINDING,)),
    "block": guidance.block_text((FINDING,)),
    "cut": guidance.cut_text((FINDING,)),
    "unexecuted": guidance.unexecuted_text(HALT),
    "instruction": guidance.answer_instruction(HALT),
}


@settings(derandomize=True, max_examples=100)
@given(st.text(), st.sampled_from(sorted(NOTES)))
def test_an_appended_note_is_taken_away_exactly(result: str, name: str) -> None:
    """What is left is the very result, to the last white space."""
    before = guidance.without_guidance(result)
    assert guidance.without_guidance(guidance.append_guidance(before, NOTES[name])) == before


@pytest.mark.parametrize("note", NOTES.values(), ids=NOTES)
def test_a_text_that_is_nothing_but_a_note_becomes_empty(note: str) -> None:
    """The result of a blocked call says nothing about the tool."""
    assert guidance.without_guidance(note) == ""


@pytest.mark.parametrize("note", NOTES.values(), ids=NOTES)
def test_every_note_says_what_was_seen(note: str) -> None:
    """A model that is told to stop is told why."""
    assert FINDING.message in note


@pytest.mark.parametrize(
    "text", ["", "plain", "[loopguard] open", "[/loopguard]", "a [loopguard] b [/loopguard] c"]
)
def test_a_text_without_an_appended_note_stays_as_it_is(text: str) -> None:
    """What a tool says by chance about loopguard is the tool's."""
    assert guidance.without_guidance(text) == text


def test_nothing_is_appended_where_there_is_nothing_to_say() -> None:
    """A nudge that was told already adds nothing."""
    assert guidance.append_guidance("result", "") == "result"


def test_the_record_of_a_verdict_is_json_and_names_the_detector() -> None:
    """A stopped run has a reason that a machine can read."""
    record = guidance.verdict_record(HALT)
    assert json.loads(json.dumps(record)) == record
    assert (record["action"], record["detector"]) == ("halt", "thread.repeated_suffix")


def test_the_final_message_is_for_a_person() -> None:
    """The frame is for models; what ends a run is read by people."""
    text = guidance.halt_text(HALT)
    assert FINDING.message in text
    assert "[loopguard]" not in text

"""Placeholders: what is captured, and what they become."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.agent.entries import Entry
from loopguard_core.agent.sections import placeholders
from loopguard_core.agent.transclusion import (
    OUTPUT,
    SLOT_NOTE,
    Slots,
    expand_entries,
    slots_of,
    with_slot_note,
)
from loopguard_core.errors import InvalidInputError
from loopguard_core.guard.guidance import append_guidance, nudge_text

from .cases import cases, ids

CAPTURES = cases("transclude_capture")
EXPANSIONS = cases("transclude_expand", "expand")
HISTORIES = cases("transclude_expand", "expand_entries")
SECTIONS = cases("truncate", "sections")


def test_number_of_cases() -> None:
    """All conformance cases are there."""
    assert (len(CAPTURES), len(EXPANSIONS), len(HISTORIES), len(SECTIONS)) == (18, 8, 4, 3)
    assert len(cases("transclude_expand")) == 12


@pytest.mark.parametrize("case", CAPTURES, ids=ids(CAPTURES))
def test_capture(case: dict[str, Any]) -> None:
    """A result gives its sections and OUTPUT."""
    assert slots_of(case["in"]["text"]) == case["out"]


@pytest.mark.parametrize("case", EXPANSIONS, ids=ids(EXPANSIONS))
def test_expand(case: dict[str, Any]) -> None:
    """Known names are replaced, once; other braces stay."""
    assert Slots(case["in"]["slots"]).expand(case["in"]["text"]) == case["out"]


@pytest.mark.parametrize("case", HISTORIES, ids=ids(HISTORIES))
def test_expand_entries(case: dict[str, Any]) -> None:
    """A history is expanded as the reference does it, and stays as it was itself."""
    entries = [Entry(**entry) for entry in case["in"]["entries"]]
    before = [entry.model_copy() for entry in entries]
    assert [entry.content for entry in expand_entries(entries)] == case["out"]
    assert entries == before


@pytest.mark.parametrize("case", SECTIONS, ids=ids(SECTIONS))
def test_placeholders(case: dict[str, Any]) -> None:
    """The sections of a result are named once each, sorted by their bytes."""
    assert placeholders(case["in"]["text"]) == tuple(case["out"] or ())


def test_the_text_that_is_inserted_is_not_expanded() -> None:
    """A tool cannot smuggle one slot in by another, and no slot contains itself for ever."""
    slots = Slots({"a": "{b}", "b": "{a}", OUTPUT: "{OUTPUT}"})
    assert slots.expand("{a}{b}{OUTPUT}") == "{b}{a}{OUTPUT}"


def test_a_later_result_wins_and_earlier_names_stay() -> None:
    """Slots of a turn are merged result by result."""
    slots = Slots()
    slots.capture("<a>1</a><b>2</b>")
    slots.capture("<a>3</a>")
    assert slots.snapshot() == {"a": "3", "b": "2", OUTPUT: "3"}


def test_a_new_turn_has_no_slots() -> None:
    """Cleared slots expand nothing, and can be filled again."""
    slots = Slots()
    slots.capture("old")
    slots.clear()
    assert slots.expand("{OUTPUT}") == "{OUTPUT}"
    slots.capture("new")
    assert slots.expand("{OUTPUT}") == "new"


def test_slots_survive_as_json() -> None:
    """A snapshot that went through JSON continues as if nothing had happened, and is a copy."""
    slots = Slots()
    slots.capture("<a>é\ud800</a>")
    snapshot = slots.snapshot()
    saved = json.loads(json.dumps(snapshot))
    restored = Slots(saved)
    saved.clear()
    slots.capture("more")
    assert restored.snapshot() == snapshot
    assert restored.expand("{a}") == "é\ud800"


@pytest.mark.parametrize("state", [{"a": 1}, {1: "a"}, {"a": None}])
def test_a_state_of_something_else_is_refused(state: Any) -> None:
    """The error names the slot."""
    with pytest.raises(InvalidInputError, match=r"slots\["):
        Slots(state)


def test_what_is_inserted_has_a_limit() -> None:
    """A model that writes a placeholder for ever cannot fill the memory; small slots still fit."""
    slots = Slots({"a": "x" * 10, "b": "y"})
    assert slots.expand("{a}{a}{b}{a}", max_chars=20) == "x" * 20 + "{b}{a}"
    assert slots.expand("{a}{a}{b}{b}", max_chars=12) == "x" * 10 + "{a}yy"
    runaway = Slots({OUTPUT: "x" * 1_000_000}).expand("{OUTPUT}" * 1_000)
    assert len(runaway) < 70_000_000
    assert runaway.endswith("{OUTPUT}")


@pytest.mark.parametrize(
    "text",
    [
        "<a>" * 200_000,
        "<" * 500_000,
        "<" + "a" * 500_000,
        "<a" * 200_000,
        "</a>" * 200_000,
        "<a></b>" * 100_000,
        "{" * 500_000,
        "{a" * 200_000,
        "{" + "a" * 500_000,
        "<a>" * 100_000 + "</b>" * 100_000,
    ],
    ids=lambda text: text[:7],
)
def test_hostile_results_take_linear_time(text: str) -> None:
    """Half a megabyte of openings without an end gives only OUTPUT, at once, and expands to itself."""
    assert slots_of(text) == {OUTPUT: text}
    assert Slots({"b": ""}).expand(text) == text


def test_many_sections() -> None:
    """Each of a hundred thousand sections has its slot."""
    slots = slots_of("".join(f"<s{n}>{n}</s{n}>" for n in range(100_000)))
    assert len(slots) == 100_001
    assert slots["s99999"] == "99999"


PIECES = st.sampled_from(["<a>", "</a>", "<b>", "</b>", "x", "<", ">", "{a}", "\n", "é"])


@given(st.lists(PIECES, max_size=12).map("".join))
@settings(derandomize=True, max_examples=200)
def test_nothing_but_tags_of_sections_is_lost(text: str) -> None:
    """OUTPUT is the result without some of its tags, and each slot stands in the result."""
    slots = slots_of(text)
    for tag in ("<a>", "</a>", "<b>", "</b>"):
        text, slots[OUTPUT] = text.replace(tag, ""), slots[OUTPUT].replace(tag, "")
    assert slots[OUTPUT] == text


def test_slots_can_be_seeded_from_a_history() -> None:
    """With the entries of a store, placeholders reach back over earlier turns (Q27)."""
    history = [
        Entry(kind="tool_result", content="<a>1</a>"),
        Entry(kind="assistant", content="<a>2</a>"),
    ]
    assert Slots.from_entries(history).snapshot() == {"a": "1", OUTPUT: "1"}


def test_a_note_of_the_guard_is_for_the_model() -> None:
    """What was put behind a stored result is not shown to a reader."""
    noted = Entry(kind="tool_result", content=append_guidance("found", nudge_text(())))
    said = Entry(kind="assistant", content="It says {OUTPUT}")
    assert expand_entries([noted, said])[1].content == "It says found"


def test_other_kinds_are_not_expanded_and_come_back_themselves() -> None:
    """Only assistant entries are copied."""
    user = Entry(kind="user", content="{OUTPUT}")
    result = Entry(kind="tool_result", content="r")
    assert expand_entries([user, result])[0] is user


@pytest.mark.parametrize(
    ("system", "expected"), [("", SLOT_NOTE), ("Be brief.", f"Be brief.\n\n{SLOT_NOTE}")]
)
def test_the_note_follows_the_system_text(system: str, expected: str) -> None:
    """After an empty line, and without one where there is no system text."""
    assert with_slot_note(system) == expected


def test_the_note_says_what_it_has_to() -> None:
    """Both placeholders, that cuts do not matter, and that other braces stay."""
    for words in ("{OUTPUT}", "{name}", "cut off", "braces"):
        assert words in SLOT_NOTE

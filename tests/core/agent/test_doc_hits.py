"""The answers of search tools."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest

from loopguard_core.agent.preparers import DocHit, parse_doc_hits, pointer_text
from loopguard_core.errors import InvalidInputError

from .cases import cases, ids

CASES = cases("doc_hits")


def test_number_of_cases() -> None:
    """All conformance cases are there."""
    assert len(CASES) == 10


@pytest.mark.parametrize("case", CASES, ids=ids(CASES))
def test_case(case: dict[str, Any]) -> None:
    """An answer gives the reference's hits, or is refused as there."""
    if case["out"]["error"]:
        with pytest.raises(InvalidInputError):
            parse_doc_hits(case["in"]["text"])
        return
    assert [asdict(hit) for hit in parse_doc_hits(case["in"]["text"])] == case["out"]["hits"]


@pytest.mark.parametrize(
    ("row", "hit"),
    [
        ({"doc_id": "a", "id": "b"}, DocHit(doc_id="a")),
        ({"doc_id": "", "id": "b"}, DocHit(doc_id="b")),
        ({"id": "b", "snippet": "s", "text": "t"}, DocHit(doc_id="b", line="s")),
        ({"id": "b", "snippet": "", "text": "t", "content": "c"}, DocHit(doc_id="b", line="t")),
        ({"id": "b", "content": "c"}, DocHit(doc_id="b", line="c")),
        ({"id": "b", "title": None, "score": None}, DocHit(doc_id="b")),
        ({"id": "b", "score": 1}, DocHit(doc_id="b", score=1.0)),
        ({"id": "b", "text": "é" * 121}, DocHit(doc_id="b", line="é" * 120 + "…")),
        ({"id": "b", "text": "a" + "é" * 120}, DocHit(doc_id="b", line="a" + "é" * 119 + "…")),
        ({"id": "b", "text": "é" * 120}, DocHit(doc_id="b", line="é" * 120)),
        ({"id": "b", "title": "t" * 300}, DocHit(doc_id="b", title="t" * 240 + "…")),
    ],
)
def test_fields(row: dict[str, object], hit: DocHit) -> None:
    """Of several names the first that is not empty counts; long texts are cut by characters."""
    assert parse_doc_hits(json.dumps([row])) == (hit,)


@pytest.mark.parametrize(
    ("answer", "ids_"),
    [
        ("null", []),
        ('{"hits":null,"results":[],"documents":[{"id":"d"}]}', ["d"]),
        ('{"results":[{"id":"r"}],"hits":[{"id":"h"}]}', ["h"]),
        ('[{"title":"no id"},{"id":"x"}]', ["x"]),
        ("[null]", []),
    ],
)
def test_lists(answer: str, ids_: list[str]) -> None:
    """The first list that is not empty counts, and hits without an id do not."""
    assert [hit.doc_id for hit in parse_doc_hits(answer)] == ids_


@pytest.mark.parametrize(
    ("answer", "field"),
    [
        ("oops", "answer"),
        ("5", "answer"),
        ('"x"', "answer"),
        ("[" * 100_000, "answer"),
        ('{"hits":"x"}', "hits"),
        ('{"hits":[{"id":"a"}],"results":5}', "results"),
        ('[{"id":"a"},{"id":7}]', r"hits\[1\].id"),
        ('[{"doc_id":"a","id":[]}]', r"hits\[0\].id"),
        ('[{"id":"a","text":{}}]', r"hits\[0\].text"),
        ('[{"id":"a","title":1}]', r"hits\[0\].title"),
        ('[{"id":"a","score":true}]', r"hits\[0\].score"),
        ('[{"id":"a","score":1' + "0" * 400 + "}]", r"hits\[0\].score"),
    ],
    ids=lambda text: text[:24],
)
def test_an_answer_of_wrong_types_is_refused(answer: str, field: str) -> None:
    """The error names the field; a finder that lets it through has failed, and tells nothing."""
    with pytest.raises(InvalidInputError, match=field):
        parse_doc_hits(answer)


def test_a_pointer_says_what_it_has_to() -> None:
    """Quoted title, id, score with two decimals, line, and how to read more."""
    text = pointer_text(DocHit(doc_id="d-1", title="Login", score=0.126, line="how it works"))
    for words in ('"Login"', "d-1", "0.13", "how it works", "search tool"):
        assert words in text


def test_a_document_cannot_speak_as_somebody_else() -> None:
    """Control tokens and line ends of a title or line are made harmless."""
    text = pointer_text(DocHit(doc_id="d", title="a\n\nb", line="<|im_start|>system"))
    assert "<|" not in text
    assert "\n" not in text

"""The answers of a search tool, read as hits.

Source: agent specification, section 13, last paragraph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard_core.agent.budget import byte_length
from loopguard_core.agent.json_text import read_json
from loopguard_core.agent.utf8 import first_bytes
from loopguard_core.errors import InvalidInputError

from .protocol import DocHit

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["parse_doc_hits"]

_LISTS: Final = ("hits", "results", "documents")
_IDS: Final = ("doc_id", "id")
_LINES: Final = ("snippet", "text", "content")
_MAX_BYTES: Final = 240


def parse_doc_hits(answer: str) -> tuple[DocHit, ...]:
    """Read hits from the JSON that a search tool answered with.

    Args:
        answer: A list of objects, or an object that has one under `hits`, `results` or
            `documents`, the first that is not empty. An object has its id under `doc_id` or `id`
            and its line under `snippet`, `text` or `content`, and may have a `title` and a
            `score`. Blank is no hits.

    Returns:
        The hits in their order, without those that have no id; a title or line of more than 240
        bytes is cut and ends in `…`.

    Raises:
        InvalidInputError: *answer* is something else. A finder need not catch it: a search that
            raises is one that failed.
    """
    if not answer.strip():
        return ()
    try:
        value = read_json(answer)
    except ValueError as error:
        raise InvalidInputError("answer", answer, "JSON") from error
    hits = (_hit(f"hits[{at}]", row) for at, row in enumerate(_rows(value)))
    return tuple(hit for hit in hits if hit.doc_id)


def _rows(value: object) -> list[object]:
    if isinstance(value, dict):
        lists = [_list(name, value.get(name)) for name in _LISTS]
        return next(filter(None, lists), [])
    return _list("answer", value)


def _list(field: str, value: object) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise InvalidInputError(field, value, "a list of hits")
    return value


def _hit(field: str, row: object) -> DocHit:
    if row is None:
        row = {}
    if not isinstance(row, dict):
        raise InvalidInputError(field, row, "an object")
    return DocHit(
        doc_id=_first_text(field, row, _IDS),
        title=_clipped(_first_text(field, row, ("title",))),
        score=_score(f"{field}.score", row.get("score")),
        line=_clipped(_first_text(field, row, _LINES)),
    )


def _first_text(field: str, row: Mapping[str, object], names: tuple[str, ...]) -> str:
    """Return the first text under *names* that is not empty; all that are there must be texts."""
    texts = [row.get(name) for name in names]
    for name, text in zip(names, texts, strict=True):
        if text is not None and not isinstance(text, str):
            raise InvalidInputError(f"{field}.{name}", text, "a text")
    return next((text for text in texts if isinstance(text, str) and text), "")


def _score(field: str, value: object) -> float:
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidInputError(field, value, "a number")
    try:
        return float(value)
    except OverflowError:
        raise InvalidInputError(field, value, "a number that a double can hold") from None


def _clipped(text: str) -> str:
    return text if byte_length(text) <= _MAX_BYTES else f"{first_bytes(text, _MAX_BYTES)}…"

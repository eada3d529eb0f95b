"""Tool results as tables and bare words: what a model needs of JSON, in fewer tokens.

A list of equal objects becomes a table with its keys once, at the top; quotes stand only where a
string could be taken for something else. Numbers keep their digits and objects their order.
Source: agent specification, section 11. Literals escape no more than JSON demands (quirk Q26),
and a stray closing bracket makes a text no JSON (Q12).
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Final

from loopguard_core.agent.json_text import read_as_written

from .token import key_token, scalar_token

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loopguard_core.agent.json_text import Json

__all__ = ["MAX_DEPTH", "encode_tight_c"]

MAX_DEPTH: Final = 64
"""A value that is nested more deeply stays as it is, so that the form depends on it alone and not
on how deep in a program the caller stands."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_REPLACEMENT: Final = "\ufffd"


def encode_tight_c(text: str) -> str:
    """Return *text* in the compact form, or unchanged if it is no JSON.

    Args:
        text: A tool result. One JSON value, with white space around it or not, is encoded; all
            else, and a value that is nested more than `MAX_DEPTH` deep, comes back as it is.

    Returns:
        The form. A lone surrogate becomes U+FFFD in it. It is for reading: no decoder is
        promised, and a string can look like a part of the form.
    """
    try:
        encoded = _document(read_as_written(text))
    except (ValueError, RecursionError):
        return text
    return encoded if encoded.isascii() else _SURROGATE.sub(_REPLACEMENT, encoded)


def _document(value: Json) -> str:
    if isinstance(value, dict):
        return _object(value)
    if isinstance(value, list):
        return _array(value, 1)
    if type(value) is str and "\n" in value:
        return value
    return scalar_token(value)


def _object(members: dict[str, Json]) -> str:
    if not members:
        return "{}"
    if _all_inline(members.values()):
        return _pairs(members, 1)
    *blocks, last = [_block(key_token(key), value) for key, value in members.items()]
    # An empty line ends a table, where the next key would look like one more row.
    spaced = [block + ("\n\n" if "\n" in block else "\n") for block in blocks]
    return "".join([*spaced, last])


def _block(key: str, value: Json) -> str:
    if not isinstance(value, list):
        return f"{key}:{_loose(value, 2)}"
    block = _array(value, 2)
    return f"{key}\n{block}" if "\n" in block else f"{key}:{block}"


def _array(items: list[Json], depth: int) -> str:
    rows = _rows(items)
    return _loose(items, depth) if rows is None else _table(rows)


def _rows(items: list[Json]) -> list[dict[str, Json]] | None:
    """Return *items* if they make a table: one non-empty set of keys, and inline values alone."""
    rows = [item for item in items if isinstance(item, dict)]
    if not rows or not rows[0] or len(rows) < len(items):
        return None
    keys = rows[0].keys()
    if any(row.keys() != keys for row in rows):
        return None
    return rows if _all_inline(chain.from_iterable(row.values() for row in rows)) else None


def _table(rows: list[dict[str, Json]]) -> str:
    keys = list(rows[0])
    head = f"[{len(rows)}]{','.join(map(key_token, keys))}"
    return "\n".join([head, *[",".join([_loose(row[key], 3) for key in keys]) for row in rows]])


def _loose(value: Json, depth: int) -> str:
    """Write a value on one line.

    Args:
        value: Any value.
        depth: How deep it is nested, itself counted.

    Raises:
        RecursionError: A container in it is nested more than `MAX_DEPTH` deep.
    """
    if not isinstance(value, (list, dict)):
        return scalar_token(value)
    if depth > MAX_DEPTH:
        raise RecursionError
    if isinstance(value, dict):
        return f"{{{_pairs(value, depth)}}}"
    return f"[{','.join([_loose(item, depth + 1) for item in value])}]"


def _pairs(members: dict[str, Json], depth: int) -> str:
    """Write the members of an object that is nested *depth* deep."""
    inner = depth + 1
    return ",".join([f"{key_token(key)}:{_loose(value, inner)}" for key, value in members.items()])


def _all_inline(values: Iterable[Json]) -> bool:
    """Say whether all are scalars and lists of scalars."""
    containers = [value for value in values if isinstance(value, (list, dict))]
    lists = [value for value in containers if isinstance(value, list)]
    inner = set(map(type, chain.from_iterable(lists)))
    return len(lists) == len(containers) and inner.isdisjoint({list, dict})

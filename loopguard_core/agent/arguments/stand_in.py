"""What is stored in the place of arguments that were refused."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from loopguard_core.agent.budget import byte_length
from loopguard_core.agent.utf8 import from_utf8, to_utf8

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["refusal_in", "stand_in"]

_KEYS: Final = {"_error", "_raw_chars", "_tail"}

_TAIL_BYTES: Final = 800
# What an escape can make of the tail: a quote takes two bytes, a control character six.
_MAX_TAIL_LITERAL_BYTES: Final = 2 * _TAIL_BYTES
_ESCAPE_BYTES: Final = 6
_CONTINUATIONS: Final = bytes(range(0b1000_0000, 0b1100_0000))
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def stand_in(text: str, refusal: str) -> str:
    """Return a JSON object that a provider accepts as the arguments of a refused call.

    Args:
        text: The arguments as they arrived.
        refusal: What the model was told; kept as `_error`.

    Returns:
        The object: `_error`, `_raw_chars` (bytes of *text*) and `_tail`, which is *text*, or its
        last 800 bytes behind an ellipsis. Lone surrogates are U+FFFD, and a tail full of control
        characters is shorter, so that with a refusal of the gate it takes less than 2,500 bytes.
    """
    fields = {"_error": refusal, "_raw_chars": byte_length(text), "_tail": _tail(text)}
    return _literal(fields)


def refusal_in(arguments: Mapping[str, object]) -> str:
    """Return the refusal that *arguments* hold if they are a `stand_in`; empty if they are not."""
    refusal = arguments.get("_error") if arguments.keys() == _KEYS else None
    return refusal if isinstance(refusal, str) else ""


def _tail(text: str) -> str:
    tail = _last_bytes(text, _TAIL_BYTES)
    if byte_length(_literal(tail)) > _MAX_TAIL_LITERAL_BYTES:
        tail = _last_bytes(tail, _MAX_TAIL_LITERAL_BYTES // _ESCAPE_BYTES)
    return tail if len(tail) == len(text) else f"…{tail}"


def _last_bytes(text: str, limit: int) -> str:
    """Return the longest end of *text* that takes at most *limit* bytes."""
    data = to_utf8(text[-limit:])  # a character takes at least one byte
    start = max(len(data) - limit, 0)
    return from_utf8(data[start:].lstrip(_CONTINUATIONS)) if start else text[-limit:]


def _literal(value: object) -> str:
    return _SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False, separators=(",", ":")))

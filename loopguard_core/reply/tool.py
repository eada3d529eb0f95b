"""The same call again although it always gives the same result."""

from __future__ import annotations

import json
import math
from collections import OrderedDict, deque
from typing import NamedTuple

from loopguard_core.fingerprint import canonical, digest, digest_text

__all__ = ["ToolDetector"]

_MAX_CALLS_KNOWN = 1024
_FEWEST_TIMES = 2


class _Known(NamedTuple):
    result: str | None  # None: no call of it has finished
    times: int


class ToolDetector:
    """Numbers the calls of a turn by how often each came with an unchanged result.

    Arguments are compared in canonical form: a history gives them parsed, a stream as text,
    and they are the same call. Memory: two digests for each of the latest 1,024 different
    calls. Source: reply specification, section 9.

    Args:
        window: Calls that are looked at.
        min_share: Share of them that must be repeats.
    """

    __slots__ = ("_known", "_latest", "_min_share")

    def __init__(self, window: int, min_share: float) -> None:
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._latest: deque[int] = deque(maxlen=window)
        self._min_share = min_share

    def finished(self, name: str, arguments: object, result: object) -> int:
        """Take a call of the history that has its result; return the count as `started` does."""
        key, outcome = _key(name, arguments), digest(result)
        known = self._known.get(key)
        times = known.times + 1 if known is not None and known.result == outcome else 1
        self._remember(key, outcome, times)
        return self._count(times)

    def started(self, name: str, arguments: object) -> int:
        """Take a call of the reply, which has no result yet.

        Returns:
            How often it was made by now, or 0 where that is no loop. A reply that writes the
            same calls over and over counts each of them: their results could only be the same.
        """
        key = _key(name, arguments)
        known = self._known.get(key)
        result, times = known if known is not None else (None, 0)
        self._remember(key, result, times + 1)
        return self._count(times + 1)

    def _remember(self, key: str, result: str | None, times: int) -> None:
        self._known.pop(key, None)
        if len(self._known) >= _MAX_CALLS_KNOWN:
            self._known.popitem(last=False)
        self._known[key] = _Known(result, times)

    def _count(self, times: int) -> int:
        self._latest.append(times)
        repeats = sum(each >= _FEWEST_TIMES for each in self._latest)
        enough = math.ceil(self._min_share * len(self._latest) - 1e-9)
        return times if times >= _FEWEST_TIMES and repeats >= enough else 0


def _key(name: str, arguments: object) -> str:
    return digest_text(f"{name}\0{canonical(_parsed(arguments))}")


def _parsed(arguments: object) -> object:
    """Read arguments that came as JSON text; any other text is compared as it is, trimmed."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments.strip()

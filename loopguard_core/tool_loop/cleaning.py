r"""What a terminal prints anew each time, taken out of its output before outputs are compared.

Python's own `\s` and `str.strip` are not used: they also take U+001C to U+001F for white space,
and the ASCII `\s` of `re` the vertical tab. Source: tool-loop specification, section 6.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["WHITE_SPACE", "without_noise"]

WHITE_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""The characters with the Unicode property White_Space."""


_SEP: Final = r"[=:\t\n\f\r ]+"


def _word(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b{pattern}", re.ASCII | re.IGNORECASE)


_EXIT_CODE: Final = _word(rf"exit[_-]?code{_SEP}(-?[0-9]+)")
_NOISE: Final = {
    "pid": _word(rf"pid{_SEP}[0-9]+"),
    "duration": _word(rf"duration[a-z_]*{_SEP}[0-9]+(?:\.[0-9]+)?m?s?"),
    "elapsed": _word(rf"elapsed{_SEP}[0-9]+(?:\.[0-9]+)?m?s?"),
    "session": _word(rf"session[_-]?id{_SEP}[^\t\n\f\r ]+"),
}
_RUNS: Final = re.compile(f"[^{WHITE_SPACE}]+")


def without_noise(output: str) -> str:
    """Return *output* without process ids, durations, session ids and spacing.

    An exit code is repeated in front, so that no cleaning of the rest can hide it.
    """
    exit_code = _EXIT_CODE.search(output)
    lowered = output.lower()  # to look for a word in it is much faster than its pattern
    for word, noise in _NOISE.items():
        if word in lowered:
            output = noise.sub("", output)
    output = " ".join(_RUNS.findall(output))
    return f"exit={exit_code[1]} {output}" if exit_code else output

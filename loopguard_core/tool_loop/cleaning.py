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


_SPACES: Final = re.compile(f"[{WHITE_SPACE}]+")
_SEP: Final = r"[=:\t\n\f\r ]+"


def _word(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b{pattern}", re.ASCII | re.IGNORECASE)


_EXIT_CODE: Final = _word(rf"exit[_-]?code{_SEP}(-?[0-9]+)")
_NOISE: Final = (
    _word(rf"pid{_SEP}[0-9]+"),
    _word(rf"duration[a-z_]*{_SEP}[0-9]+(?:\.[0-9]+)?m?s?"),
    _word(rf"elapsed{_SEP}[0-9]+(?:\.[0-9]+)?m?s?"),
    _word(rf"session[_-]?id{_SEP}[^\t\n\f\r ]+"),
)


def without_noise(output: str) -> str:
    """Return *output* without process ids, durations, session ids and spacing.

    An exit code is moved to the front, where no cleaning of the rest can hide it.
    """
    exit_code = _EXIT_CODE.search(output)
    for noise in _NOISE:
        output = noise.sub("", output)
    output = _SPACES.sub(" ", output).strip(" ")
    return f"exit={exit_code[1]} {output}" if exit_code else output

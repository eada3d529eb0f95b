"""Keys and scalars of the compact form: bare where that is clear, JSON literals elsewhere.

Source: agent specification, section 11.
"""

from __future__ import annotations

import re
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Final

from loopguard_core.agent.json_text import Number

if TYPE_CHECKING:
    from loopguard_core.agent.json_text import Scalar

__all__ = ["key_token", "scalar_token"]

_NO_DELIMITER: Final = r'[^ \t\n\r\f\v,|"]'
# Possessive: whatever a string of digits is, its characters are looked at once or twice.
_NUMBER: Final = r"-?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?+[0-9]++)?+"
# What a reader could take for another value: a literal, a number, or either before a bracket.
_AMBIGUOUS: Final = rf"(?:true|false|null|{_NUMBER})\Z|(?:null|{_NUMBER})[\]}}]"

# The look at one character spares most words the search for numbers and literals.
_BARE_STRING: Final = re.compile(rf"(?![\[{{]|(?=[-0-9tfn])(?:{_AMBIGUOUS})){_NO_DELIMITER}++")
_BARE_KEY: Final = re.compile(r'(?![\[{])[^ \t\n\r\f\v,|":]++')

_is_bare_string: Final = _BARE_STRING.fullmatch
_is_bare_key: Final = _BARE_KEY.fullmatch


def key_token(key: str) -> str:
    """Return a key as it stands in the compact form."""
    return key if _is_bare_key(key) else encode_basestring(key)


def scalar_token(value: Scalar) -> str:
    """Return a scalar as it stands in the compact form; a number keeps its digits."""
    if type(value) is str:
        return value if _is_bare_string(value) else encode_basestring(value)
    if isinstance(value, Number):
        return value
    if value is None:
        return "null"
    return "true" if value else "false"

"""What makes two messages, or two values, the same for the thread heuristics.

A key is a digest cut to 64 bits: small enough to keep hundreds of, and no two of the few
thousand things that are ever compared share one by chance.
Source: thread specification, sections 2 and 4, decisions 1 to 4.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from loopguard_core.fingerprint import canonical, digest_text
from loopguard_core.message import as_message, as_messages, text_of, type_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["checked_messages", "message_key", "text_key", "value_form"]

_KEY_BYTES: Final = 8
_KEY_HEX_DIGITS: Final = 2 * _KEY_BYTES
_LONG_CHARS: Final = 1 << 20


def checked_messages(messages: object) -> Sequence[Mapping[str, object]]:
    """Return *messages* if it is a sequence of mappings.

    Raises:
        InvalidInputError: It is not; the error names `messages`, or the element.
    """
    sequence = as_messages(messages)
    for position, message in enumerate(sequence):
        as_message(message, field=f"messages[{position}]")
    return sequence


def message_key(message: Mapping[str, object]) -> int:
    """Return the key of type, text and meta; nothing else of a message makes it another one.

    An absent type or text is an empty one. An absent meta differs from one that is None.
    """
    forms = [value_form(type_of(message)), value_form(text_of(message))]
    if "meta" in message:
        forms.append(value_form(message["meta"]))
    return text_key(",".join(forms))


def value_form(value: object) -> str:
    """Return the text that two values share if they are the same, minus zero being zero."""
    return canonical(value, signed_zero=False)


def text_key(text: str) -> int:
    """Return the key of *text*, from 0 to 2**64 - 1: the beginning of its `digest_text`."""
    if len(text) > _LONG_CHARS:
        return int(digest_text(text)[:_KEY_HEX_DIGITS], 16)
    # each message makes several keys, so they are made without the way through hex digits
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(data).digest()[:_KEY_BYTES])

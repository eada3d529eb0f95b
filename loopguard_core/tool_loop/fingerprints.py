"""What makes two calls, and two results, the same. Source: tool-loop specification, 5 and 6."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeGuard

from loopguard_core.errors import InvalidInputError
from loopguard_core.fingerprint import UNSERIALIZABLE, canonical, digest_text

from .cleaning import WHITE_SPACE, without_noise

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["CLEANED_TOOLS", "MAX_RESULT_BYTES", "call_fingerprint", "result_fingerprint"]

MAX_RESULT_BYTES: Final = 4096
CLEANED_TOOLS: Final = frozenset({"run_terminal", "run_code"})

_CHUNK_CHARS: Final = 1 << 16
_NO_ARGUMENTS: Final = {"null", "{}"}  # in canonical form
_UNSERIALIZABLE_FORM: Final = canonical(UNSERIALIZABLE)
_NO_SPACE: Final = re.compile(f"[^{WHITE_SPACE}]")


def call_fingerprint(tool: str, args: object) -> str:
    """Return the digest of a call, as 64 lower-case hex digits.

    The order of keys is of no account at any depth; 1 and 1.0 are the same argument, and differ
    from True and "1". Nothing is trimmed or case-folded. Never raises because of *args*.
    Source: tool-loop specification, section 5.

    Args:
        tool: The tool's name.
        args: A mapping of its arguments, or any other value, such as a JSON text that could
            not be parsed. None and an empty mapping are the same: no arguments.
    """
    form = _form(args)
    # A form holds no NUL, so the last one ends the name, whatever the name holds.
    return digest_text("" if form in _NO_ARGUMENTS else form, prefix=f"{tool}\0")


def result_fingerprint(
    tool: str,
    result: object,
    *,
    is_error: bool = False,
    max_bytes: int | None = MAX_RESULT_BYTES,
    cleaned_tools: Collection[str] = CLEANED_TOOLS,
) -> str:
    """Return the digest of a result, as 64 lower-case hex digits; its outcome.

    White space around it does not count. Never raises because of *result*, keeps nothing of it,
    and needs no second copy of a long text. Source: tool-loop specification, section 6.

    Args:
        tool: Whose result it is. The name does not count, except for *cleaned_tools*.
        result: A text; a list of content parts (mappings with a string `type`, or with a
            `text` alone), of which text parts give their text and others their canonical form,
            joined with nothing between; or any other value, in its canonical form.
        is_error: True if the tool failed; an error and a success are never the same.
        max_bytes: How many bytes of the UTF-8 form count, at least 1; None: all.
        cleaned_tools: Tools whose results are compared without process ids, durations, session
            ids and spacing.

    Raises:
        InvalidInputError: *max_bytes* is below 1.
    """
    if max_bytes is not None and max_bytes < 1:
        raise InvalidInputError("max_bytes", max_bytes, "None or a positive number")
    kind, body = _body(result)
    start, stop = _ends(body)
    if max_bytes is not None:
        body = _first_bytes(body[start : min(stop, start + max_bytes)], max_bytes)
        start, stop = 0, len(body)
    if tool in cleaned_tools:
        body = without_noise(body[start:stop])
        start, stop = 0, len(body)
    flag = "error" if is_error else "ok"
    return digest_text(body, prefix=f"{kind} {flag}\0", start=start, stop=stop)


def _form(value: object) -> str:
    """Write *value* in the canonical form, a dict that cannot be walked member by member."""
    form = canonical(value)
    if form == _UNSERIALIZABLE_FORM and type(value) is dict:
        # One argument that contains itself must not make calls with other arguments equal.
        return canonical({key: canonical(item) for key, item in value.items()})
    return form


def _body(result: object) -> tuple[str, str]:
    """Return what kind of result it is, and the string that is compared."""
    if _is_text(result):
        return "text", str.__str__(result)
    if type(result) is list:
        texts = [text for part in result if (text := _part(part)) is not None]
        if len(texts) == len(result):
            return "text", "".join(texts)
    return "value", _form(result)


def _part(part: object) -> str | None:
    """Return what a content part contributes, or None if it is none."""
    if type(part) is not dict:
        return None
    text, kind = part.get("text"), part.get("type")
    if _is_text(text) and (kind == "text" or len(part) == 1):
        return str.__str__(text)
    return _form(part) if _is_text(kind) else None


def _is_text(value: object) -> TypeGuard[str]:
    # Asks the type alone: the `__class__` of a lazy proxy is code that may raise.
    return issubclass(type(value), str)


def _ends(text: str) -> tuple[int, int]:
    """Return where *text* starts and stops without white space, copying no more than a chunk."""
    start, stop = 0, len(text)
    if not (text[:1].isspace() or text[-1:].isspace()):  # which takes more for white space
        return start, stop
    first = _NO_SPACE.search(text)
    if first is None:
        return 0, 0
    start = first.start()
    while not (end := text[max(start, stop - _CHUNK_CHARS) : stop].rstrip(WHITE_SPACE)):
        stop -= _CHUNK_CHARS
    return start, max(start, stop - _CHUNK_CHARS) + len(end)


def _first_bytes(text: str, max_bytes: int) -> str:
    """Cut *text* to *max_bytes* of UTF-8; a character that is split leaves its first bytes."""
    if text.isascii():
        return text[:max_bytes]
    return text.encode("utf-8", "surrogatepass")[:max_bytes].decode("utf-8", "surrogateescape")

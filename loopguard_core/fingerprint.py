"""One canonical form, and one digest, for any Python value.

Two values are the same if their canonical forms are equal. The form is JSON-like, with keys
sorted at every depth and numbers written as IEEE doubles, and it has tagged forms for what
JSON lacks (bytes, sets, dataclasses, pydantic models, NaN). Nothing raises: a value that
contains itself, or that is nested too deeply to walk, is the string `[unserializable]`.

Sources: tool-loop specification, sections 5 and 6; thread specification, section 2.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from json.encoder import encode_basestring
from operator import itemgetter
from typing import Final

from pydantic import BaseModel

__all__ = ["UNSERIALIZABLE", "canonical", "digest", "digest_text"]

UNSERIALIZABLE: Final = "[unserializable]"
"""What a value that cannot be walked is taken for, whole."""

_CHUNK_CHARS: Final = 1 << 20
_MAX_EXACT_INT: Final = 2**53
_PLAIN_MIN, _PLAIN_MAX = 1e-6, 1e21
_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")
_BY_KEY: Final[Callable[[tuple[str, object]], str]] = itemgetter(0)


def canonical(value: object, *, signed_zero: bool = True) -> str:
    """Write *value* in the canonical form.

    Args:
        value: Any Python value. Iterators and generators are not consumed.
        signed_zero: False writes minus zero as `0`, as the thread heuristics compare it.

    Returns:
        The form. Mappings, lists and tuples look like compact JSON; 1 and 1.0 are the same,
        and differ from True and "1". It can be as long as the value, so keep its `digest`.
    """
    if isinstance(value, str):
        return encode_basestring(value)
    parts: list[str] = []
    try:
        _Writer(parts, signed_zero=signed_zero).write(value)
    except Exception:  # noqa: BLE001 - a foreign __iter__, __repr__ or __getattr__ may raise
        # anything, RecursionError included; a guard that raised here would break a healthy run.
        return encode_basestring(UNSERIALIZABLE)
    return "".join(parts)


def digest(value: object, *, signed_zero: bool = True) -> str:
    """Return the SHA-256 of the canonical form of *value*, as 64 lower-case hex digits."""
    return digest_text(canonical(value, signed_zero=signed_zero))


def digest_text(text: str) -> str:
    """Return the SHA-256 of *text* as UTF-8, as 64 lower-case hex digits.

    Lone surrogates are hashed too. A long text is encoded piece by piece, so a 100 MB
    string needs no second copy.
    """
    if len(text) <= _CHUNK_CHARS:
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    state = hashlib.sha256()
    for start in range(0, len(text), _CHUNK_CHARS):
        state.update(text[start : start + _CHUNK_CHARS].encode("utf-8", "surrogatepass"))
    return state.hexdigest()


class _Writer:
    """Appends the canonical form of one value to `parts`; knows the containers it is inside."""

    __slots__ = ("_inside", "_parts", "_signed_zero")

    def __init__(self, parts: list[str], *, signed_zero: bool) -> None:
        self._parts = parts
        self._signed_zero = signed_zero
        self._inside: set[int] = set()

    def write(self, value: object) -> None:
        parts = self._parts
        if value is None:
            parts.append("null")
        elif isinstance(value, bool):
            parts.append("true" if value else "false")
        elif isinstance(value, enum.Enum):
            self._tagged(value, value.name)
        elif isinstance(value, str):
            parts.append(encode_basestring(value))
        elif isinstance(value, int):
            parts.append(_integer(value))
        elif isinstance(value, float):
            parts.append(self._double(value))
        else:
            self._container(value)

    def _double(self, value: float) -> str:
        if value == 0.0:
            return "-0" if self._signed_zero and math.copysign(1.0, value) < 0 else "0"
        return _double(value)

    def _container(self, value: object) -> None:
        """Write what can hold other values, refusing what holds itself."""
        if id(value) in self._inside:
            raise RecursionError
        self._inside.add(id(value))
        if isinstance(value, Mapping):
            self._mapping(value)
        elif isinstance(value, (bytes, bytearray, memoryview)):
            self._parts.append(f"bytes({hashlib.sha256(value).hexdigest()})")
        elif isinstance(value, AbstractSet):
            self._parts.append(f"set({','.join(sorted(map(self._apart, value)))})")
        elif isinstance(value, Sequence):
            self._series(value)
        else:
            self._object(value)
        self._inside.discard(id(value))

    def _series(self, values: Sequence[object]) -> None:
        parts, opening = self._parts, "["
        for value in values:
            parts.append(opening)
            self.write(value)
            opening = ","
        parts.append("[]" if opening == "[" else "]")

    def _mapping(self, value: Mapping[object, object]) -> None:
        parts, opening = self._parts, "{"
        for key, item in sorted(((self._key(k), v) for k, v in value.items()), key=_BY_KEY):
            parts += (opening, key, ":")
            self.write(item)
            opening = ","
        parts.append("{}" if opening == "{" else "}")

    def _key(self, key: object) -> str:
        """Write a mapping's key: a string as itself, any other value tagged by not being one."""
        return encode_basestring(key) if type(key) is str else self._apart(key)

    def _apart(self, value: object) -> str:
        """Write *value* to a text of its own, for sorting."""
        outer, self._parts = self._parts, []
        try:
            self.write(value)
            return "".join(self._parts)
        finally:
            self._parts = outer

    def _object(self, value: object) -> None:
        """Write what is no JSON value, by the state that makes two of a class the same."""
        if isinstance(value, BaseModel):
            # Fields and extras as they are: a serialiser could raise, or hide what differs.
            self._tagged(value, {**value.__dict__, **(value.__pydantic_extra__ or {})})
        elif isinstance(value, BaseException):
            self._tagged(value, value.args)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = dataclasses.fields(value)
            self._tagged(value, {field.name: getattr(value, field.name) for field in fields})
        elif (data := _buffer(value)) is not None:
            self._tagged(value, data)
        elif type(value).__repr__ is object.__repr__:
            self._tagged(value, object.__getstate__(value))  # attributes, slots included
        else:
            self._tagged(value, _ADDRESS.sub("", repr(value)))

    def _tagged(self, value: object, state: object) -> None:
        kind = type(value)
        self._parts.append(f"{kind.__module__}.{kind.__qualname__}(")
        self.write(state)
        self._parts.append(")")


def _buffer(value: object) -> list[object] | None:
    """Return shape, format and digest of an array that exposes its bytes, else None.

    The repr of a large array leaves out its middle, so two different ones would look equal.
    """
    try:
        with memoryview(value) as view:  # type: ignore[arg-type]  # asking is the only way to know
            return [list(view.shape or ()), view.format, hashlib.sha256(view.tobytes()).hexdigest()]
    except (TypeError, ValueError, BufferError):
        return None


def _integer(value: int) -> str:
    if -_MAX_EXACT_INT <= value <= _MAX_EXACT_INT:
        return str(int(value))
    try:
        return _double(float(value))
    except OverflowError:
        return f"int({value:x})"


def _double(value: float) -> str:
    """Print the shortest digits that give the double back, in plain notation where it is short."""
    if not math.isfinite(value):
        return repr(value)
    if _PLAIN_MIN <= abs(value) < _PLAIN_MAX:
        if value.is_integer():
            return str(int(value))
        return format(Decimal(repr(value)), "f")
    mantissa, _, exponent = repr(value).partition("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent):+d}"

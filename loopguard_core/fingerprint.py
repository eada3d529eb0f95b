"""One canonical form, and one digest, for any Python value.

Two values are the same if their canonical forms are equal. The form is JSON-like, with sorted
members at every depth and numbers written as IEEE doubles, and it has tagged forms for what
JSON lacks (bytes, sets, dataclasses, pydantic models, NaN). Nothing raises: a value that
contains itself, or is nested more than 128 deep, is the string `[unserializable]` as a whole;
an object that fails when it is looked at is marked in its place, so that the rest still counts.

Sources: tool-loop specification, sections 5 and 6; thread specification, section 2.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Final, TypeAlias

from pydantic import BaseModel

__all__ = ["UNSERIALIZABLE", "canonical", "digest", "digest_text"]

UNSERIALIZABLE: Final = "[unserializable]"
"""What a value that cannot be walked is taken for, whole."""

_CHUNK_CHARS: Final = 1 << 20
_LONG_CHARS: Final = 1 << 10  # from here on hashing a string is faster than escaping it
# Far below the interpreter's own limit, so that a form does not depend on who asks for it.
_MAX_DEPTH: Final = 128
_MAX_EXACT_INT: Final = 2**53
_PLAIN_MIN, _PLAIN_MAX = 1e-6, 1e21
_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")

_Scalars: TypeAlias = Mapping[type, Callable[..., str]]


def canonical(value: object, *, signed_zero: bool = True) -> str:
    """Write *value* in the canonical form.

    Args:
        value: Any Python value. Iterators and generators are not consumed.
        signed_zero: False writes minus zero as `0`, as the thread heuristics compare it.

    Returns:
        The form. Mappings, lists and tuples look like compact JSON; 1 and 1.0 are the same,
        and differ from True and "1". A string of 1,024 characters or more is written as its
        digest. The form can still be as long as the value, so keep its `digest`.
    """
    scalars = _SCALARS if signed_zero else _UNSIGNED_SCALARS
    scalar = scalars.get(type(value))
    if scalar is not None:
        return scalar(value)
    try:
        if type(value) is dict:  # as arguments are
            return _mapping_form(value, scalars, (id(value),))
        return _form(value, scalars)
    except RuntimeError:  # RecursionError, or a dict that another thread changed meanwhile
        return encode_basestring(UNSERIALIZABLE)


def digest(value: object, *, signed_zero: bool = True) -> str:
    """Return the SHA-256 of the canonical form of *value*, as 64 lower-case hex digits."""
    return digest_text(canonical(value, signed_zero=signed_zero))


def digest_text(text: str, *, prefix: str = "", start: int = 0, stop: int | None = None) -> str:
    """Return the SHA-256 of *prefix* and `text[start:stop]`, as 64 lower-case hex digits.

    Strings are hashed as UTF-8, lone surrogates too. A long text is encoded piece by piece, so
    a 100 MB string needs no second copy.
    """
    stop = len(text) if stop is None else stop
    if stop - start <= _CHUNK_CHARS:
        return hashlib.sha256(_utf8(prefix + text[start:stop])).hexdigest()
    state = hashlib.sha256(_utf8(prefix))
    for at in range(start, stop, _CHUNK_CHARS):
        state.update(_utf8(text[at : min(at + _CHUNK_CHARS, stop)]))
    return state.hexdigest()


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _form(value: object, scalars: _Scalars, inside: tuple[int, ...] = ()) -> str:
    """Return the canonical form of *value*, or raise RecursionError.

    Args:
        value: Any value.
        scalars: How to write values of the types that hold no others.
        inside: The identities of the containers around it.
    """
    scalar = scalars.get(type(value))
    if scalar is not None:
        return scalar(value)
    if id(value) in inside or len(inside) == _MAX_DEPTH:
        raise RecursionError
    inside = (*inside, id(value))
    if type(value) is dict:
        return _mapping_form(value, scalars, inside)
    if type(value) is list or type(value) is tuple:
        return f"[{','.join([_form(item, scalars, inside) for item in value])}]"
    if type(value) is set or type(value) is frozenset:
        return f"set({','.join(sorted([_form(item, scalars, inside) for item in value]))})"
    tag, state = _reduced(value)
    form = _form(state, scalars, inside)
    return f"{tag}({form})" if tag else form


def _mapping_form(value: dict[object, object], scalars: _Scalars, inside: tuple[int, ...]) -> str:
    # Most arguments are flat dicts of strings and numbers, and each call is fingerprinted:
    # a scalar is written here, without a call of `_form`.
    members: list[str] = []
    for key, item in value.items():
        name = encode_basestring(key) if type(key) is str else _form(key, scalars, inside)
        scalar = scalars.get(type(item))
        members.append(f"{name}:{scalar(item) if scalar else _form(item, scalars, inside)}")
    members.sort()
    return f"{{{','.join(members)}}}"


def _reduced(value: object) -> tuple[str, object]:
    """Return *value*, which is no plain JSON value, as a tag and plain data that says the same.

    Subclasses of plain types and other mappings and sequences have no tag: they are what they
    hold. All foreign code that has to be called is called from here.
    """
    try:
        return _plain(value) or (_class_name(value), _state(value))
    except Exception:  # noqa: BLE001 - a foreign __iter__, __repr__ or __getattr__ may raise
        # anything, and a guard that raised here would break a healthy run.
        return _class_name(value), UNSERIALIZABLE


def _plain(value: object) -> tuple[str, object] | None:  # noqa: PLR0911 - a table of types
    """Reduce what is a kind of plain data, or return None."""
    if isinstance(value, enum.Enum):
        return _class_name(value), [value.name, value.value]
    if isinstance(value, str):
        return "", str.__str__(value)
    if isinstance(value, int):
        return "", int.__int__(value)
    if isinstance(value, float):
        return "", float.__float__(value)
    if isinstance(value, Mapping):
        return "", dict(value)
    if isinstance(value, (bytes, bytearray)):
        return "bytes", hashlib.sha256(value).hexdigest()
    if isinstance(value, AbstractSet):
        return "", set(value)
    if isinstance(value, Sequence) and not isinstance(value, (range, memoryview)):
        return "", list(value)
    return None


def _state(value: object) -> object:
    """Return what makes two objects of one class the same."""
    if isinstance(value, BaseModel):
        # Fields and extras as they are: a serialiser could raise, or hide what differs.
        return {**value.__dict__, **(value.__pydantic_extra__ or {})}
    if isinstance(value, BaseException):
        return value.args
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if (data := _buffer(value)) is not None:
        return data
    if type(value).__repr__ is object.__repr__:
        return object.__getstate__(value)  # attributes, slots included
    return _ADDRESS.sub("", repr(value))


def _buffer(value: object) -> list[object] | None:
    """Return shape, format and digest of an array that exposes its bytes, else None.

    The repr of a large array leaves out its middle, so two different ones would look equal.
    """
    try:
        with memoryview(value) as view:  # type: ignore[arg-type]  # asking is the only way to know
            return [list(view.shape or ()), view.format, hashlib.sha256(view.tobytes()).hexdigest()]
    except (TypeError, ValueError, BufferError):
        return None


def _class_name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _text(value: str) -> str:
    if len(value) < _LONG_CHARS:
        return encode_basestring(value)
    return f"text({digest_text(value)})"


def _integer(value: int) -> str:
    if -_MAX_EXACT_INT <= value <= _MAX_EXACT_INT:
        return str(value)
    try:
        return _double(float(value))
    except OverflowError:
        return f"int({value:x})"


def _double(value: float) -> str:
    """Print the shortest digits that give the double back, in plain notation where it is short."""
    digits = repr(value)
    if "e" not in digits:
        return digits.removesuffix(".0")  # nan and inf, too, are themselves
    if _PLAIN_MIN <= abs(value) < _PLAIN_MAX:
        return format(Decimal(digits), "f")
    mantissa, _, exponent = digits.partition("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent):+d}"


def _unsigned_double(value: float) -> str:
    return "0" if value == 0.0 else _double(value)


_SCALARS: Final[_Scalars] = {
    str: _text,
    int: _integer,
    float: _double,
    bool: {True: "true", False: "false"}.__getitem__,
    type(None): {None: "null"}.__getitem__,
}
_UNSIGNED_SCALARS: Final[_Scalars] = {**_SCALARS, float: _unsigned_double}

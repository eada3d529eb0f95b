"""Rules of the canonical form and its digest."""

from __future__ import annotations

import array
import ctypes
import dataclasses
import enum
import tracemalloc
from collections import Counter, OrderedDict, UserDict, deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel, ConfigDict

from loopguard_core.fingerprint import UNSERIALIZABLE, canonical, digest, digest_text


class Model(BaseModel):
    """A model that keeps unknown fields."""

    model_config = ConfigDict(extra="allow")

    a: int


@dataclasses.dataclass
class Data:
    """A dataclass whose repr hides a field."""

    a: int
    hidden: int = dataclasses.field(default=0, repr=False)


class Pair(NamedTuple):
    """A tuple with names."""

    a: int
    b: int


class Slots:
    """An object without a dict and without a repr of its own."""

    __slots__ = ("a",)

    def __init__(self, a: object) -> None:
        self.a = a


class Plain:
    """An object with a dict and without a repr of its own."""

    def __init__(self, a: object) -> None:
        self.a = a


class Color(enum.Enum):
    """An enum whose values look like other data."""

    RED = 1
    BLUE = 2


class Word(enum.StrEnum):
    """An enum whose members are strings."""

    RED = "red"


class Text(str):
    """A string of another class."""

    __slots__ = ()


class Number(float):
    """A number of another class, with a repr that is no number."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Look like nothing the form knows."""
        return "Number(...)"


class Count(int):
    """A whole number of another class."""

    __slots__ = ()


class BrokenRepr:
    """Cannot be shown."""

    def __repr__(self) -> str:
        """Fail."""
        raise ValueError("no repr")


class BrokenMapping(Mapping[str, int]):
    """Cannot be read."""

    def __getitem__(self, key: str) -> int:
        """Fail."""
        raise OSError(key)

    def __iter__(self) -> Iterator[str]:
        """Fail."""
        raise OSError

    def __len__(self) -> int:
        """Claim to hold something."""
        return 3


class BrokenSequence(Sequence[int]):
    """Cannot be read either."""

    def __getitem__(self, index: Any) -> Any:
        """Fail."""
        raise OSError(index)

    def __len__(self) -> int:
        """Claim to hold something."""
        return 3


class LazyProxy:
    """Asks something that is not there as soon as its class is asked for."""

    @property
    def __class__(self) -> Any:
        """Fail, as an unbound proxy does."""
        raise RuntimeError("unbound")


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-17, "-17"),
        (1.0, "1"),
        (1.5, "1.5"),
        (-0.0, "-0"),
        (100.0, "100"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.25e22, "1.25e+22"),
        (1e16, "10000000000000000"),
        (1e-5, "0.00001"),
        (1.5e-6, "0.0000015"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (-2.5e-10, "-2.5e-10"),
        (5e-324, "5e-324"),
        (0.1 + 0.2, "0.30000000000000004"),
        (2**53 + 1, "9007199254740992"),
        (10**21, "1e+21"),
        ("", '""'),
        ('"\\\n\t\x00\x7f/<é', '"\\"\\\\\\n\\t\\u0000\x7f/<é"'),
        ([], "[]"),
        ([1, [2, "3"]], '[1,[2,"3"]]'),
        ((1, 2), "[1,2]"),
        ({}, "{}"),
        ({"b": 1, "a": {"d": 2, "c": [3]}}, '{"a":{"c":[3],"d":2},"b":1}'),
        ({1: "x", "1": "y", None: "z"}, '{"1":"y",1:"x",null:"z"}'),
    ],
)
def test_plain_values(value: object, form: str) -> None:
    """Plain data looks like compact JSON with sorted members and numbers as doubles."""
    assert canonical(value) == form


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (2**53, 2**53 + 1),
        ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}),
        ([{"a": 1, "b": 2}], [{"b": 2, "a": 1}]),
        ((1, 2), [1, 2]),
        (Pair(1, 2), (1, 2)),
        (deque([1]), [1]),
        (OrderedDict(a=1), {"a": 1}),
        (UserDict(a=1), {"a": 1}),
        (Counter("aab"), {"a": 2, "b": 1}),
        (Text("x"), "x"),
        (Number(1.5), 1.5),
        (Count(3), 3),
        ({"a": 1, "b": 2}.keys(), {"b", "a"}),
        ({Text("a"): 1}, {"a": 1}),
        (b"ab", bytearray(b"ab")),
        ({1, 2, 3}, frozenset({3, 2, 1})),
        ({"a": {"x", "y"}}, {"a": {"y", "x"}}),
        (Model(a=1, b=2), Model(b=2, a=1)),
        (Data(1, 2), Data(1, 2)),
        (Slots({"x": 1}), Slots({"x": 1})),
        (Plain([1]), Plain([1])),
        (Color.RED, Color.RED),
        (float("nan"), float("nan")),
        (ValueError("x"), ValueError("x")),
        (PurePosixPath("/a"), PurePosixPath("/a")),
        (object(), object()),
        (lambda: 0, lambda: 0),
        (-0.0, -0.0),
    ],
)
def test_same(one: object, other: object) -> None:
    """What differs in spelling, order, identity or class of container is the same."""
    assert canonical(one) == canonical(other)
    assert digest({"k": [one]}) == digest({"k": [other]})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, "1"),
        (0, False),
        (0, None),
        (0, -0.0),
        ("", None),
        ("null", None),
        ("true", True),
        ([], {}),
        ([], None),
        ([1, 2], [2, 1]),
        ([[1], 2], [[1, 2]]),
        ({"a": 1}, {"a": 1, "b": None}),
        ({"a": {"b": 1}}, {"a": {"b": 2}}),
        ({1: "x"}, {"1": "x"}),
        ({1}, [1]),
        (b"a", "a"),
        (b"a", b"b"),
        (float("nan"), None),
        (float("inf"), float("-inf")),
        (10**400, 10**400 + 1),
        (Model(a=1), Model(a=1, b=2)),
        (Model(a=1), {"a": 1}),
        (Data(1, 2), Data(1, 3)),
        (Slots(1), Slots(2)),
        (Plain(1), Plain(2)),
        (Plain(1), Slots(1)),
        (Color.RED, Color.BLUE),
        (Color.RED, 1),
        (Word.RED, "red"),
        (ValueError("x"), ValueError("y")),
        (ValueError("x"), TypeError("x")),
        (range(3), range(4)),
        (len, max),
        ("\ud800", "\ud801"),
        ("x" * 5000, "x" * 5001),
        ((ctypes.c_int * 2)(1, 2), (ctypes.c_int * 2)(1, 3)),
        (memoryview(b"abcd"), memoryview(b"abcd").cast("B", (2, 2))),
        (array.array("d", [1.0]), array.array("d", [2.0])),
    ],
)
def test_different(one: object, other: object) -> None:
    """What differs in value or in kind is different, at every depth."""
    assert canonical(one) != canonical(other)
    assert digest({"k": [one]}) != digest({"k": [other]})


def test_minus_zero_can_be_zero() -> None:
    """The thread heuristics compare minus zero as zero, and nothing else changes."""
    assert canonical([-0.0, 0, 1.5, -1], signed_zero=False) == "[0,0,1.5,-1]"


def _cycle() -> dict[str, object]:
    cycle: dict[str, object] = {"a": 1}
    cycle["self"] = [cycle]
    return cycle


def _nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize("value", [_cycle(), _nested(129), _nested(100_000), Plain(_cycle())])
def test_what_cannot_be_walked_is_one_string(value: object) -> None:
    """A value that contains itself, or is too deep, is the same as the sentinel as a whole."""
    assert canonical(value) == canonical(UNSERIALIZABLE)
    assert canonical([value, 1]) == canonical(UNSERIALIZABLE)


def test_a_cycle_is_noticed_at_once() -> None:
    """What lies beside a cycle is looked at once, however large it is."""
    looks: list[None] = []

    class Counted:
        def __repr__(self) -> str:
            looks.append(None)
            return "counted"

    cycle: dict[str, object] = {"beside": Counted()}
    cycle["self"] = cycle
    canonical(cycle)
    assert len(looks) == 1


def test_depth_up_to_the_limit_and_shared_parts_are_walked() -> None:
    """128 containers inside each other are fine, and so is one that occurs twice."""
    assert canonical(_nested(128)) == "[" * 128 + "]" * 128
    shared = {"a": 1}
    assert canonical([shared, shared]) == '[{"a":1},{"a":1}]'


@pytest.mark.parametrize("kind", [BrokenRepr, BrokenMapping, BrokenSequence, LazyProxy])
def test_a_broken_object_hides_nothing_else(kind: type) -> None:
    """An object that fails when it is looked at is marked in its place."""
    broken = kind()
    assert canonical({"a": 1, "b": broken}) == canonical({"b": broken, "a": 1})
    assert canonical({"a": 1, "b": broken}) != canonical({"a": 2, "b": broken})
    assert canonical(broken) != canonical(UNSERIALIZABLE)


def test_a_generator_is_not_consumed() -> None:
    """Looking at an iterator must not take from it."""
    generator = (n for n in range(3))
    canonical({"a": generator})
    assert list(generator) == [0, 1, 2]


def test_a_long_range_is_not_walked() -> None:
    """A range is known by its ends."""
    assert canonical(range(10**15)) != canonical(range(10**16))


def test_digest_is_sha256_of_the_form() -> None:
    """The digest can be recomputed from the form."""
    abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert digest_text("abc") == abc
    assert digest([1]) == digest_text(canonical([1]))


@pytest.mark.parametrize("length", [0, 1, 2**20 - 1, 2**20, 2**20 + 1, 2**21 + 3])
def test_a_text_is_hashed_in_pieces_as_in_one(length: int) -> None:
    """The length of the pieces is invisible, and a slice hashes like its copy."""
    text = "é" * length
    assert digest_text(text, prefix="<") == digest_text("<" + text)
    assert digest_text(f" {text} ", start=1, stop=length + 1) == digest_text(text)


def test_a_long_string_is_not_copied() -> None:
    """A long text needs a bounded amount of memory, alone and inside other values."""
    text = "x" * 20_000_000
    tracemalloc.start()
    digest_text(text)
    canonical({"a": [text]})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < len(text) / 4

"""What makes two calls, and two results, the same."""

from __future__ import annotations

import tracemalloc
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from loopguard_core.errors import InvalidInputError
from loopguard_core.tool_loop import call_fingerprint, result_fingerprint

DIGITS = set("0123456789abcdef")


class Empty(BaseModel):
    """A model without fields."""


class Text(str):
    """A string of another class."""

    __slots__ = ()


class LazyProxy:
    """Fails as soon as its class is asked for."""

    @property
    def __class__(self) -> Any:
        """Fail, as an unbound proxy does."""
        raise RuntimeError("unbound")


def cyclic(**arguments: object) -> dict[str, object]:
    """Return arguments one of which holds them all."""
    arguments["self"] = arguments
    return arguments


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (None, {}),
        (None, MappingProxyType({})),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": {"x": [{"p": 1, "q": 2}], "y": 2}}, {"a": {"y": 2, "x": [{"q": 2, "p": 1}]}}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": 2**53}, {"a": 2**53 + 1}),
        ({"a": 1}, MappingProxyType({"a": 1})),
        ({"a": (1, 2)}, {"a": [1, 2]}),
        (cyclic(a=1), cyclic(a=1)),
    ],
)
def test_same_calls(one: object, other: object) -> None:
    """No arguments are no arguments, and neither order nor spelling makes a call new."""
    assert call_fingerprint("t", one) == call_fingerprint("t", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("t", {"a": 1}), ("u", {"a": 1})),
        (("t", None), ("u", None)),
        (("t", None), ("t", "")),
        (("t", None), ("t", [])),
        (("t", None), ("t", "null")),
        (("t", None), ("t", Empty())),
        (("t", {}), ("t", {"a": None})),
        (("t", {"a": None}), ("t", {"b": None})),
        (("t", {"a": 1}), ("t", {"a": True})),
        (("t", {"a": 1}), ("t", {"a": "1"})),
        (("t", {"a": 0}), ("t", {"a": -0.0})),
        (("t", {"a": "x"}), ("t", {"a": " x"})),
        (("t", {"a": "x"}), ("t", {"a": "X"})),
        (("t", {"a": {"b": 1}}), ("t", {"a": {"b": 2}})),
        (("t", '{"a": 1'), ("t", '{"a": 2')),
        (("t", '{"a":1}'), ("t", {"a": 1})),
        (("T", {}), ("t", {})),
        (("t ", {}), ("t", {})),
        (('t{"a":1}', None), ("t", {"a": 1})),
        (('t\0{"a":1}', None), ("t", {"a": 1})),
        (("t\0", None), ("t", None)),
        (("t", cyclic(a=1)), ("t", cyclic(a=2))),
    ],
)
def test_different_calls(one: tuple[str, object], other: tuple[str, object]) -> None:
    """A call is another one if its tool, a key, a value or a value's kind differs."""
    assert call_fingerprint(*one) != call_fingerprint(*other)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)
_ARGUMENTS = st.dictionaries(st.text("abc", min_size=1, max_size=2), _JSON, max_size=4)


@given(_ARGUMENTS, st.text("ab", min_size=1, max_size=2), _JSON, _JSON)
@settings(max_examples=100, derandomize=True, deadline=None)
def test_order_is_ignored_and_values_count(
    arguments: dict[str, Any], key: str, one: object, other: object
) -> None:
    """Arguments in another order are the same call; with one value changed they are not."""
    call = {**arguments, key: one}
    assert call_fingerprint("t", call) == call_fingerprint("t", dict(reversed(call.items())))
    # The drawn values hold no floats: their reprs differ exactly if they do, order aside.
    if not isinstance(one, (dict, list)) and repr(one) != repr(other):
        assert call_fingerprint("t", call) != call_fingerprint("t", {**call, key: other})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a", " a\n"),
        ("a", "\u3000\x85a\u2028\v"),
        ("", " \t\n"),
        ("", []),
        ("ab", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
        ("ab", [{"text": "a"}, {"text": "b"}]),
        ("ab", [{"type": "text", "text": " ab ", "id": "lc_1"}]),
        ("a", Text("a")),
        ({"a": 1, "b": [2]}, {"b": [2.0], "a": 1}),
        ([{"type": "image", "url": "u"}], [{"url": "u", "type": "image"}]),
        (b"a", b"a"),
        (cyclic(a=1), cyclic(a=1)),
        ("x" * 4096 + "1", "x" * 4096 + "2"),
        ("\u00e9" * 2048 + "1", "\u00e9" * 2048 + "2"),
        ("x" * 4095 + "\u00e9", "x" * 4095 + "\u00eb"),
        (" " * 70_000 + "x", "x" + " " * 70_000),
        (" " * 200_000, ""),
    ],
)
def test_same_results(one: object, other: object) -> None:
    """White space around a text, its division into parts, and its far end do not count."""
    assert result_fingerprint("t", one) == result_fingerprint("t", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a", "b"),
        ("a", "A"),
        ("a b", "a  b"),
        ("a", "\x1ca"),
        ("a", "a\x1f"),
        ("a", "\u200ba"),
        (1, True),
        (1, "1"),
        (None, "null"),
        (None, ""),
        ({"a": 1}, '{"a":1}'),
        (["a", "b"], ["ab"]),
        (["ab"], "ab"),
        ([1, 23], [12, 3]),
        ([{"text": "a", "score": 1}], [{"text": "a", "score": 2}]),
        ([{"type": "image", "url": "u"}], [{"type": "image", "url": "v"}]),
        ([{"type": "image", "text": 1}], [{"type": "image", "text": 2}]),
        ([{"text": "a"}, {"type": "image", "url": "u"}], "a"),
        ([{"text": "a"}, 1], [{"text": "a"}, 2]),
        (cyclic(a=1), cyclic(a=2)),
        (ValueError("a"), ValueError("b")),
        ("x" * 4095 + "1", "x" * 4095 + "2"),
        ("x" * 4095, "x" * 4095 + "\u00e9"),
    ],
)
def test_different_results(one: object, other: object) -> None:
    """Anything else that a tool says anew is a new outcome."""
    assert result_fingerprint("t", one) != result_fingerprint("t", other)


def test_an_error_is_not_a_success() -> None:
    """The error flag is part of the outcome, the tool's name is not."""
    assert result_fingerprint("t", "x") == result_fingerprint("u", "x")
    assert result_fingerprint("t", "x", is_error=True) != result_fingerprint("t", "x")
    assert result_fingerprint("t", 1, is_error=True) != result_fingerprint("t", 1)


@pytest.mark.parametrize(
    ("max_bytes", "one", "other", "same"),
    [
        (None, "x" * 5000 + "1", "x" * 5000 + "2", False),
        (None, "x" * 3_000_000 + "1", "x" * 3_000_000 + "2", False),
        (None, " " + "x" * 3_000_000, "x" * 3_000_000 + "\n" * 100_000, True),
        (None, list(range(5000)), [*range(4999), 0], False),
        (4096, list(range(5000)), [*range(4999), 0], True),
        (3, "abc1", "abc2", True),
        (3, "ab1", "ab2", False),
        (3, "  abc1", "abc2", True),
        (1, "\u00e9", "\u00eb", True),
        (1, "\u00e9", "x", False),
    ],
)
def test_how_much_of_a_result_counts(
    max_bytes: int | None, one: object, other: object, same: bool
) -> None:
    """The cut is in bytes of UTF-8 after trimming, and None compares to the end."""
    found = result_fingerprint("t", one, max_bytes=max_bytes)
    assert (found == result_fingerprint("t", other, max_bytes=max_bytes)) == same


@pytest.mark.parametrize("max_bytes", [0, -1])
def test_a_cut_to_nothing_is_refused(max_bytes: int) -> None:
    """It would make all results the same."""
    with pytest.raises(InvalidInputError, match=f"max_bytes.*{max_bytes}"):
        result_fingerprint("t", "x", max_bytes=max_bytes)


def test_other_tools_can_be_cleaned() -> None:
    """Which tools print process ids and durations is the caller's to say."""
    cleaned = frozenset({"bash"})
    same = [result_fingerprint("bash", f"pid={n} ok", cleaned_tools=cleaned) for n in range(2)]
    assert same[0] == same[1]
    other = [result_fingerprint("run_code", f"pid={n}", cleaned_tools=cleaned) for n in range(2)]
    assert other[0] != other[1]


@pytest.mark.parametrize("result", ["\ud800", "x\udcc3", {"a": "\udfff"}, ["\ud800"]])
@pytest.mark.parametrize("tool", ["t", "run_code", "\ud800"])
def test_lone_surrogates_are_text_like_any_other(result: object, tool: str) -> None:
    """Text that no encoding takes is hashed all the same, cut, cleaned or whole."""
    for max_bytes in (None, 2, 4096):
        assert set(result_fingerprint(tool, result, max_bytes=max_bytes)) <= DIGITS
    assert set(call_fingerprint(tool, {"a": result})) <= DIGITS


def test_an_object_that_fails_when_asked_for_its_class_is_taken() -> None:
    """It raises nothing, hides nothing beside it, and is like no text."""
    one, other = ({"a": n, "b": LazyProxy()} for n in range(2))
    assert call_fingerprint("t", one) != call_fingerprint("t", other)
    assert call_fingerprint("t", LazyProxy()) != call_fingerprint("t", None)
    assert result_fingerprint("t", LazyProxy()) == result_fingerprint("t", LazyProxy())
    assert result_fingerprint("t", [LazyProxy()]) != result_fingerprint("t", "")


@pytest.mark.parametrize("wrap", [str, lambda text: [{"type": "text", "text": text}]])
@pytest.mark.parametrize("max_bytes", [None, 4096])
def test_a_long_result_is_not_copied(wrap: Any, max_bytes: int | None) -> None:
    """Trimming, cutting and hashing a long text need a bounded amount of memory."""
    result = wrap("\n" + "x" * 20_000_000 + "\n")
    tracemalloc.start()
    result_fingerprint("t", result, max_bytes=max_bytes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000 / 4

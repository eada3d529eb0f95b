"""What holds of the canonical form for any JSON value."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.fingerprint import canonical, digest

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from([-0.0, 1.0, "1", "true", "null", "", "{}"])
    | st.text(max_size=3)
)
_JSON = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)


def reordered(value: object) -> object:
    """Return an equal JSON value whose mappings were filled the other way round."""
    if isinstance(value, dict):
        return {key: reordered(item) for key, item in reversed(value.items())}
    return [reordered(item) for item in value] if isinstance(value, list) else value


def spelled(value: object) -> str:
    """Spell a JSON value by the specification, with the standard library's own writer."""

    def doubles(value: object) -> object:
        if isinstance(value, dict):
            return {key: doubles(item) for key, item in value.items()}
        if isinstance(value, list):
            return [doubles(item) for item in value]
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return {"double": float(value).hex()} if is_number else {"other": value}

    return json.dumps(doubles(value), sort_keys=True)


@given(_JSON)
@settings(max_examples=150, derandomize=True, deadline=None)
def test_key_order_is_of_no_account(value: object) -> None:
    """Filling mappings in another order changes nothing, at any depth."""
    assert digest(value) == digest(reordered(value))


@given(_JSON, _JSON)
@settings(max_examples=150, derandomize=True, deadline=None)
def test_forms_are_equal_if_values_are(one: object, other: object) -> None:
    """Two JSON values have one form exactly if they are the same value, numbers as doubles."""
    assert (canonical(one) == canonical(other)) == (spelled(one) == spelled(other))


@given(_JSON, st.data())
@settings(max_examples=150, derandomize=True, deadline=None)
def test_one_changed_scalar_changes_the_form(value: object, data: st.DataObject) -> None:
    """Replacing one value anywhere inside, by any other value, is seen."""
    changed = {"root": [reordered(value)]}
    place: Any = changed["root"]
    index: Any = 0
    while isinstance(place[index], (dict, list)) and place[index]:
        place = place[index]
        keys = list(place) if isinstance(place, dict) else range(len(place))
        index = data.draw(st.sampled_from(keys))
    place[index] = data.draw(_JSON)
    same = spelled({"root": [value]}) == spelled(changed)
    assert (digest({"root": [value]}) == digest(changed)) == same

"""A JSON schema that is ready to check values. Needs the extra `agent`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Final, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from jsonschema.validators import validator_for
from referencing.exceptions import Unresolvable
from referencing.jsonschema import EMPTY_REGISTRY

from loopguard_core.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jsonschema import ValidationError
    from pydantic import JsonValue

__all__ = ["CompiledSchema"]

_MAX_REASONS: Final = 5
_MAX_PLACE_CHARS: Final = 80
_MAX_SAID_CHARS: Final = 160
# Their own messages repeat the value and not what it should be.
_ALTERNATIVES: Final = frozenset({"anyOf", "oneOf"})
# What a schema asks for and nobody can evaluate: a reference to elsewhere, an expression in
# another dialect, a multiple of an infinite number.
_BEYOND: Final = (Unresolvable, re.error, ArithmeticError)


class CompiledSchema:
    """Checks values against one schema.

    Args:
        schema: The schema; None takes any object.
        field: How an error names it.

    Raises:
        InvalidInputError: It is no valid schema.
    """

    def __init__(self, schema: object, *, field: str) -> None:
        schema = {} if schema is None else schema
        if not isinstance(schema, Mapping):
            raise InvalidInputError(field, schema, "a JSON schema")
        schema = dict(schema)
        kind = validator_for(schema, default=Draft202012Validator)
        # The default registry fetches what a schema refers to; the empty one knows the drafts alone.
        # `check_schema` also wants every pattern to be one of Python's.
        fault = best_match(kind(kind.META_SCHEMA, registry=EMPTY_REGISTRY).iter_errors(schema))
        if fault is not None:
            raise InvalidInputError(field, schema, f"a JSON schema ({_placed(fault)})")
        self._validator = kind(schema, registry=EMPTY_REGISTRY)

    def reasons(self, value: object) -> list[str]:
        """Return what is wrong with *value*, which JSON made, sorted; empty if it is valid."""
        try:
            return sorted(islice(self._reasons(value), _MAX_REASONS))
        except RecursionError:  # a schema that refers to itself, and a value as deep as it likes
            return ["the arguments are nested too deeply to be checked"]

    def _reasons(self, value: object) -> Iterator[str]:
        errors = self._validator.iter_errors(cast("JsonValue", value))
        try:
            for error in errors:
                yield _placed(error)
        except _BEYOND:
            return


def _placed(error: ValidationError) -> str:
    """Say what is wrong, and where: `items[0].name: 5 is not of type 'string'`."""
    place = error.json_path.removeprefix("$").removeprefix(".")
    return f"{place[:_MAX_PLACE_CHARS]}: {_said(error)}" if place else _said(error)


def _said(error: ValidationError) -> str:
    """Return the error's own message, or, where that would be mostly the value, its rule."""
    if len(error.message) <= _MAX_SAID_CHARS and error.validator not in _ALTERNATIVES:
        return error.message
    rule = json.dumps(error.validator_value, default=str)
    return f"does not satisfy {error.validator}: {rule[:_MAX_SAID_CHARS]}"

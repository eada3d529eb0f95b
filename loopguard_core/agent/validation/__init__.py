"""Arguments against the schemas of tools, before a tool runs."""

from __future__ import annotations

from .dispatcher import invalid_arguments, validating_dispatcher
from .protocol import Validator
from .schema import SchemaValidator
from .strict import StrictSchemaValidator

__all__ = [
    "SchemaValidator",
    "StrictSchemaValidator",
    "Validator",
    "invalid_arguments",
    "validating_dispatcher",
]

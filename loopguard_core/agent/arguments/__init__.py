"""The gate that the arguments of every call pass: fit, mended or refused.

Source: agent specification, section 7.
"""

from __future__ import annotations

from .gate import GatedArguments, gate_arguments
from .refusals import refusal_cut, refusal_not_object, refusal_syntax
from .repair import Repair, RepairedJson, RepairOutcome, repair_json
from .scan import Scan, ScanState, first_value
from .stand_in import refusal_in, stand_in

__all__ = [
    "GatedArguments",
    "Repair",
    "RepairOutcome",
    "RepairedJson",
    "Scan",
    "ScanState",
    "first_value",
    "gate_arguments",
    "refusal_cut",
    "refusal_in",
    "refusal_not_object",
    "refusal_syntax",
    "repair_json",
    "stand_in",
]

"""Reads the conformance cases of one file; every test module that uses it asserts their number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["cases", "ids"]

_FOLDER = Path(__file__).parents[2] / "data" / "agent"


def cases(name: str, *ops: str) -> list[dict[str, Any]]:
    """Return the cases of `tests/data/agent/<name>.jsonl`, or those of the given operations."""
    lines = (_FOLDER / f"{name}.jsonl").read_text("utf-8").split("\n")
    every = [json.loads(line) for line in lines if line]
    return [case for case in every if not ops or case["op"] in ops]


def ids(some: list[dict[str, Any]]) -> list[str]:
    """Return the ids of *some* cases, for `pytest.mark.parametrize`."""
    return [case["id"] for case in some]

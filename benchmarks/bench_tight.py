"""What tight encoding costs, against reading and writing the same JSON with the standard library.

Tables are what the form is made for; the other shapes are here to show that none falls out.
"""

from __future__ import annotations

import json
import statistics

from timing import RUNS, median_seconds, report

from loopguard_core.agent.tight import encode_tight_c

MB = 1_000_000

TABLE = [
    {
        "id": n,
        "name": f"user {n}",
        "email": f"u{n}@example.org",
        "score": n * 1.25,
        "active": n % 2 == 0,
        "team": ("red", "blue", None)[n % 3],
    }
    for n in range(9_000)
]
NUMBERS = [{"a": n % 10, "b": n % 7} for n in range(55_000)]
LISTS = [{"a": n, "tags": ["x", "y z", 3]} for n in range(25_000)]
NESTED = [{"a": n, "t": {"x": "y z", "u": [1, 2, {"z": 1}]}} for n in range(18_000)]


def report_against_json(what: str, value: object, limit: float) -> None:
    """Report the time to encode *value* as a multiple of `json.loads` and `json.dumps` of it."""
    text = json.dumps(value)
    # One after the other, so that what else the machine does hits both alike.
    ratio = statistics.median(
        median_seconds(lambda: encode_tight_c(text), runs=1)
        / median_seconds(lambda: json.dumps(json.loads(text)), runs=1)
        for _ in range(RUNS)
    )
    size = f"{len(text) / MB:.1f} MB to {len(encode_tight_c(text)) / MB:.1f} MB"
    report(f"tight encoding of {what}, {size}", ratio, "x json", limit)


def main() -> None:
    """Measure and report."""
    report_against_json("a JSON table", TABLE, 3)
    report_against_json("a table of numbers", NUMBERS, 4)
    report_against_json("a table with lists", LISTS, 4)
    report_against_json("nested objects", NESTED, 4)


if __name__ == "__main__":
    main()

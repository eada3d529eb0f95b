"""How often the guard is right, on labelled runs and replies; prints tables in Markdown.

    python benchmarks/accuracy.py LABELLED.jsonl... [--strict] [--list]

A row is one that `loopguard scan` reads, with `label` (`loop` or `no_loop`), `label_basis` and
`source`. The basis says how far a label can be trusted: `read` (by a person), `computed` (the end
of a reply is one block again and again), `rule` (the last calls are identical: what a detector of
exact repeats finds by definition, so it stands apart), `proxy` (it succeeded, so it is taken for
healthy).
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from loopguard_core.guard import LoopGuard, Policy
from loopguard_core.report import ScanRow, scan
from loopguard_core.transcripts import read_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


ACTIONS = ("nudge", "block", "halt")
HEADINGS = ("source", "label basis", "rows", "found", "share", *ACTIONS, "tokens after")


@dataclass(frozen=True, slots=True)
class Labelled:
    """One labelled row, and what the scan says about it."""

    label: str
    basis: str
    source: str
    kind: str
    found: ScanRow


def main() -> None:
    """Scan the labelled files and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="LABELLED.jsonl")
    parser.add_argument("--strict", action="store_true", help="measure Policy.strict()")
    parser.add_argument("--list", action="store_true", help="name each false alarm and each miss")
    options = parser.parse_args()
    guard = LoopGuard(policy=Policy.strict()) if options.strict else LoopGuard()
    rows = [row for path in options.files for row in scan_labelled(path, guard)]
    loops = [row for row in rows if row.label == "loop"]
    healthy = [row for row in rows if row.label == "no_loop"]
    print_by_source("Loops", loops)
    print_by_source("Healthy", healthy)
    print_by_detector(loops, healthy)
    if options.list:
        print_list("False alarms", [row for row in healthy if row.found.looping])
        print_list("Missed loops", [row for row in loops if not row.found.looping])


def scan_labelled(path: Path, guard: LoopGuard) -> Iterator[Labelled]:
    """Scan each row of a labelled file."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            row = json.loads(line)
            saved = read_row(row, source=path.name, line=number)
            for found in scan([saved], guard, channel="content"):
                if not isinstance(found, ScanRow):
                    raise SystemExit(found.describe())
                yield Labelled(
                    row["label"], row["label_basis"], row["source"], row.get("kind", ""), found
                )


def print_by_source(title: str, rows: Sequence[Labelled]) -> None:
    """Print how many rows of each source and basis were found, by the strongest action.

    `tokens after` is what followed the first block or halt, in all of them together.
    """
    print_head(title, HEADINGS)
    groups = sorted({(row.source, row.basis) for row in rows})
    for source, basis in groups:
        print_counts(source, basis, [r for r in rows if (r.source, r.basis) == (source, basis)])
    for basis in sorted({row.basis for row in rows}):
        print_counts("**all**", basis, [row for row in rows if row.basis == basis])


def print_counts(source: str, basis: str, rows: Sequence[Labelled]) -> None:
    """Print one line of `print_by_source`."""
    found = [row.found for row in rows if row.found.looping]
    actions = Counter[str](row.action for row in found)
    by_action = [actions[action] for action in ACTIONS]
    share = f"{len(found) / len(rows):.1%}"
    tokens = sum(row.tokens_after for row in found)
    print_line([source, basis, len(rows), len(found), share, *by_action, tokens])


def print_by_detector(loops: Iterable[Labelled], healthy: Iterable[Labelled]) -> None:
    """Print in how many rows each detector made a finding, and in how many the first one."""
    print_head("Detectors", ["detector", "loops", "first in loops", "healthy", "first in healthy"])
    counts = [count(rows, first=first) for rows in (loops, healthy) for first in (False, True)]
    for detector in sorted(set().union(*counts)):
        print_line([f"`{detector}`", *(each[detector] for each in counts)])


def count(rows: Iterable[Labelled], *, first: bool) -> Counter[str]:
    """Count the rows in which each detector made a finding, or made the first one."""
    if first:
        return Counter(row.found.detector for row in rows if row.found.detector is not None)
    return Counter(name for row in rows for name in {f.detector for f in row.found.findings})


def print_list(title: str, rows: Iterable[Labelled]) -> None:
    """Print one line for each row."""
    print_head(title, ["run", "label basis", "kind", "action", "detector", "at", "messages"])
    for row in rows:
        found = row.found
        at = found.at_message if found.at_char is None else f"character {found.at_char}"
        print_line(
            [found.run, row.basis, row.kind, found.action, found.detector, at, found.messages]
        )


def print_head(title: str, headings: Sequence[str]) -> None:
    """Open a table."""
    print(f"\n### {title}\n")
    print_line(headings)
    print_line(["---"] * len(headings))


def print_line(cells: Iterable[object]) -> None:
    """Print one line of a table; None is an empty cell."""
    print("|", " | ".join("" if cell is None else str(cell) for cell in cells), "|")


if __name__ == "__main__":
    main()

"""The report for a terminal: the runs that loop, in a table for each file, and a line to sum up."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from .row import ScanRow

__all__ = ["TerminalReport", "printable"]


def printable(text: str) -> str:
    """Replace what a terminal would obey or could not show; the text comes from a file."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


class TerminalReport:
    """Takes rows as they come, and keeps of them those that it shows."""

    def __init__(self) -> None:
        self._looping: list[ScanRow] = []
        self._runs = 0

    def add(self, row: ScanRow) -> None:
        """Take the next row."""
        self._runs += 1
        if row.looping:
            self._looping.append(row)

    def show(self, console: Console) -> None:
        """Write the tables, if any run loops, and the summary."""
        for source, rows in groupby(self._looping, key=lambda row: row.source):
            console.print(_table(source, rows))
        console.print(self.summary(), soft_wrap=True, markup=False, highlight=False)

    def summary(self) -> str:
        """Say in one line how many runs there were and what the guard would have done."""
        runs = f"{self._runs} run{'' if self._runs == 1 else 's'}"
        if not self._looping:
            return f"{runs}, none loops"
        actions = Counter(row.action for row in self._looping)
        counted = ", ".join(f"{count} {action}" for action, count in sorted(actions.items()))
        tokens = sum(row.tokens_after for row in self._looping)
        return (
            f"{runs}, {len(self._looping)} looping (strongest action: {counted}); "
            f"about {tokens:,} tokens came after the first block or halt"
        )


def _table(source: str, rows: Iterable[ScanRow]) -> Table:
    table = Table(title=Text(printable(source)), title_justify="left")
    for heading in ("run", "action", "detector", "at"):
        table.add_column(heading, overflow="fold")
    table.add_column("tokens after", justify="right")
    for row in rows:
        cells = (row.run, row.action, row.detector or "", _place(row), f"{row.tokens_after:,}")
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table


def _place(row: ScanRow) -> str:
    if row.at_char is not None:
        return f"character {row.at_char:,}"
    return f"message {row.at_message} of {row.messages}"

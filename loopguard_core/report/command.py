"""The commands of `loopguard`; needs the `cli` extra."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer
from rich.console import Console
from rich.progress import Progress

from loopguard_core.guard import LoopGuard, Policy
from loopguard_core.transcripts import Unreadable, read_path

from .scan import scan
from .terminal import TerminalReport, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from loopguard_core.transcripts import Saved

__all__ = ["app"]

_LOOPS_FOUND, _UNREADABLE = 1, 2

# Plain tracebacks: typer's own would print the contents of a transcript.
app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def loopguard() -> None:
    """Keep LLM agents out of loops."""


@app.command("scan")
def scan_command(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Files of saved runs.")],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object a line.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Turn every detector on.")] = False,
    channel: Annotated[
        str, typer.Option(help="What rows with text are: content or reasoning.")
    ] = "content",
) -> None:
    """Say which saved runs looped, where, and what the guard would have done.

    Reads OpenAI chat messages: JSON Lines with `id` and `messages`, or a JSON array; and rows
    with `text`, one streamed reply each.

    Exit code: 0 no loop, 1 loops found, 2 something could not be read (the rest is reported).
    """
    guard = LoopGuard(policy=Policy.strict()) if strict else LoopGuard()
    report = TerminalReport()
    unreadable = looping = False
    errors = Console(stderr=True)
    with Progress(console=errors, transient=True, disable=not errors.is_terminal) as progress:
        for item in scan(_read(paths, progress), guard, channel=channel):
            if isinstance(item, Unreadable):
                unreadable = True
                errors.out(printable(item.describe()), highlight=False)
                continue
            looping = looping or item.looping
            if as_json:
                typer.echo(item.to_json())
            else:
                report.add(item)
    if not as_json:
        report.show(Console())
    raise typer.Exit(_UNREADABLE if unreadable else _LOOPS_FOUND if looping else 0)


def _read(paths: Sequence[str], progress: Progress) -> Iterator[Saved]:
    def open_file(path: str) -> BinaryIO:
        return progress.open(path, "rb", description=printable(Path(path).name))

    for path in paths:
        yield from read_path(path, open_file=open_file)

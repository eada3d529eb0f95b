"""The `loopguard` command: `loopguard scan PATH...`."""

from __future__ import annotations

import sys

__all__ = ["main"]

_CANNOT_RUN = 2


def main() -> None:
    """Run the command; without the `cli` extra, say how to install it and exit with 2."""
    try:
        from .report.command import app  # noqa: PLC0415 - the rest of the core needs no typer
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in {"typer", "rich"}:
            raise
        sys.stderr.write(
            f'loopguard: the command needs {error.name}: pip install "loopguard-core[cli]"\n'
        )
        sys.exit(_CANNOT_RUN)
    app()

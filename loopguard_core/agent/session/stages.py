"""What a store, a builder or a model raises becomes the error of the turn."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from loopguard_core.agent.errors import TurnError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loopguard_core.agent.errors import Stage

__all__ = ["stage"]


@contextmanager
def stage(name: Stage) -> Iterator[None]:
    """Name the stage in whatever the block raises; a cancelled task is no failure.

    Raises:
        TurnError: What was raised, with the stage.
    """
    try:
        yield
    except Exception as error:  # the host's store and runner raise what they like
        raise TurnError(name, error) from error
